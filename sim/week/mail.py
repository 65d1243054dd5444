"""Who must be waited for, who reads what, and what stands open in the contact rounds of a week.

While they last, somebody becomes known only to those to whom it wrote or whom it invited. So what can reach an agent
comes from those who knew it at the week's start and those to whom it wrote itself.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from sim.core.agent import Activity, AgentState, Message
from sim.core.clock import week_text
from sim.core.facts import CameToKnow, Heard, Met
from sim.core.invitations import Invitation, OwnPlan
from sim.core.keys import UnitKey
from sim.core.resolution import Cancellation, Proposal, Response
from sim.engine.stage import Board, Job
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.week.chain import of, of_world, own

Outputs = Mapping[str, Any]


def correspondents(unit: UnitKey, board: Board) -> list[str]:
    """Whose messages of the round before can concern the agent of a contact unit; its own earlier rounds are done."""
    known_by = board.outputs(of_world(unit, "acquaintance"))["for"].get(unit.who, ())
    rounds = [board.outputs(own(unit, "contact", index=index)) for index in range(1, unit.index)]
    written_to = [name for outputs in rounds for name in outputs["wrote_to"]]
    return sorted({*known_by, *written_to} - {unit.who})


def earlier_mail(unit: UnitKey, board: Board, people: Iterable[str]) -> set[UnitKey]:
    """Units before the last round in which one of these people wrote to the agent: invitations from then stay open."""
    units = {of(name, unit, "contact", index=index) for name in people for index in range(1, unit.index - 1)}
    return {key for key in units if board.done(key) and unit.who in board.outputs(key)["for"]}


def messages_to(name: str, senders: Mapping[str, Outputs]) -> list[Message]:
    """What was sent to somebody, by sender, each sender's in the order written."""
    return [
        msgspec.convert(message, Message)
        for sender in sorted(senders)
        for message in senders[sender]["for"].get(name, ())
        if sender != name
    ]


def deliver(desk: Desk, overlay: Overlay, name: str, messages: Iterable[Message]) -> None:
    """The agent reads messages; who wrote is known to it from then on."""
    for message in messages:
        overlay.cause(name, Heard(message=message))
        if not message.sender:
            continue
        if message.sender not in overlay.state(name).knows():
            values = {
                "name": message.sender,
                "time": week_text(message.year, message.week),
                "kind": message.kind,
                "activity": message.activity,
            }
            entry = desk.render.render("parts/first_contact.j2", values)
            overlay.cause(name, CameToKnow(name=message.sender, first_entry=entry))
        overlay.cause(name, Met(name=message.sender))


def _rounds(job: Job) -> list[tuple[str, Outputs]]:
    """Sender and outputs of all needed contact units, by round and sender."""
    units = sorted((unit for unit in job.needed if unit.stage == "contact"), key=lambda unit: (unit.index, unit.who))
    return [(unit.who, job.needed[unit]) for unit in units]


def open_invitations(job: Job, name: str) -> tuple[Invitation, ...]:
    """This week's invitations to the agent that nobody called off, by round and proposer."""
    invitations: list[Invitation] = []
    called_off: set[tuple[str, str]] = set()
    for sender, outputs in _rounds(job):
        called_off.update((sender, item["activity"]) for item in outputs["cancellations"])
        invitations.extend(
            msgspec.convert(item, Invitation)
            for item in outputs["proposals"]
            if sender != name and name in item["invited"]
        )
    return tuple(one for one in invitations if (one.proposer, one.activity) not in called_off)


def own_answers(job: Job, name: str) -> dict[tuple[str, str], str]:
    """The agent's last answer to each invitation, by proposer and activity."""
    rounds = [outputs for sender, outputs in _rounds(job) if sender == name]
    return {(r["proposer"], r["activity"]): r["decision"] for outputs in rounds for r in outputs["responses"]}


def answers_to(job: Job, name: str) -> dict[str, dict[str, str]]:
    """Last answers of others to the agent's proposals, by activity and invitee."""
    answers: dict[str, dict[str, str]] = {}
    for sender, outputs in _rounds(job):
        for response in outputs["responses"]:
            if response["proposer"] == name:
                answers.setdefault(response["activity"], {})[sender] = response["decision"]
    return answers


def own_plans(job: Job, state: AgentState) -> tuple[OwnPlan, ...]:
    """What the agent proposed: activities in its calendar, then this week's proposals; what it called off is marked."""
    name = state.name
    mine = [outputs for sender, outputs in _rounds(job) if sender == name]
    called_off = {item["activity"] for outputs in mine for item in outputs["cancellations"]}
    planned = [
        (activity.name, tuple(person for person in activity.participants if person != name))
        for activity in state.schedule
        if activity.kind == "joint" and activity.proposer == name
    ]
    proposed = [(item["activity"], tuple(item["invited"])) for outputs in mine for item in outputs["proposals"]]
    return tuple(
        OwnPlan(activity=activity, invited=invited, standing=activity not in called_off)
        for activity, invited in (*planned, *proposed)
    )


def proposals_of(rounds: Iterable[Outputs]) -> tuple[Proposal, ...]:
    """All proposals of contact units as the schedule's resolution takes them."""
    return tuple(msgspec.convert(item, Proposal) for outputs in rounds for item in outputs["proposals"])


def responses_of(rounds: Iterable[Outputs]) -> tuple[Response, ...]:
    """All answers; their order within one agent's round is their place in its outputs."""
    return tuple(
        Response(
            activity=item["activity"],
            proposer=item["proposer"],
            sender=item["from"],
            decision=item["decision"],
            round=item["round"],
            order=order,
        )
        for outputs in rounds
        for order, item in enumerate(outputs["responses"])
    )


def cancellations_of(rounds: Iterable[Outputs]) -> tuple[Cancellation, ...]:
    """All cancellations."""
    return tuple(msgspec.convert(item, Cancellation) for outputs in rounds for item in outputs["cancellations"])


def planned_joint(state: AgentState) -> list[Activity]:
    """Joint activities in the agent's calendar, by slot."""
    return sorted((a for a in state.schedule if a.kind == "joint"), key=lambda a: (a.slot, a.key))
