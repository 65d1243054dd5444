"""4 Contact: one round of one agent. It reads what was sent to it in the round before and acts: messages, proposals,
answers, cancellations. What is refused is shown to it next time and never delivered.

Outputs: `for` each receiver its messages; `wrote_to`; `proposals`, `responses`, `cancellations`; in the last round
`schedule`, the joint activities in the agent's calendar.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import msgspec

from sim.context.budget import fit_lines
from sim.context.recall import recently_related
from sim.context.view import contact_history, message_line, people_lines
from sim.core.agent import Message, Note
from sim.core.clock import Slot, parse_slot
from sim.core.facts import Heard, Met, Noted, Refused, UnitFacts
from sim.core.invitations import Book, Cancel, Contact, ContactAction, Objection, Propose, Respond, check_actions
from sim.core.keys import UnitKey
from sim.core.open_words import open_words, words_for
from sim.core.resolution import Cancellation, Proposal
from sim.engine.stage import Board, Job, Stage
from sim.mind.action_tags import Found, Reading, read_actions
from sim.mind.actions import CONTACT_KINDS, drop_reason, explain, read_action
from sim.mind.answer import Answer
from sim.mind.desk import Desk
from sim.mind.invoke import ask_agent
from sim.mind.overlay import Overlay
from sim.week import mail
from sim.week.chain import directory, of, of_world, oneself, own
from sim.week.contact_form import contact_format, lengths

Kind = Literal["message", "invitation", "response", "cancellation"]

_NOTED_CHARS = 300
_SHORT_PLACES = 8
_MESSAGES, _RECEIVED, _INVITATIONS, _OWN = 0.2, 0.15, 0.12, 0.05
"""Parts of the stage budget: all messages, the new ones among them, open invitations, own proposals."""


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """Own earlier rounds; then, of all who could have written to the agent, the round before and what they wrote it."""
    if unit.index == 1:
        return frozenset({own(unit, "signup"), directory(unit, board.clock)})
    earlier = {own(unit, "contact", index=index) for index in range(1, unit.index)}
    first = {*earlier, of_world(unit, "acquaintance"), directory(unit, board.clock)}
    if not all(board.done(key) for key in first):
        return frozenset(first)
    people = mail.correspondents(unit, board)
    last = {of(name, unit, "contact", index=unit.index - 1) for name in people}
    return frozenset({*first, *last, *mail.earlier_mail(unit, board, people)})


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Read the mail, act, send."""
    overlay, name = Overlay(job), job.unit.who
    senders = job.outputs_of("contact", index=job.unit.index - 1)
    received = mail.messages_to(name, senders)
    mail.deliver(desk, overlay, name, received)
    outbox = Outbox(unit=job.unit)
    book = _book(job, desk, overlay)
    if book.known:
        answer = await _ask(job, desk, overlay, book, received)
        act(desk, overlay, book, answer, outbox)
    last = job.unit.index == desk.clock.n_contact
    schedule = {"schedule": msgspec.to_builtins(mail.planned_joint(overlay.state(name)))} if last else {}
    return overlay.finish({**outbox.outputs(), **schedule})


def _book(job: Job, desk: Desk, overlay: Overlay) -> Book:
    """What the agent may do in this round."""
    name, unit = job.unit.who, job.unit
    state, clock = overlay.state(name), desk.clock
    homes = job.needed[directory(unit, clock)]["homes"]
    return Book(
        me=name,
        known=tuple(person for person in recently_related(state, len(state.files)) if person in desk.names),
        places=(*(location.name for location in desk.world.locations), state.home.name),
        others_homes=tuple(homes[owner]["name"] for owner in sorted(homes) if owner != name),
        window=tuple(clock.slots_ahead(unit.year, unit.week, desk.settings.limits.weeks_ahead)),
        invitations=mail.open_invitations(job, name),
        own=mail.own_plans(job, state),
    )


async def _ask(job: Job, desk: Desk, overlay: Overlay, book: Book, received: Sequence[Message]) -> Answer[Reading]:
    """The round's free text with its actions."""
    return await ask_agent(
        desk,
        overlay,
        job.unit.who,
        step="contact",
        template="contact.j2",
        values=_values(job, desk, overlay, book, received),
        output=contact_format(book, desk.settings, answered=mail.own_answers(job, job.unit.who)),
        parse=read_actions,
        default=Reading(speech="", found=()),
        length="medium",
        tools=True,
        create_people=False,
    )


def _values(job: Job, desk: Desk, overlay: Overlay, book: Book, received: Sequence[Message]) -> dict[str, Any]:
    """What the prompt shows: mail, people, places, what stands open, and the limits of the round."""
    name, settings, count = job.unit.who, desk.settings, desk.count
    sizes, stage = lengths(settings), settings.budgets.stage
    new = fit_lines([message_line(desk, message) for message in received], int(stage * _RECEIVED), count)
    left = int(stage * _MESSAGES) - sum(count(line) for line in new)
    places = [{"name": place.name, "size": place.size} for place in desk.world.locations]
    cards = job.needed[directory(job.unit, desk.clock)]["cards"]
    answered = mail.own_answers(job, name)
    return {
        "round": job.unit.index,
        "rounds": desk.clock.n_contact,
        "received": new,
        "history": fit_lines(contact_history(desk, job.states[name], job.unit), left, count, keep="last"),
        "people": people_lines(desk, overlay.state(name), cards, book.known),
        "places": places[:_SHORT_PLACES] if settings.prompts.profile == "short" else places,
        "home": overlay.state(name).home.name,
        "invitations": fit_lines(_invitation_lines(job, desk, book), int(stage * _INVITATIONS), count),
        "proposals": fit_lines(_own_lines(job, desk, book), int(stage * _OWN), count, keep="last"),
        "due": any((one.proposer, one.activity) not in answered for one in book.invitations),
        "first_day": str(book.window[0]),
        "last_day": str(book.window[-1]),
        "most": sizes.actions,
        "chars": sizes.thoughts,
    }


def _invitation_lines(job: Job, desk: Desk, book: Book) -> list[str]:
    """Open invitations, those that wait for an answer first, and the answers given so far."""
    answers = mail.own_answers(job, book.me)
    short = desk.settings.prompts.profile == "short"
    due_first = sorted(book.invitations, key=lambda one: (one.proposer, one.activity) in answers)
    return [
        desk.render.render(
            "parts/open_invitation.j2",
            {
                "one": {**msgspec.structs.asdict(one), "slot": str(one.slot)},
                "answer": answers.get((one.proposer, one.activity), ""),
                "short": short,
            },
        )
        for one in due_first
    ]


def _own_lines(job: Job, desk: Desk, book: Book) -> list[str]:
    """What the agent proposed and who answered what."""
    answers = mail.answers_to(job, book.me)
    return [
        desk.render.render("parts/own_proposal.j2", {"one": plan, "answers": answers.get(plan.activity, {})})
        for plan in book.own
        if plan.standing
    ]


@dataclass(slots=True, kw_only=True)
class Outbox:
    """What one round of one agent sends."""

    unit: UnitKey
    messages: dict[str, list[Message]] = field(default_factory=dict)
    proposals: list[Proposal] = field(default_factory=list)
    responses: list[dict[str, Any]] = field(default_factory=list)
    cancellations: list[Cancellation] = field(default_factory=list)

    def send(
        self, people: Sequence[str], text_for: Callable[[str], str], kind: Kind, activity: str = ""
    ) -> tuple[Message, Sequence[str]]:
        """Put what each may read into everybody's box; returns the sender's own copy, and who got one."""
        unit = self.unit
        common = {"year": unit.year, "week": unit.week, "round": unit.index, "sender": unit.who}
        for to in people:
            message = Message(**common, to=to, text=text_for(to), kind=kind, activity=activity)
            self.messages.setdefault(to, []).append(message)
        own = Message(**common, to=", ".join(people), text=text_for(unit.who), kind=kind, activity=activity)
        return own, people

    def outputs(self) -> dict[str, Any]:
        """The unit's outputs."""
        return {
            "for": msgspec.to_builtins({name: self.messages[name] for name in sorted(self.messages)}),
            "wrote_to": sorted(self.messages),
            "proposals": msgspec.to_builtins(self.proposals),
            "responses": self.responses,
            "cancellations": msgspec.to_builtins(self.cancellations),
        }


def act(desk: Desk, overlay: Overlay, book: Book, answer: Answer[Reading], outbox: Outbox) -> None:
    """Carry out the legal actions; tell of the others and keep such an answer out of training."""
    name, found = book.me, answer.value.found
    limit = desk.settings.limits.actions_per_round
    read = [readable(one, book) for one in found]
    results = check_actions(read, book, limit=limit)
    for original, result in zip(found, results, strict=True):
        if isinstance(result, Objection):
            overlay.cause(name, Refused(text=explain(desk, original, result)))
            overlay.drop(answer.key, drop_reason(result))
        else:
            _remember(overlay, name, *_carry_out(desk, book, result, outbox))
    thoughts = " ".join(answer.value.speech.split())[:_NOTED_CHARS]
    if thoughts:
        overlay.cause(
            name, Noted(note=Note(year=outbox.unit.year, week=outbox.unit.week, kind="contact", text=thoughts))
        )


def readable(found: Found, book: Book) -> ContactAction | Objection:
    """The action without what its receivers must not read."""
    action = cast(ContactAction | Objection, read_action(found, CONTACT_KINDS))
    if isinstance(action, Objection):
        return action
    return open_words(action, book, before=found.before, after=found.after)


def _remember(overlay: Overlay, name: str, own: Message, people: Sequence[str]) -> None:
    """The sender keeps one copy of what it sent, whoever got it, and has been in contact with all of them."""
    overlay.cause(name, Heard(message=own))
    overlay.cause(name, *(Met(name=person) for person in people))


def _carry_out(desk: Desk, book: Book, action: ContactAction, outbox: Outbox) -> tuple[Message, Sequence[str]]:
    """One legal action's effect on the outbox; returns the sender's copy of what was sent, and to whom."""
    limit = desk.settings.answers.text_chars

    def words(reader: str) -> str:
        # Cut last: a tag that is cut off hides nothing any more.
        own = reader == book.me
        return (action.message if own else words_for(action.message, [reader], [reader]))[:limit]

    match action:
        case Contact():
            return outbox.send([action.to], words, "message")
        case Propose():
            proposal = _proposal(action, outbox.unit, limit)
            outbox.proposals.append(proposal)
            values = {"slot": str(proposal.slot), "location": proposal.location, "description": proposal.description}

            def invitation(reader: str) -> str:
                return desk.render.render("parts/invitation.j2", {**values, "message": words(reader)})

            return outbox.send(action.invited, invitation, "invitation", action.activity)
        case Respond():
            answer = {"activity": action.activity, "proposer": action.to, "from": book.me, "decision": action.decision}
            outbox.responses.append({**answer, "round": outbox.unit.index})

            def response(reader: str) -> str:
                return desk.render.render("parts/answer.j2", {"decision": action.decision, "message": words(reader)})

            return outbox.send([action.to], response, "response", action.activity)
        case Cancel():
            cancellation = Cancellation(activity=action.activity, proposer=book.me, round=outbox.unit.index)
            outbox.cancellations.append(cancellation)
            return outbox.send(_invited_to(action.activity, book, outbox), words, "cancellation", action.activity)


def _proposal(action: Propose, unit: UnitKey, limit: int) -> Proposal:
    """The proposal that a legal action makes."""
    slot = parse_slot(action.time)
    assert isinstance(slot, Slot)
    return Proposal(
        activity=action.activity,
        proposer=unit.who,
        slot=slot,
        location=action.location,
        description=" ".join(action.proposal.split())[:limit],
        invited=action.invited,
        required=action.required,
        round=unit.index,
    )


def _invited_to(activity: str, book: Book, outbox: Outbox) -> tuple[str, ...]:
    """Who must hear that an activity is off: those invited earlier, or in this very round."""
    invited: Mapping[str, tuple[str, ...]] = {
        **{plan.activity: plan.invited for plan in book.own if plan.standing},
        **{proposal.activity: proposal.invited for proposal in outbox.proposals},
    }
    return invited[activity]


def successors(unit: UnitKey, board: Board) -> tuple[UnitKey, ...]:
    """The next round, if there is one; the agenda is announced by the resolution."""
    return (own(unit, "contact", index=unit.index + 1),) if unit.index < board.clock.n_contact else ()


STAGE = Stage(name="contact", position=6, participants=oneself, needs=needs, run=run, successors=successors)
