"""What happened in a life, counted from its journal: stages, actions, refusals, days, money, outcomes of a year's end.

Refusals are told apart by the sentences of their templates, so that they are counted in every language.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sim.context.render import Renderer
from sim.core.facts import (
    AnyFact,
    CameToKnow,
    Changed,
    Folded,
    Got,
    Lost,
    ProfileChanged,
    ReadFile,
    Refused,
    UnitFacts,
    WroteFile,
)
from sim.core.vacancies import STAY_CURRENT
from sim.core.visibility import parse_segments
from sim.environment.solo import KINDS
from sim.journal.reading import JournalReader
from sim.lifetime import STAGES

ANYTHING = "⟦anything⟧"
CALENDAR = ("cancelled", "clash", "no_yes", "required_missing", "proposer_busy")
"""Why something does not take place. `too_few` comes about by nothing that agents can do."""
CONTACT = (
    "unreadable", "no_kind", "unknown_kind", "missing_field", "bad_decision", "too_many_actions", "oneself",
    "unknown_person", "nobody_invited", "long_activity_name", "duplicate_name", "time_form", "time_window",
    "others_home", "unknown_place", "no_open_invitation", "no_such_invitation", "no_own_plan", "no_such_plan",
    "untagged", "only_thought", "hidden",
)  # fmt: skip
"""Refusals of contact actions. `knows_nobody` is never met in a round: who knows nobody is asked nothing."""
ACTIVITY = (
    "unreadable", "unknown_kind", "missing_field", "untagged", "only_thought", "too_many_actions", "oneself",
    "has_left", "owns_nothing", "not_owned", "not_present",
)  # fmt: skip
"""Refusals of actions in an activity."""
ROWS = (
    *(f"stage {name}" for name in STAGES),
    "message", "proposal", "yes", "no", "cancellation", "gift", "exit", "private", "visible_to",
    "function call", "file read", "file written",
    *(f"contact refused: {code}" for code in CONTACT),
    *(f"activity refused: {code}" for code in ACTIVITY),
    *(f"calendar: {cause}" for cause in CALENDAR),
    "standard too_dear", "standard destitute",
    *(f"solo {kind}" for kind in KINDS), "work income", "bought and owned", "bought and used up", "nothing bought",
    "skill advance", "discarded", "folded into a year",
    "acquaintances meet", "strangers meet", "event once", "event of several weeks", "event for some", "sign-up",
    "connected on both sides", "connected on one side", "principle violated",
    "granted", "applied in vain", "stays", "over age", "unmatched", "promoted", "lost its position", "new position",
    "contested position", "new colleague", "profile changed", "text rewritten", "score",
)  # fmt: skip
"""All that a year of a world is expected to show."""


Patterns = Mapping[str, re.Pattern[str]]
"""What is said for each code."""


def sentences(language: str, template: str, key: str, codes: Iterable[str], **values: Any) -> Patterns:
    """What a template says for each code, with anything in its gaps."""
    render, found = Renderer(language), {}
    for code in codes:
        lines = render.render(template, {**values, key: code}).strip().split("\n")
        text = flat(" ".join(lines[lines[0].startswith("Action:") :]))
        found[code] = re.compile(re.escape(text).replace(re.escape(ANYTHING), ".{0,400}?"))
    return found


def flat(text: str) -> str:
    """A text in one line."""
    return " ".join(text.split())


class Sayings:
    """Which code a sentence that an agent was told belongs to."""

    def __init__(self, language: str) -> None:
        codes = dict.fromkeys((*CONTACT, *ACTIVITY))
        gaps = dict.fromkeys(("original", "given", "to", "kind", "field", "limit"), ANYTHING)
        money = dict.fromkeys(("chosen", "cost", "deposit", "standard", "paid", "currency"), ANYTHING)
        event = dict.fromkeys(("activity", "slot", "proposer", "instead"), ANYTHING)
        self._objections = sentences(language, "parts/objection.j2", "code", codes, nearest=[ANYTHING], **gaps)
        self._standards = sentences(language, "parts/standard.j2", "verdict", ("too_dear", "destitute"), **money)
        self._notices = [
            sentences(language, "parts/notice.j2", "cause", CALENDAR, mine=mine, missing=[ANYTHING] * many, **event)
            for mine in (True, False)
            for many in (1, 2)
        ]

    def objection(self, text: str) -> str:
        """The code of a refused action."""
        return self._first(text, self._objections)

    def standard(self, text: str) -> str:
        """What was wrong with a living standard."""
        return self._first(text, self._standards)

    def notice(self, text: str) -> str:
        """Why something does not take place."""
        return self._first(text, *self._notices)

    def _first(self, text: str, *patterns: Patterns) -> str:
        found = (code for some in patterns for code, pattern in some.items() if pattern.search(flat(text)))
        return next(found, f"? {flat(text)}")


_PLAIN: Mapping[type, str] = {ReadFile: "file read", WroteFile: "file written", ProfileChanged: "profile changed"}


class Tally(Counter[str]):
    """Counts of one life; a method named after a stage counts what that stage's outputs tell."""

    def __init__(self, folder: Path, language: str) -> None:
        """Count the whole journal of a folder."""
        super().__init__()
        self._say = Sayings(language)
        self._chosen: set[tuple[int, int, str, str]] = set()
        self._reader = JournalReader(folder / "journal.db")
        for facts in self._reader.units():
            self._unit(facts)
        self._calls()
        self._reader.close()
        del self[""]

    def _unit(self, facts: UnitFacts) -> None:
        self[f"stage {facts.unit.stage}"] += 1
        for verdict in facts.verdicts:
            self["function call"] += verdict.tool_calls
            self["principle violated"] += verdict.drop.startswith("principle:")
        for thing in things_of(facts):
            self._fact(facts.unit.stage, thing)
        count = getattr(self, f"_{facts.unit.stage}", None)
        if count is not None:
            count(facts, facts.outputs)

    def _fact(self, stage: str, thing: AnyFact) -> None:
        self[_PLAIN.get(type(thing), "")] += 1
        match thing:
            case Lost(reason=reason):
                self["gift" if reason.startswith("gift") else reason] += 1
            case Got(source="bought"):
                self["bought and owned"] += 1
            case Folded():
                self["folded into a year"] += thing.summary.kind == "year_summary"
            case Changed(reason=reason) if stage == "solo" and reason in KINDS:
                self[f"solo {reason}"] += 1
                self["work income"] += thing.money > 0
            case CameToKnow() if stage == "take_up":
                self["new colleague"] += 1
            case Refused(text=text) if stage == "contact":
                self[f"contact refused: {self._say.objection(text)}"] += 1
            case Refused(text=text) if stage == "plan":
                self[f"standard {self._say.standard(text)}"] += 1

    def _contact(self, facts: UnitFacts, outputs: Mapping[str, Any]) -> None:
        self["message"] += sum(one["kind"] == "message" for box in outputs["for"].values() for one in box)
        self["proposal"] += len(outputs["proposals"])
        self["cancellation"] += len(outputs["cancellations"])
        self.update(response["decision"] for response in outputs["responses"])

    def _resolve(self, facts: UnitFacts, outputs: Mapping[str, Any]) -> None:
        for part in outputs["for"].values():
            told = [message["text"] for message in part["messages"] if message["kind"] == "notice"]
            told += [item["reason"] for item in part["unscheduled"]]
            self.update(f"calendar: {self._say.notice(text)}" for text in told)

    def _joint(self, facts: UnitFacts, outputs: Mapping[str, Any]) -> None:
        self["exit"] += len(outputs["exited"])
        self["skill advance"] += sum(outputs["skills_up"].values())

    def _encounter(self, facts: UnitFacts, outputs: Mapping[str, Any]) -> None:
        self._joint(facts, outputs)
        week, pair = str(facts.unit).split("/")[0], {*outputs["participants"]}
        known = {name for who in pair for name in self._outputs_of(f"{week}/settle.0/{who}")["knows"]}
        self["acquaintances meet" if pair & known else "strangers meet"] += 1

    def _solo(self, facts: UnitFacts, outputs: Mapping[str, Any]) -> None:
        self["skill advance"] += sum(outputs["skills_up"].values())
        bought = sum(len(purchases) for purchases in outputs["purchases"].values())
        self["bought and used up"] += bought - sum(isinstance(thing, Got) for thing in things_of(facts))
        self["nothing bought"] += bought == 0

    def _public_events(self, facts: UnitFacts, outputs: Mapping[str, Any]) -> None:
        for event in outputs["events"]:
            self["event once" if event["weeks"] == 1 else "event of several weeks"] += 1
            self["event for some"] += event["eligible"] != "all"

    def _signup(self, facts: UnitFacts, outputs: Mapping[str, Any]) -> None:
        self["sign-up"] += len(outputs["events"])

    def _public_meet(self, facts: UnitFacts, outputs: Mapping[str, Any]) -> None:
        unit = facts.unit
        for other in outputs["connects"]:
            both = (unit.week, unit.index, other, unit.who) in self._chosen
            self._chosen.add((unit.week, unit.index, unit.who, other))
            self["connected on both sides" if both else "connected on one side"] += 1

    def _profile_update(self, facts: UnitFacts, outputs: Mapping[str, Any]) -> None:
        self["text rewritten"] += sum('"field"' in row.reply.text for row in self._reader.calls_of(facts.unit))

    def _judging(self, facts: UnitFacts, outputs: Mapping[str, Any]) -> None:
        self["score"] += sum(score is not None for pair in outputs["scores"].values() for score in pair.values())

    def _ranking(self, facts: UnitFacts, outputs: Mapping[str, Any]) -> None:
        """After the last round: who applied for what, and what became of it."""
        if "for" not in outputs:
            return
        week = str(facts.unit).split("/")[0]
        pay = {f"{p['organization']}/{p['role']}": p["weekly_income"] for p in self._positions(week)}
        self["new position"] += len(pay) - len(self._positions("Y0-W0"))
        for name, now in outputs["holders"].items():
            wish = self._outputs_of(f"{week}/wishes.0/{name}")
            self._outcome(wish, outputs["granted"].get(name), now, pay)

    def _outcome(self, wish: Mapping[str, Any], granted: str | None, now: str | None, pay: Mapping[str, int]) -> None:
        """What a year's end brought to one agent."""
        before = wish["position"]
        tried = [key for key in wish["wishes"] if key not in (STAY_CURRENT, before)]
        self["over age"] += wish["max_age"] is not None and wish["age"] > wish["max_age"]
        self["granted"] += now is not None and now != before
        self["applied in vain"] += any(key != now for key in tried)
        self["stays"] += granted is not None and now == before
        self["unmatched"] += granted is None
        self["lost its position"] += before is not None and now is None
        self["promoted"] += bool(now and before and pay[now] > pay[before])

    def _positions(self, week: str) -> list[Mapping[str, Any]]:
        return self._outputs_of(f"{week}/openings.0/")["positions"]

    def _outputs_of(self, unit: str) -> Mapping[str, Any]:
        facts = self._reader.facts_of(unit)
        assert facts is not None, unit
        return facts.outputs

    def _calls(self) -> None:
        """What stands in words alone: what was said to some or to nobody, and refusals inside an activity."""
        told: set[tuple[str, str, str]] = set()
        for row in self._reader.calls():
            self["contested position"] += row.duty == "ranking"
            if row.duty == "turn":
                self.update(hidden(row.reply.text, self._people(row.unit)))
            if row.duty in ("turn", "reflection"):
                for message in self._reader.messages_of(row):
                    told.update((row.unit, row.agent, line) for line in re.findall(r"Error: .*", message.text))
        self.update(f"activity refused: {self._say.objection(line)}" for _, _, line in sorted(told))

    def _people(self, unit: str) -> list[str]:
        facts = self._reader.facts_of(unit)
        return sorted(facts.by_agent) if facts else []


def things_of(facts: UnitFacts) -> Iterator[AnyFact]:
    """All that a unit caused to anybody."""
    for name in facts.by_agent:
        yield from facts.by_agent[name]


def hidden(text: str, people: Iterable[str]) -> Iterator[str]:
    """The kinds of those parts of a text that not everybody may read."""
    return (segment.kind for segment in parse_segments(text, people) if segment.kind != "public")


def table(columns: Mapping[str, Tally]) -> str:
    """Counts as text, one line per row and a column per life; what no row foresees stands below."""
    others = sorted({row for tally in columns.values() for row in tally} - {*ROWS})
    lines = [" ".join([f"{'':40}", *(f"{name:>10}" for name in columns)])]
    lines += [" ".join([f"{row:40}", *(f"{tally[row]:10}" for tally in columns.values())]) for row in (*ROWS, *others)]
    return "\n".join(lines)
