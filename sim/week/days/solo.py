"""A day of one's own: intention, what it amounts to, offers and choice if it means spending, outcome, reflection.

Reads the resolved week. Causes changes, income, purchases and a record. The short profile takes two calls, not four or
five: the intention comes with the choice among offers, and the environment's outcome is the record.
"""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sim.context.view import labelled, place_view
from sim.core.agent import Possession
from sim.core.facts import Changed, Got, UnitFacts
from sim.core.keys import seed_of
from sim.core.limits import LIMITS, clamped, limited
from sim.core.spending import EARNINGS, Offer, affordable, earned, material_gain, nearest_offers
from sim.engine.stage import Job, Stage
from sim.environment.forms import closed
from sim.environment.solo import Judgement, Outcome, judge, limits_of, live_out, whole_day
from sim.llm.protocol import OutputFormat
from sim.mind.desk import Desk
from sim.mind.invoke import ask_agent
from sim.mind.overlay import Overlay
from sim.week.chain import oneself
from sim.week.days.aftermath import note, reflect, slot_of, text_chars
from sim.week.days.order import POSITION, own_reviews, solo_needs
from sim.week.days.thoughts import Thoughts
from sim.week.days.transcript import Transcript

TEMPLATE = "days/solo.j2"
"""The stage prompt of all of the day's calls; what each asks for comes as the last message."""
NOTHING = "nothing"
_GOODS = 24
"""Lines of the price list that the environment may choose offers from."""
_SHOWN = 8
"""Lines of the price list that the agent sees with its intention."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What came of the day, for the unit's outputs."""

    skills_up: bool
    income: int
    bought: Offer | None


async def run(job: Job, desk: Desk) -> UnitFacts:
    """One solo day of one agent."""
    overlay, name = Overlay(job), job.unit.who
    live = _live_short if desk.settings.prompts.profile == "short" else _live_full
    day = await live(desk, overlay, name)
    return overlay.finish(
        {
            "kind": "solo",
            "participants": [name],
            "skills_up": {name: day.skills_up},
            "purchases": {name: [{"name": day.bought.name, "price": day.bought.price}] if day.bought else []},
            "earned": {name: day.income},
            "exited": [],
        }
    )


async def _live_full(desk: Desk, overlay: Overlay, name: str) -> Day:
    """Intention, judgement, offers and choice, outcome, reflection: four calls, five with offers."""
    transcript = Transcript(render=desk.render.render)
    shown = _goods(desk, overlay, name, text="", at_most=_SHOWN)
    async with asyncio.TaskGroup() as beside:
        thoughts = Thoughts(desk=desk, overlay=overlay, transcript=transcript, beside=beside)
        intention = await _intend(desk, overlay, name, shown, thoughts)
        goods = _goods(desk, overlay, name, text=intention, at_most=_GOODS)
        judgement = await judge(desk, overlay, name=name, goods=goods, intention=intention)
        bought = await _choose(desk, overlay, name, shown, judgement, thoughts) if judgement.offers else None
        if bought:
            _pay(overlay, name, bought)
            _own(desk, overlay, name, bought)
        outcome = await live_out(desk, overlay, name=name, judgement=judgement, intention=intention, bought=bought)
    day = _settle(overlay, name, outcome, bought)
    await reflect(
        desk,
        overlay,
        name,
        template=TEMPLATE,
        values=_stage_values(desk, overlay, name, shown),
        feedback=outcome.feedback.text,
        record=_record(day),
        history=transcript.history_for(name),
    )
    return day


async def _live_short(desk: Desk, overlay: Overlay, name: str) -> Day:
    """Intention with a choice among offers, then one judgement of all: two calls."""
    transcript = Transcript(render=desk.render.render)
    offers = _goods(desk, overlay, name, text="", at_most=desk.settings.limits.purchase_options)
    options = {offer.name: offer for offer in offers}
    chars = text_chars(desk)

    def parse(value: dict[str, Any]) -> tuple[str, Offer | None]:
        intention = " ".join(value["intention"].split())[:chars]
        return intention or _plain_intention(desk), options.get(value.get("buy", NOTHING))

    transcript.ask(name, desk.render.render("days/intend.j2", {"short": True, "chars": chars, "offers": bool(offers)}))
    buy = {"buy": {"type": "string", "enum": [NOTHING, *options]}} if options else {}
    answer = await ask_agent(
        desk,
        overlay,
        name,
        step="intention",
        template=TEMPLATE,
        values=_stage_values(desk, overlay, name, offers),
        output=OutputFormat(kind="json", schema=closed({"intention": _text(chars), **buy})),
        parse=parse,
        default=lambda: (_plain_intention(desk), None),
        length="short",
        history=transcript.history_for(name),
    )
    intention, bought = answer.value
    if bought:
        _pay(overlay, name, bought)
    outcome = await whole_day(desk, overlay, name=name, intention=intention, bought=bought)
    if bought and outcome.keeps:
        _own(desk, overlay, name, bought)
    day = _settle(overlay, name, outcome, bought)
    note(desk, overlay, name, [outcome.feedback.text], _record(day))
    return day


async def _intend(desk: Desk, overlay: Overlay, name: str, shown: Sequence[Offer], thoughts: Thoughts) -> str:
    """What the agent means to do with its day."""
    chars, transcript = text_chars(desk), thoughts.transcript
    transcript.ask(name, desk.render.render("days/intend.j2", {"short": False, "chars": chars, "offers": False}))

    def parse(value: dict[str, Any]) -> str:
        return " ".join(value["intention"].split())[:chars] or _plain_intention(desk)

    answer = await ask_agent(
        desk,
        overlay,
        name,
        step="intention",
        template=TEMPLATE,
        values=_stage_values(desk, overlay, name, shown),
        output=OutputFormat(kind="json", schema=closed({"intention": _text(chars)})),
        parse=parse,
        default=lambda: _plain_intention(desk),
        length="short",
        history=transcript.history_for(name),
    )
    transcript.think(name, answer.text or answer.value)
    thoughts.keep(name, answer, "intention")
    return answer.value


async def _choose(
    desk: Desk, overlay: Overlay, name: str, shown: Sequence[Offer], judgement: Judgement, thoughts: Thoughts
) -> Offer | None:
    """The offer that the agent takes, or none; what it can't pay is not among them."""
    settings, transcript = desk.settings, thoughts.transcript
    offers = affordable(
        judgement.offers,
        overlay.state(name).deposit,
        max_price=settings.economy.max_price,
        at_most=settings.limits.purchase_options,
    )
    if not offers:
        return None
    await thoughts.ready(name)
    options = {offer.name: offer for offer in offers}
    lines = _price_lines(desk, offers)
    transcript.ask(name, desk.render.render("days/choose.j2", {"note": judgement.note, "offers": lines}))
    answer = await ask_agent(
        desk,
        overlay,
        name,
        step="choice",
        duty="purchase",
        template=TEMPLATE,
        values=_stage_values(desk, overlay, name, shown),
        output=OutputFormat(kind="json", schema=closed({"buy": {"type": "string", "enum": [NOTHING, *options]}})),
        parse=lambda value: options.get(value["buy"]),
        default=None,
        length="short",
        history=transcript.history_for(name),
    )
    transcript.think(name, answer.text or NOTHING)
    thoughts.keep(name, answer, "choice")
    return answer.value


def _goods(desk: Desk, overlay: Overlay, name: str, *, text: str, at_most: int) -> tuple[Offer, ...]:
    """What the agent could buy: the price list within its deposit, likest to a text first, the rest by chance."""
    priced = [Offer(name=line.item, price=line.price) for line in desk.world.prices if line.price > 0]
    payable = affordable(
        priced, overlay.state(name).deposit, max_price=desk.settings.economy.max_price, at_most=len(priced)
    )
    rng = random.Random(seed_of(desk.scope, overlay.unit, "goods"))
    return nearest_offers(payable, text, rng, at_most=at_most)


def _pay(overlay: Overlay, name: str, offer: Offer) -> None:
    """Spending is a transaction: the price goes, material fulfilment comes."""
    gain = clamped(material_gain(offer.price), LIMITS["solo"].material)
    overlay.cause(name, Changed(reason="spending", money=-offer.price, material=gain))


def _own(desk: Desk, overlay: Overlay, name: str, offer: Offer) -> None:
    """A thing that was bought becomes a possession; a meal or a ticket does not."""
    if not offer.keeps:
        return
    text = desk.render.render("days/bought.j2", {"time": str(slot_of(overlay))})
    item = Possession(id=f"{overlay.unit}#1", name=offer.name, description=text, value=offer.price)
    overlay.cause(name, Got(item=item, source="bought"))


def _settle(overlay: Overlay, name: str, outcome: Outcome, bought: Offer | None) -> Day:
    """The day's changes inside the table, and what work earned by the tier of the skill it needs."""
    judgement, skills = outcome.judgement, overlay.state(name).skills
    works = judgement.kind == "work" and judgement.feasible
    income = earned(outcome.earned, skills.get(judgement.skill, 0.0)) if works else 0
    proposed = outcome.feedback.proposed if judgement.feasible else {**outcome.feedback.proposed, "skills": []}
    changed = limited(limits_of(judgement), proposed, skills, reason=judgement.kind, money=income)
    overlay.cause(name, changed)
    return Day(skills_up=bool(changed.skills), income=income, bought=bought)


def _stage_values(desk: Desk, overlay: Overlay, name: str, goods: Sequence[Offer]) -> dict[str, Any]:
    return {
        "home": place_view(overlay.state(name).home),
        "places": [location.name for location in desk.world.locations],
        "goods": _price_lines(desk, goods),
        "pay": EARNINGS,
    }


def _price_lines(desk: Desk, offers: Sequence[Offer]) -> list[str]:
    return [labelled(desk, offer.name, f"{offer.price} {desk.world.currency}") for offer in offers]


def _record(day: Day) -> dict[str, Any]:
    bought = {"name": day.bought.name, "price": day.bought.price} if day.bought else None
    return {"kind": "solo", "activity": "", "location": "", "others": [], "bought": bought, "income": day.income}


def _plain_intention(desk: Desk) -> str:
    return desk.render.render("days/plain_intention.j2", {})


def _text(chars: int) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": chars}


STAGE = Stage(name="solo", position=POSITION, participants=oneself, needs=solo_needs, run=run, successors=own_reviews)
