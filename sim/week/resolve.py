"""5 Resolution: one calendar for all from contact rounds and sign-ups; idle agents are paired; days get their units.

Outputs: `for` each agent `messages` (of the last round, and notices), `scheduled`, `unscheduled`; for each day `days`
(its unit), `activities` (None for a day alone), `places` (where its encounter may be); `units`: activity, participants.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from sim.core.agent import Activity, Message
from sim.core.clock import Slot
from sim.core.facts import UnitFacts
from sim.core.keys import UnitKey, parse_unit, seed_of
from sim.core.pairing import Pair, pair_idle
from sim.core.resolution import Change, Resolution, Week, resolve_schedule
from sim.engine.stage import Board, Job, Stage
from sim.environment.public_events import Event
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.week import mail
from sim.week.chain import next_week_of_year, nobody, of, of_all, of_world

Days = Mapping[str, Sequence[Activity | None]]
"""Each agent's activities of the week's days; None for a day alone."""
_PLACES_OFFERED = 5
"""Places among which the environment chooses where an encounter happens."""


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """Everybody's settlement, sign-up and contact rounds, who knows whom, and the week's events."""
    rounds = [of_all(unit, board, "contact", index=index) for index in range(1, board.clock.n_contact + 1)]
    return frozenset().union(
        of_all(unit, board, "settle"),
        of_all(unit, board, "signup"),
        *rounds,
        {of_world(unit, "acquaintance"), of_world(unit, "public_events")},
    )


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Resolve the week, pair the idle, name the days' units."""
    resolution = resolve_schedule(_week(job, desk))
    recent = {name: outputs["recent"] for name, outputs in job.outputs_of("settle").items()}
    days = plan_days(job.unit, desk, resolution, recent)
    last = job.outputs_of("contact", index=desk.clock.n_contact)
    outputs = {name: _for(name, job.unit, desk, resolution, last, days) for name in desk.names}
    return Overlay(job).finish({"for": outputs, "units": _units(job.unit, days)})


def _week(job: Job, desk: Desk) -> Week:
    """All that was said and signed up for."""
    units = sorted((unit for unit in job.needed if unit.stage == "contact"), key=lambda unit: (unit.index, unit.who))
    rounds = [job.needed[unit] for unit in units]
    last = job.outputs_of("contact", index=desk.clock.n_contact)
    return Week(
        calendars={name: msgspec.convert(outputs["schedule"], tuple[Activity, ...]) for name, outputs in last.items()},
        proposals=mail.proposals_of(rounds),
        responses=mail.responses_of(rounds),
        cancellations=mail.cancellations_of(rounds),
        events=tuple(_events(job)),
    )


def _events(job: Job) -> Iterable[Activity]:
    """The week's events with those who signed up."""
    signups = {name: outputs["events"] for name, outputs in job.outputs_of("signup").items()}
    for event in msgspec.convert(job.needed[of_world(job.unit, "public_events")]["events"], list[Event]):
        yield Activity(
            kind="public",
            name=event.name,
            slot=Slot(year=job.unit.year, week=job.unit.week, day=event.day),
            location=event.location,
            participants=tuple(name for name in sorted(signups) if event.name in signups[name]),
            description=event.description,
        )


def plan_days(
    unit: UnitKey, desk: Desk, resolution: Resolution, recent: Mapping[str, Sequence[str]]
) -> dict[str, list[Activity | None]]:
    """What each agent does on each day: joint, public, an encounter for some of the idle, else nothing with others."""
    days: dict[str, list[Activity | None]] = {name: [] for name in desk.names}
    met: list[Pair] = []
    for day in range(1, desk.clock.n_day + 1):
        slot = Slot(year=unit.year, week=unit.week, day=day)
        of_day = {
            name: next((a for a in resolution.calendars.get(name, ()) if a.slot == slot), None) for name in desk.names
        }
        rng = random.Random(seed_of(desk.scope, str(unit), "encounters", day))
        idle = [name for name in desk.names if of_day[name] is None]
        pairs = pair_idle(idle, recent, rng, share=desk.settings.economy.encounter_share, apart=met)
        met.extend(pairs)
        free = _free_places(desk, of_day.values())
        for pair in pairs:
            encounter = _encounter(pair, slot, rng.choice(free))
            of_day.update(dict.fromkeys(pair, encounter))
        for name in desk.names:
            days[name].append(of_day[name])
    return days


def _encounter(pair: Pair, slot: Slot, location: str) -> Activity:
    """A chance meeting at a public place; it stands in no calendar."""
    return Activity(kind="encounter", name=f"{slot}/{pair[0]}", slot=slot, location=location, participants=pair)


def _free_places(desk: Desk, arranged: Iterable[Activity | None]) -> list[str]:
    """Public places where nothing is arranged that day; all where no place is left."""
    taken = {activity.location for activity in arranged if activity is not None and activity.kind != "encounter"}
    names = [location.name for location in desk.world.locations]
    return [name for name in names if name not in taken] or names


def offered_places(unit: UnitKey, desk: Desk, days: Days, name: str) -> list[list[str]]:
    """Where each of an agent's encounters may be, the drawn place first; nothing for other days."""
    offered: list[list[str]] = []
    for day, activity in enumerate(days[name], start=1):
        if activity is None or activity.kind != "encounter":
            offered.append([])
            continue
        free = _free_places(desk, [days[other][day - 1] for other in sorted(days)])
        others = [place for place in free if place != activity.location]
        rng = random.Random(seed_of(desk.scope, str(unit), "places", activity.name))
        offered.append([activity.location, *rng.sample(others, min(len(others), _PLACES_OFFERED - 1))])
    return offered


def _day_unit(unit: UnitKey, name: str, day: int, activity: Activity | None) -> UnitKey:
    """The unit in which an agent lives a day; of a public event its first half."""
    if activity is None:
        return of(name, unit, "solo", index=day)
    if activity.kind == "public":
        return of(name, unit, "public_act", index=day)
    return of(min(activity.participants), unit, activity.kind, index=day)


def _units(unit: UnitKey, days: Days) -> dict[str, Any]:
    """Activity and participants of every unit of the week's days."""
    units: dict[str, Any] = {}
    for name in sorted(days):
        for day, activity in enumerate(days[name], start=1):
            key = _day_unit(unit, name, day, activity)
            together = activity is not None and activity.kind != "public"
            entry = {
                "activity": msgspec.to_builtins(activity),
                "participants": sorted(activity.participants) if activity is not None and together else [name],
            }
            units[str(key)] = entry
            if key.stage == "public_act":
                units[str(of(name, unit, "public_meet", index=day))] = entry
    return units


def _for(
    name: str, unit: UnitKey, desk: Desk, resolution: Resolution, last: Mapping[str, Any], days: Days
) -> dict[str, Any]:
    """One agent's part of the outputs."""
    changes = [change for change in resolution.changes if change.agent == name]
    notices = [_notice(unit, desk, change) for change in changes if change.cause != "cancelled"]
    scheduled = [a for a in (*resolution.joint, *resolution.public) if name in a.participants]
    return {
        "messages": msgspec.to_builtins([*mail.messages_to(name, last), *notices]),
        "scheduled": msgspec.to_builtins(scheduled),
        "unscheduled": [
            {"key": change.activity.key, "reason": _reason(desk, change)} for change in changes if change.planned
        ],
        "days": [str(_day_unit(unit, name, day, activity)) for day, activity in enumerate(days[name], start=1)],
        "activities": msgspec.to_builtins(days[name]),
        "places": offered_places(unit, desk, days, name),
    }


def _notice(unit: UnitKey, desk: Desk, change: Change) -> Message:
    """What the calendar tells somebody; who called something off has told the others itself."""
    return Message(
        year=unit.year,
        week=unit.week,
        round=desk.clock.n_contact,
        sender="",
        to=change.agent,
        text=_reason(desk, change),
        kind="notice",
        activity=change.activity.name,
    )


def _reason(desk: Desk, change: Change) -> str:
    """Why an activity does not take place for somebody, in words."""
    activity = change.activity
    values = {
        "cause": change.cause,
        "activity": activity.name,
        "slot": str(activity.slot),
        "proposer": activity.proposer,
        "mine": activity.proposer == change.agent,
        "instead": change.instead,
        "missing": list(change.missing),
    }
    return desk.render.render("parts/notice.j2", values)


def successors(unit: UnitKey, board: Board) -> tuple[UnitKey, ...]:
    """Everybody's agenda, the week's days, and what next week's units of the world need to be announced."""
    agendas = sorted(of_all(unit, board, "agenda"))
    days = [parse_unit(key) for key in sorted(board.outputs(unit)["units"])]
    following = next_week_of_year(unit, board.clock)
    stages = ("public_events", "acquaintance", "resolve")
    ahead = [UnitKey(year=following[0], week=following[1], stage=stage) for stage in stages] if following else []
    return (*agendas, *days, *ahead)


STAGE = Stage(name="resolve", position=7, participants=nobody, needs=needs, run=run, successors=successors, pure=True)
