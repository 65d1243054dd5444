"""Schedule resolution: one calendar for all from a week's proposals, answers, cancellations and sign-ups (SPEC 5).

One pass of four rules. The result depends on what was said in which round, never on the order in which it arrives.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from sim.core.agent import Activity, Value
from sim.core.clock import Slot

Cause = Literal["cancelled", "too_few", "clash", "no_yes", "required_missing", "proposer_busy"]

FEWEST = 2
"""Participants without whom a joint activity does not begin."""


class Proposal(Value, frozen=True, kw_only=True):
    """A joint activity proposed this week; identified by proposer and name."""

    activity: str
    proposer: str
    slot: Slot
    location: str
    description: str = ""
    invited: tuple[str, ...]
    required: tuple[str, ...] = ()
    round: int

    @property
    def key(self) -> str:
        """The key of the activity that it may become."""
        return joint_key(self.proposer, self.activity)


class Response(Value, frozen=True, kw_only=True):
    """An invitee's answer; `order` is its place among the invitee's answers of that round."""

    activity: str
    proposer: str
    sender: str
    decision: Literal["yes", "no"]
    round: int
    order: int = 0


class Cancellation(Value, frozen=True, kw_only=True):
    """A proposer calls off a proposal of this week or an activity that was confirmed earlier."""

    activity: str
    proposer: str
    round: int


class Week(Value, frozen=True, kw_only=True):
    """Everything that the contact stage left behind."""

    calendars: Mapping[str, tuple[Activity, ...]]
    """Per agent: joint activities that were confirmed in earlier weeks and lie ahead."""
    proposals: tuple[Proposal, ...] = ()
    responses: tuple[Response, ...] = ()
    cancellations: tuple[Cancellation, ...] = ()
    events: tuple[Activity, ...] = ()
    """This week's public events; `participants` are those who signed up."""


class Change(Value, frozen=True, kw_only=True):
    """An activity that does not take place for an agent, and why."""

    agent: str
    activity: Activity
    cause: Cause
    planned: bool = False
    """It stood in the agent's calendar and has to leave it."""
    instead: str = ""
    """clash: the name of the activity that was kept."""
    missing: tuple[str, ...] = ()
    """required_missing: who did not come to a yes."""


class Resolution(Value, frozen=True, kw_only=True):
    """New entries of the calendars, whole calendars, and what was turned down."""

    joint: tuple[Activity, ...]
    """Newly confirmed joint activities, of this week and ahead."""
    public: tuple[Activity, ...]
    """Public events with those who attend them; one that nobody attends is left out."""
    calendars: Mapping[str, tuple[Activity, ...]]
    """Every agent's calendar afterwards, by slot: at most one activity a day."""
    changes: tuple[Change, ...]
    """By agent, slot and name."""


class _Claim(Value, frozen=True, kw_only=True, order=True):
    """One activity's claim on an agent's day; the smallest one wins."""

    rank: int
    """0 joint confirmed earlier, 1 newly proposed, 2 newly accepted, 3 public."""
    round: int
    """Of the proposal for its proposer, of the counting answer for an invitee."""
    name: str
    key: str


_Claims = dict[tuple[str, Slot], list[_Claim]]
_Yes = Mapping[str, Mapping[str, int]]


def joint_key(proposer: str, activity: str) -> str:
    """The key of a joint activity, as `Activity.key` gives it."""
    return f"joint:{proposer}:{activity}"


def resolve_schedule(week: Week) -> Resolution:
    """Apply the four rules once and return the week's calendars and what was turned down."""
    called_off = frozenset(joint_key(c.proposer, c.activity) for c in week.cancellations)
    proposals = {p.key: p for p in _first_of_each(week.proposals) if p.key not in called_off}
    answers = _by_proposal(week.responses)
    yes = {key: _last_yes(p, answers.get(key, ())) for key, p in proposals.items()}
    void: dict[str, Cause] = {
        k: cause for k, p in proposals.items() if (cause := _failure(p, tuple(yes[k]), free=True))
    }
    standing = {key: p for key, p in proposals.items() if key not in void}

    claims = _claims(week, called_off, standing, yes)
    kept = {place: min(found) for place, found in claims.items()}

    still = {key: tuple(n for n in yes[key] if kept[n, p.slot].key == key) for key, p in standing.items()}
    free = {key: kept[p.proposer, p.slot].key == key for key, p in standing.items()}
    failed: dict[str, Cause] = {k: cause for k, p in standing.items() if (cause := _failure(p, still[k], free=free[k]))}

    joint = [_activity(p, still[key]) for key, p in standing.items() if key not in failed]
    public = [_attended(event, kept) for event in week.events]
    planned = {a.key: a for name in sorted(week.calendars) for a in week.calendars[name]}
    agreed = _agreed(week.calendars, called_off, kept)
    lonely = [activity for activity in agreed if len(activity.participants) < FEWEST]
    going_on = {a.key: a for a in agreed if a not in lonely}
    known = {**planned, **{key: _activity(p, p.invited) for key, p in proposals.items()}, **{e.key: e for e in public}}
    changes = [
        *_called_off(week.calendars, called_off),
        *(Change(agent=n, activity=a, cause="too_few", planned=True) for a in lonely for n in a.participants),
        *(c for key, cause in void.items() for c in _told(proposals[key], tuple(yes[key]), cause)),
        *_clashes(claims, kept, known),
        *(c for key, cause in failed.items() for c in _told(standing[key], still[key], cause)),
    ]
    return Resolution(
        joint=tuple(sorted(joint, key=_by_slot)),
        public=tuple(sorted((e for e in public if e.participants), key=_by_slot)),
        calendars=_calendars(week, kept, {**going_on, **{a.key: a for a in (*joint, *public)}}),
        changes=tuple(sorted(changes, key=lambda c: (c.agent, _by_slot(c.activity), c.cause))),
    )


def _by_slot(activity: Activity) -> tuple[Slot, str, str]:
    """Order of activities in every list: time, name, proposer."""
    return activity.slot, activity.name, activity.proposer


def _first_of_each(proposals: Iterable[Proposal]) -> list[Proposal]:
    """Proposals by proposer and name, the earliest round of each."""
    first: dict[str, Proposal] = {}
    for proposal in sorted(proposals, key=lambda p: (p.key, p.round, p.slot)):
        first.setdefault(proposal.key, proposal)
    return list(first.values())


def _by_proposal(responses: Iterable[Response]) -> dict[str, list[Response]]:
    """Answers by the proposal that they are to, each list in the order in which they were given."""
    answers: dict[str, list[Response]] = defaultdict(list)
    for answer in sorted(responses, key=lambda r: (r.sender, r.round, r.order, r.decision)):
        answers[joint_key(answer.proposer, answer.activity)].append(answer)
    return answers


def _last_yes(proposal: Proposal, answers: Iterable[Response]) -> dict[str, int]:
    """Rule 2: invitees whose last answer is yes → the round of that answer, by name."""
    last = {answer.sender: answer for answer in answers if answer.sender in proposal.invited}
    return {name: last[name].round for name in sorted(last) if last[name].decision == "yes"}


def _failure(proposal: Proposal, yes: tuple[str, ...], *, free: bool) -> Cause | None:
    """Rule 4: why a proposal does not become an activity, or None if it does."""
    if not free:
        return "proposer_busy"
    if not yes:
        return "no_yes"
    return "required_missing" if set(proposal.required) - set(yes) else None


def _claims(week: Week, called_off: frozenset[str], standing: Mapping[str, Proposal], yes: _Yes) -> _Claims:
    """Every claim on every agent's day."""
    claims: _Claims = defaultdict(list)
    for name in sorted(week.calendars):
        for activity in week.calendars[name]:
            if activity.key not in called_off:
                claims[name, activity.slot].append(_Claim(rank=0, round=0, name=activity.name, key=activity.key))
    for key, p in standing.items():
        claims[p.proposer, p.slot].append(_Claim(rank=1, round=p.round, name=p.activity, key=key))
        for name, round_ in yes[key].items():
            claims[name, p.slot].append(_Claim(rank=2, round=round_, name=p.activity, key=key))
    for event in week.events:
        for name in event.participants:
            claims[name, event.slot].append(_Claim(rank=3, round=0, name=event.name, key=event.key))
    return claims


def _agreed(
    calendars: Mapping[str, tuple[Activity, ...]],
    called_off: frozenset[str],
    kept: Mapping[tuple[str, Slot], _Claim],
) -> list[Activity]:
    """Activities confirmed in earlier weeks and not called off, each with those in whose calendars it still stands."""
    first: dict[str, Activity] = {}
    comers: dict[str, list[str]] = defaultdict(list)
    for name in sorted(calendars):
        for activity in calendars[name]:
            stands = activity.key not in called_off and kept[name, activity.slot].key == activity.key
            if stands and first.setdefault(activity.key, activity).slot == activity.slot:
                comers[activity.key].append(name)
    return [msgspec.structs.replace(first[key], participants=tuple(comers[key])) for key in sorted(first)]


def _activity(proposal: Proposal, yes: tuple[str, ...]) -> Activity:
    """The joint activity of a proposal and those who come."""
    return Activity(
        kind="joint",
        name=proposal.activity,
        slot=proposal.slot,
        location=proposal.location,
        participants=tuple(sorted({proposal.proposer, *yes})),
        proposer=proposal.proposer,
        description=proposal.description,
    )


def _attended(event: Activity, kept: Mapping[tuple[str, Slot], _Claim]) -> Activity:
    """The event with those who have that day free for it."""
    names = tuple(n for n in sorted(set(event.participants)) if kept[n, event.slot].key == event.key)
    return Activity(
        kind="public",
        name=event.name,
        slot=event.slot,
        location=event.location,
        participants=names,
        description=event.description,
    )


def _calendars(
    week: Week, kept: Mapping[tuple[str, Slot], _Claim], taking_place: Mapping[str, Activity]
) -> dict[str, tuple[Activity, ...]]:
    """Every agent's calendar: what it kept and what really takes place, by slot."""
    found: dict[str, list[Activity]] = {name: [] for name in sorted(week.calendars)}
    for name, slot in sorted(kept):
        activity = taking_place.get(kept[name, slot].key)
        if activity is not None and name in activity.participants:
            found.setdefault(name, []).append(activity)
    return {name: tuple(sorted(activities, key=_by_slot)) for name, activities in sorted(found.items())}


def _called_off(calendars: Mapping[str, tuple[Activity, ...]], called_off: frozenset[str]) -> Iterator[Change]:
    """Rule 1 for activities that already stood in calendars; invitees of new proposals get the proposer's message."""
    for name in sorted(calendars):
        for activity in calendars[name]:
            if activity.key in called_off:
                yield Change(agent=name, activity=activity, cause="cancelled", planned=True)


def _told(proposal: Proposal, yes: tuple[str, ...], cause: Cause) -> Iterator[Change]:
    """Who is told that a proposal failed: those who said yes, and its proposer unless its own clash said so."""
    names = yes if cause == "proposer_busy" else (proposal.proposer, *yes)
    missing = tuple(n for n in proposal.required if n not in yes) if cause == "required_missing" else ()
    for name in names:
        yield Change(agent=name, activity=_activity(proposal, yes), cause=cause, missing=missing)


def _clashes(
    claims: _Claims, kept: Mapping[tuple[str, Slot], _Claim], known: Mapping[str, Activity]
) -> Iterator[Change]:
    """Rule 3: every claim that lost its day to another."""
    for place in sorted(claims):
        winner = kept[place]
        for claim in sorted(claims[place]):
            if claim.key != winner.key:
                yield Change(
                    agent=place[0],
                    activity=known[claim.key],
                    cause="clash",
                    planned=claim.rank == 0,
                    instead=winner.name,
                )
