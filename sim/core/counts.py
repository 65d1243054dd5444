"""What each agent did and was in each year: all measures of SPEC section 10, from finished units and token rows.

A measure reads either facts (week-end numbers, things that came in) or the outputs that every stage documents.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from sim.core.agent import Value, WeekSnapshot
from sim.core.facts import Got, UnitFacts, WeekEnded
from sim.core.keys import UnitKey, parse_unit
from sim.core.reward import count_penalties

THRESHOLD = 60
"""A score from here on counts as liking or respecting."""
JOINT, PUBLIC = "joint", "public_act"
DAYS = (JOINT, "encounter", PUBLIC, "public_meet", "solo")
"""Stages whose index is a day; both halves of a public event are one activity."""


class CallTokens(Value, frozen=True, kw_only=True):
    """Tokens of one model call; `unit` is the text form of its unit, `agent` is "" for the environment model."""

    unit: str
    agent: str
    input_tokens: int
    output_tokens: int


class Standing(Value, frozen=True, kw_only=True):
    """How many people like and respect somebody, and the reverse (scores of at least 60)."""

    n_liked_by: int = 0
    n_likes: int = 0
    n_respected_by: int = 0
    n_respects: int = 0
    n_mutual_like: int = 0
    n_mutual_respect: int = 0


class AgentYear(Value, frozen=True, kw_only=True):
    """One agent's year. Numbers at the year's end come first, then sums over the year."""

    year: int
    agent: str
    fulfillment_mood: float
    fulfillment_material: float
    fulfillment_social: float
    fulfillment_esteem: float
    total_skills: float
    deposit: int
    n_liked_by: int
    n_likes: int
    n_respected_by: int
    n_respects: int
    n_mutual_like: int
    n_mutual_respect: int
    fulfillment_penalties: int
    joint_proposed: int
    joint_participated: int
    public_participated: int
    solo_count: int
    activity_consumption_count: int
    total_spending_amount: int
    active_contacts: int
    passive_contacts: int
    extra_earning_count: int
    skill_improvement_count: int
    input_tokens: int
    output_tokens: int
    function_call_count: int


class _Sums:
    """What adds up over one agent's year."""

    def __init__(self) -> None:
        self.joint_proposed = 0
        self.joint_participated = 0
        self.activity_consumption_count = 0
        self.total_spending_amount = 0
        self.active_contacts = 0
        self.passive_contacts = 0
        self.extra_earning_count = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.function_call_count = 0
        self.days: set[tuple[int, int]] = set()
        self.public_days: set[tuple[int, int]] = set()
        self.improved_days: set[tuple[int, int]] = set()
        self.snapshots: list[WeekSnapshot] = []


def agent_years(
    units: Iterable[UnitFacts], calls: Iterable[CallTokens], *, names: Sequence[str], n_years: int
) -> list[AgentYear]:
    """All measures of every agent in years 1..n_years, by year and name.

    `units` are the finished units of one world in any order: joint, encounter, public and solo days, contact rounds,
    clean-ups and judgings are read, others only for their function calls. `calls` are all model calls
    that were made, failed attempts included. Nothing but sums and each agent's last numbers is held.
    """
    tally = _Tally(names, n_years)
    for unit in units:
        tally.add(unit)
    for call in calls:
        tally.add_tokens(call)
    return tally.years()


def standings(scores: Mapping[str, Mapping[str, Mapping[str, float | None]]]) -> dict[str, Standing]:
    """Counts of liking and respect from `rater → rated → {affection, respect}` of one judging; missing is no regard."""
    liked = _regard(scores, "affection")
    respected = _regard(scores, "respect")
    return {
        name: Standing(
            n_liked_by=sum(name in row for row in liked.values()),
            n_likes=len(liked[name]),
            n_respected_by=sum(name in row for row in respected.values()),
            n_respects=len(respected[name]),
            n_mutual_like=sum(name in liked[other] for other in liked[name]),
            n_mutual_respect=sum(name in respected[other] for other in respected[name]),
        )
        for name in sorted(scores)
    }


def _regard(
    scores: Mapping[str, Mapping[str, Mapping[str, float | None]]], dimension: str
) -> dict[str, frozenset[str]]:
    """Rater → the other agents whom it scores at least 60 in one dimension."""
    return {
        rater: frozenset(
            rated
            for rated, pair in scores[rater].items()
            if rated in scores and rated != rater and (pair.get(dimension) or 0) >= THRESHOLD
        )
        for rater in sorted(scores)
    }


class _Tally:
    """Adds units up, one at a time."""

    def __init__(self, names: Sequence[str], n_years: int) -> None:
        self._names = sorted(names)
        self._years = range(1, n_years + 1)
        self._sums = {(year, name): _Sums() for year in self._years for name in self._names}
        self._scores: dict[int, dict[str, Any]] = {year: {name: {} for name in self._names} for year in self._years}

    def add(self, unit: UnitFacts) -> None:
        """Count what one finished unit brought."""
        key = unit.unit
        for verdict in unit.verdicts:
            if (sums := self._sums.get((key.year, verdict.agent))) is not None:
                sums.function_call_count += verdict.tool_calls
        if key.stage in DAYS:
            self._add_day(unit)
        elif key.stage == "contact":
            self._add_contacts(key, unit.outputs)
        elif key.stage == "judging" and key.year in self._scores and key.who in self._scores[key.year]:
            self._scores[key.year][key.who] = unit.outputs["scores"]
        for name, facts in unit.by_agent.items():
            if (sums := self._sums.get((key.year, name))) is not None:
                sums.snapshots.extend(fact.snapshot for fact in facts if isinstance(fact, WeekEnded))

    def add_tokens(self, call: CallTokens) -> None:
        """Count one call's tokens."""
        sums = self._sums.get((parse_unit(call.unit).year, call.agent))
        if sums is not None:
            sums.input_tokens += call.input_tokens
            sums.output_tokens += call.output_tokens

    def years(self) -> list[AgentYear]:
        """One row per year and agent."""
        return [
            self._row(year, name, standing[name], penalties[name])
            for year in self._years
            for standing, penalties in [(standings(self._scores[year]), self._penalties(year))]
            for name in self._names
        ]

    def _penalties(self, year: int) -> dict[str, int]:
        return count_penalties({name: self._sums[year, name].snapshots for name in self._names})

    def _add_day(self, unit: UnitFacts) -> None:
        """One day's activity, for each of its participants."""
        key, outputs = unit.unit, unit.outputs
        day = (key.week, key.index)
        for name in sorted(unit.by_agent):
            sums = self._sums.get((key.year, name))
            if sums is None:
                continue
            sums.days.add(day)
            if key.stage == JOINT:
                sums.joint_participated += 1
            elif key.stage == PUBLIC:
                sums.public_days.add(day)
            elif key.stage == "solo":
                sums.extra_earning_count += outputs.get("earned", {}).get(name, 0) > 0
            if outputs.get("skills_up", {}).get(name, False):
                sums.improved_days.add(day)
            bought = outputs.get("purchases", {}).get(name, [])
            owned = {fact.item.name for fact in unit.by_agent[name] if isinstance(fact, Got)}
            sums.activity_consumption_count += len(bought)
            sums.total_spending_amount += sum(thing["price"] for thing in bought if thing["name"] in owned)

    def _add_contacts(self, key: UnitKey, outputs: Mapping[str, Any]) -> None:
        """One contact round: proposals made, whatever becomes of them; messages, for sender and for receiver."""
        if (sender := self._sums.get((key.year, key.who))) is not None:
            sender.joint_proposed += len(outputs.get("proposals", ()))
        for to in sorted(outputs.get("for", {})):
            n = sum(message["kind"] == "message" for message in outputs["for"][to])
            if sender is not None:
                sender.active_contacts += n
            if (receiver := self._sums.get((key.year, to))) is not None:
                receiver.passive_contacts += n

    def _row(self, year: int, name: str, standing: Standing, penalties: int) -> AgentYear:
        sums = self._sums[year, name]
        last = max(sums.snapshots, key=lambda snapshot: snapshot.week, default=None)
        return AgentYear(
            year=year,
            agent=name,
            fulfillment_mood=last.mood if last else 0.0,
            fulfillment_material=last.material if last else 0.0,
            fulfillment_social=last.social if last else 0.0,
            fulfillment_esteem=last.esteem if last else 0.0,
            total_skills=last.total_skills if last else 0.0,
            deposit=last.deposit if last else 0,
            fulfillment_penalties=penalties,
            joint_proposed=sums.joint_proposed,
            joint_participated=sums.joint_participated,
            public_participated=len(sums.public_days),
            solo_count=len(sums.days) - sums.joint_participated - len(sums.public_days),
            activity_consumption_count=sums.activity_consumption_count,
            total_spending_amount=sums.total_spending_amount,
            active_contacts=sums.active_contacts,
            passive_contacts=sums.passive_contacts,
            extra_earning_count=sums.extra_earning_count,
            skill_improvement_count=len(sums.improved_days),
            input_tokens=sums.input_tokens,
            output_tokens=sums.output_tokens,
            function_call_count=sums.function_call_count,
            **msgspec.structs.asdict(standing),
        )
