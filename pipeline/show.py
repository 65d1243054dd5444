"""A readable transcript of one agent's week, year end (`Y1`) or founding (`Y0`), read unit by unit from the journal.

Works on a run that lives, was killed, or is finished; it reads only.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

from pipeline.report.fact_lines import numbers_line, skills_line
from pipeline.report.screen_text import block
from pipeline.report.transcript import Call, joined, unit_lines
from pipeline.run_folder import RunFolder
from sim.core.clock import week_text
from sim.core.keys import UnitKey, normal_form
from sim.journal.protocol import JournalError
from sim.journal.reading import JournalReader

MOST_LISTED = 12
_WEEK = re.compile(r"\s*Y(\d+)(?:-W(\d+))?\s*", re.IGNORECASE)
_TITLES = {
    "birth": "Birth",
    "judging": "Judging, in private",
    "settle": "Settlement",
    "plan": "Plan",
    "signup": "Public events",
    "contact": "Contact, round {index}",
    "agenda": "Calendar",
    "review": "Review",
    "cleanup": "Clean-up",
    "profile_update": "What the year did to the profile",
    "wishes": "Application",
    "take_up": "Position",
}
_DAY_TITLES = {
    "joint": "joint activity",
    "encounter": "encounter",
    "public_act": "public event",
    "public_meet": "public event, meeting others",
    "solo": "on one's own",
}
_BEFORE_DAYS, _AFTER_DAYS = ("settle", "plan", "signup"), ("review", "cleanup")
_REWARDS = ("reward", "social", "subjective", "economic", "z_social", "z_subjective", "z_economic", "n_penalties")
_FOUNDING, _YEAR_END = ("birth", "judging"), ("profile_update", "wishes", "take_up", "judging")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Time:
    """A week, or with week 0 a year's end (of year 0 the founding)."""

    year: int
    week: int

    def __str__(self) -> str:
        return week_text(self.year, self.week) if self.week else f"Y{self.year}"

    @property
    def place(self) -> float:
        """For the distance between two times; a year's end lies behind its weeks."""
        return self.year * 1000 + (self.week or (999 if self.year else 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Life:
    """One world's life in one round, and what there is of it to show."""

    round: int
    world: str
    journal: JournalReader
    units: frozenset[UnitKey]

    def names(self) -> list[str]:
        """All agents that began to live."""
        return sorted({unit.who for unit in self.units if unit.who and unit.stage in ("birth", "settle")})

    def times(self, name: str) -> list[_Time]:
        """What can be shown of an agent, in order."""
        found = {
            _Time(year=unit.year, week=unit.week if unit.stage == "settle" else 0)
            for unit in self.units
            if unit.who == name and unit.stage in ("birth", "settle", "profile_update")
        }
        return sorted(found, key=lambda time: time.place)


def show(
    folder: RunFolder,
    agent: str,
    week_text: str,
    round: int | None = None,  # noqa: A002
    world: str | None = None,
) -> str:
    """The transcript. The last round that has the week is taken unless one is named; ValueError lists what there is."""
    try:
        with ExitStack() as stack:
            return _shown(_lives(folder, stack, round, world), agent, week_text)
    except JournalError as error:
        raise ValueError(str(error)) from error


def _shown(lives: Sequence[_Life], agent: str, week_text: str) -> str:
    name = _agent_of(agent, lives)
    with_agent = [life for life in lives if name in life.names()]
    worlds = sorted({life.world for life in with_agent})
    if len(worlds) > 1:
        raise ValueError(f"{name} lives in several worlds; name one with --world: {', '.join(worlds)}")
    life, time = _find(week_text, name, with_agent)
    return joined([_head(life, name, time), *_sections(life, name, time)]) + "\n"


def _lives(folder: RunFolder, stack: ExitStack, round_number: int | None, world: str | None) -> list[_Life]:
    """The lives that may be meant, the latest round first."""
    places = [(number, label) for number in folder.rounds_present() for label in folder.worlds_of(number)]
    if not places:
        raise ValueError(f"{folder.root} has no journal: it is no run folder, or nothing was lived there yet")
    for what, given, there in (
        ("round", round_number, sorted({number for number, _ in places})),
        ("world", world, sorted({label for _, label in places})),
    ):
        if given is not None and given not in there:
            raise ValueError(f"{what} {given} was not lived in {folder.root}; there is {', '.join(map(str, there))}")
    lives: list[_Life] = []
    for number, label in reversed(places):
        if round_number in (None, number) and world in (None, label):
            journal = stack.enter_context(closing(JournalReader(folder.journal(number, label))))
            lives.append(_Life(round=number, world=label, journal=journal, units=frozenset(journal.done_units())))
    return lives


def _agent_of(text: str, lives: Sequence[_Life]) -> str:
    """The agent that a text names, up to case and width; ValueError lists the agents, the nearest first."""
    names = sorted({name for life in lives for name in life.names()})
    by_form = {normal_form(name): name for name in names}
    if normal_form(text) in by_form:
        return by_form[normal_form(text)]
    if not names:
        raise ValueError("no agent has begun to live yet; try again in a while")
    wanted = normal_form(text)
    nearest = sorted(by_form, key=lambda form: (-difflib.SequenceMatcher(None, wanted, form).ratio(), form))
    raise ValueError(f"there is no agent {text!r}; there are {_listed([by_form[form] for form in nearest])}")


def _find(text: str, name: str, lives: Sequence[_Life]) -> tuple[_Life, _Time]:
    """The life and time that are meant; ValueError lists the times, the nearest first."""
    match = _WEEK.fullmatch(text)
    wanted = _Time(year=int(match[1]), week=int(match[2] or 0)) if match else None
    for life in lives:
        if wanted in life.times(name):
            assert wanted is not None
            return life, wanted
    there = sorted({time for life in lives for time in life.times(name)}, key=lambda time: (time.place, str(time)))
    if wanted is not None:
        place = wanted.place
        there.sort(key=lambda time: abs(time.place - place))
    form = "" if wanted else " (weeks are written Y1-W2, a year's end Y1, the start Y0)"
    raise ValueError(f"{name} has not lived {text!r}{form}; there is {_listed([str(time) for time in there])}")


def _listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - MOST_LISTED} more" if len(texts) > MOST_LISTED else ""
    return ", ".join(texts[:MOST_LISTED]) + more


def _head(life: _Life, name: str, time: _Time) -> list[str]:
    """Who, when, where, and the agent's numbers as the time begins."""
    lines = [f"{name}, {time} (round {life.round}, world {life.world})"]
    before = _state_before(life, name, time)
    return lines + block("  ", before) if before else lines


def _state_before(life: _Life, name: str, time: _Time) -> list[str]:
    """The closing numbers of the last week before; in the first week what the agent was born with."""
    cleanups = sorted(
        unit
        for unit in life.units
        if unit.who == name and unit.stage == "cleanup" and (unit.year, unit.week) < (time.year, time.week or 10**6)
    )
    lines: list[str] = []
    if cleanups:
        last = cleanups[-1]
        outputs = _outputs(life, last)
        lines.append(f"after {week_text(last.year, last.week)}: {numbers_line(outputs['snapshot'])}")
        lines.append(f"skills: {skills_line(outputs['skills'])}")
    card = _card(life, name, time.year - 1) or _card(life, name, 0)
    if card:
        lines.append(f"{card['gender']}, {card['age']}; position: {card['position'] or 'none'}; {card['appearance']}")
    if not cleanups and (birth := _outputs(life, UnitKey(year=0, week=0, stage="birth", who=name))):
        lines.append(f"skills: {skills_line(birth['skills'])}")
    return lines


def _card(life: _Life, name: str, year: int) -> dict[str, Any]:
    """The agent's public side in the directory at a year's end."""
    unit = next((unit for unit in sorted(life.units) if unit.stage == "directory" and unit.year == year), None)
    return _outputs(life, unit).get("cards", {}).get(name, {}) if unit else {}


def _outputs(life: _Life, unit: UnitKey) -> Any:
    facts = life.journal.facts_of(unit)
    return facts.outputs if facts else {}


def _sections(life: _Life, name: str, time: _Time) -> Iterator[list[str]]:
    """One section for each unit in which the agent took part."""
    for unit, title in _units(life, name, time):
        yield unit_lines(name, title, _calls(life, name, unit), life.journal.facts_of(unit))
    if not time.week and time.year:
        yield _reward_lines(life, name, time.year)


def _units(life: _Life, name: str, time: _Time) -> Iterator[tuple[UnitKey, str]]:
    """The agent's units of a time in the order of living, with their titles."""
    if not time.week:
        week = max((unit.week for unit in life.units if unit.year == time.year), default=0)
        for stage in _YEAR_END if time.year else _FOUNDING:
            yield UnitKey(year=time.year, week=week, stage=stage, who=name), _TITLES[stage]
        return

    def own(stage: str, index: int = 0) -> tuple[UnitKey, str]:
        unit = UnitKey(year=time.year, week=time.week, stage=stage, index=index, who=name)
        return unit, _TITLES[stage].format(index=index)

    for stage in _BEFORE_DAYS:
        yield own(stage)
    for index in range(1, 1 + _last_round(life, time)):
        yield own("contact", index)
    yield own("agenda")
    yield from _day_units(life, name, time)
    for stage in _AFTER_DAYS:
        yield own(stage)


def _last_round(life: _Life, time: _Time) -> int:
    """The last contact round of the week that anybody has finished, and the one after it, which may be at work."""
    of_week = [u.index for u in life.units if u.stage == "contact" and (u.year, u.week) == (time.year, time.week)]
    return max(of_week, default=0) + 1


def _day_units(life: _Life, name: str, time: _Time) -> Iterator[tuple[UnitKey, str]]:
    """What the resolved week gave the agent to do, day by day; nothing before the week is resolved."""
    resolve = _outputs(life, UnitKey(year=time.year, week=time.week, stage="resolve"))
    mine = resolve.get("for", {}).get(name, {}) if resolve else {}
    for day, (text, activity) in enumerate(zip(mine.get("days", ()), mine.get("activities", ()), strict=True), start=1):
        stage, who = text.split("/", 2)[1].partition(".")[0], text.split("/", 2)[2]
        stages = ("public_act", "public_meet") if stage == "public_act" else (stage,)
        for part in stages:
            unit = UnitKey(year=time.year, week=time.week, stage=part, index=day, who=who)
            yield unit, f"Day {day}: {_DAY_TITLES[part]}{_about(name, activity)}"


def _about(name: str, activity: dict[str, Any] | None) -> str:
    """What, where and with whom."""
    if not activity:
        return ""
    what = "" if activity["kind"] == "encounter" else f" {activity['name']!r}"
    others = [person for person in activity["participants"] if person != name]
    people = f" with {', '.join(others)}" if others and activity["kind"] != "public" else ""
    return f"{what} at {activity['location']}{people}"


def _calls(life: _Life, name: str, unit: UnitKey) -> Iterable[Call]:
    """The agent's own calls of a unit."""
    for row in life.journal.calls_of(unit):
        if row.agent == name:
            yield Call(key=row.key, messages=life.journal.messages_of(row), reply=row.reply)


def _reward_lines(life: _Life, name: str, year: int) -> list[str]:
    """The agent's life reward of the year, once it is reckoned."""
    unit = next((unit for unit in life.units if unit.stage == "life_reward" and unit.year == year), None)
    reward = _outputs(life, unit).get("rewards", {}).get(name) if unit else None
    if not reward:
        return []
    parts = [f"{key} {reward[key]:.4g}" for key in _REWARDS]
    return ["", "== Life reward", *block("  * ", [", ".join(parts)])]
