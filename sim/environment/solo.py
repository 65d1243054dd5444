"""A day alone, as the environment judges it: whether it is possible, what kind of thing it is, offers, outcome.

Kinds: `rest`, `work` (earns by skill tier), `practice`, `spend` (offers follow), `leisure`. Prices are the price list's
and earnings bounded by `sim.core.spending`, whatever is said here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sim.context.view import labelled
from sim.core.limits import LIMITS, ActivityKind
from sim.core.spending import EARNINGS, Offer
from sim.environment.ask import ask_environment
from sim.environment.feedback import Feedback, plain_feedback, text_chars
from sim.environment.forms import (
    NO_SKILL,
    change_properties,
    chars_for,
    closed,
    limit_values,
    proposed_changes,
    subject,
)
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay

SoloKind = Literal["rest", "work", "practice", "spend", "leisure"]
KINDS: tuple[SoloKind, ...] = ("rest", "work", "practice", "spend", "leisure")
_NOTE_CHARS = 300
_LEAST, _MOST = EARNINGS["low"][0], EARNINGS["high"][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What an intention amounts to for this person."""

    feasible: bool
    kind: SoloKind
    skill: str = ""
    """The best relevant one of the agent's skills, or ""."""
    note: str = ""
    offers: tuple[Offer, ...] = ()
    """Only where it means spending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How the day went: what is told, the proposed changes and income, and what kind of day it turned out to be."""

    feedback: Feedback
    judgement: Judgement
    earned: Any = None
    keeps: bool = True
    """What was bought is a thing to own (asked for only where it was not before)."""


_UNJUDGED = Judgement(feasible=True, kind="leisure")
"""Where the environment says nothing usable: an ordinary day on which nothing is earned or bought."""


def limits_of(judgement: Judgement) -> ActivityKind:
    """Which row of the table holds for the day."""
    return "rest" if judgement.kind == "rest" and judgement.feasible else "solo"


async def judge(desk: Desk, overlay: Overlay, *, name: str, goods: Sequence[Offer], intention: str) -> Judgement:
    """Feasibility by position, skills and age, the kind of day, and offers from the goods if it means spending."""
    chars = chars_for(desk, full=_NOTE_CHARS, short=_NOTE_CHARS)
    skills = overlay.state(name).skills
    by_name = {offer.name: offer for offer in goods}
    offer = closed({"item": {"type": "string", "enum": list(by_name)}, "keeps": {"type": "boolean"}})
    offers = {"type": "array", "maxItems": desk.settings.limits.purchase_options, "items": offer}

    def parse(value: dict[str, Any]) -> Judgement:
        chosen = {item["item"]: item["keeps"] for item in value.get("offers", ())}
        return Judgement(
            feasible=value["feasible"],
            kind=value["kind"],
            skill=value["skill"] if value["skill"] in skills else "",
            note=" ".join(value["note"].split())[:chars],
            offers=tuple(Offer(name=item, price=by_name[item].price, keeps=keeps) for item, keeps in chosen.items()),
        )

    answer = await ask_environment(
        desk,
        overlay,
        step="judge",
        duty="solo_judgement",
        template="environment/solo_judgement.j2",
        values={
            **subject(desk, overlay, name),
            "intention": intention,
            "goods": [labelled(desk, offer.name, str(offer.price)) for offer in goods],
            "most_offers": desk.settings.limits.purchase_options,
            "currency": desk.world.currency,
            "chars": chars,
        },
        schema=closed(
            {
                "note": {"type": "string", "maxLength": chars},
                **_kind_properties(skills),
                **({"offers": offers} if goods else {}),
            }
        ),
        parse=parse,
        default=_UNJUDGED,
        length="short",
    )
    return answer.value


async def live_out(
    desk: Desk, overlay: Overlay, *, name: str, judgement: Judgement, intention: str, bought: Offer | None
) -> Outcome:
    """How a judged day went."""
    kind = limits_of(judgement)
    chars = text_chars(desk)
    works = judgement.kind == "work" and judgement.feasible
    skills = overlay.state(name).skills

    def parse(value: dict[str, Any]) -> Outcome:
        return Outcome(feedback=_feedback(desk, name, value, chars), judgement=judgement, earned=value.get("earned"))

    answer = await ask_environment(
        desk,
        overlay,
        step="outcome",
        duty="solo_outcome",
        template="environment/solo_outcome.j2",
        values={
            **subject(desk, overlay, name),
            **limit_values(kind),
            **_earnings(works),
            "intention": intention,
            "judgement": {"feasible": judgement.feasible, "kind": judgement.kind, "note": judgement.note},
            "bought": bought.name if bought else "",
            "chars": chars,
        },
        schema=closed(
            {
                "feedback": {"type": "string", "maxLength": chars},
                **change_properties(kind, skills, short=False),
                **({"earned": {"type": "integer", "minimum": 0, "maximum": _MOST}} if works else {}),
            }
        ),
        parse=parse,
        default=lambda: Outcome(feedback=plain_feedback(desk, name), judgement=judgement),
        length="medium",
    )
    return answer.value


async def whole_day(desk: Desk, overlay: Overlay, *, name: str, intention: str, bought: Offer | None) -> Outcome:
    """Judgement and outcome in one short call, for weak models; what is bought was chosen with the intention."""
    chars = text_chars(desk)
    skills = overlay.state(name).skills
    low, high = LIMITS["solo"].vitality[0], LIMITS["rest"].vitality[1]

    def parse(value: dict[str, Any]) -> Outcome:
        judgement = Judgement(
            feasible=value["feasible"],
            kind="spend" if bought else value["kind"],
            skill=value["skill"] if value["skill"] in skills else "",
        )
        return Outcome(
            feedback=_feedback(desk, name, value, chars),
            judgement=judgement,
            earned=value["earned"],
            keeps=value.get("keeps", True),
        )

    answer = await ask_environment(
        desk,
        overlay,
        step="outcome",
        duty="solo_outcome",
        template="environment/solo_day.j2",
        values={
            **subject(desk, overlay, name),
            **limit_values("solo"),
            **_earnings(True),
            "intention": intention,
            "bought": bought.name if bought else "",
            "chars": chars,
        },
        schema=closed(
            {
                "feedback": {"type": "string", "maxLength": chars},
                **_kind_properties(skills),
                **change_properties("solo", skills, short=True),
                "vitality": {"type": "integer", "minimum": low, "maximum": high},
                "earned": {"type": "integer", "minimum": 0, "maximum": _MOST},
                **({"keeps": {"type": "boolean"}} if bought else {}),
            }
        ),
        parse=parse,
        default=lambda: Outcome(feedback=plain_feedback(desk, name), judgement=_UNJUDGED),
        length="medium",
    )
    return answer.value


def _kind_properties(skills: Mapping[str, float]) -> dict[str, Any]:
    return {
        "feasible": {"type": "boolean"},
        "kind": {"type": "string", "enum": list(KINDS)},
        "skill": {"type": "string", "enum": [*sorted(skills), NO_SKILL]},
    }


def _earnings(works: bool) -> dict[str, Any]:
    """What a prompt says of work income."""
    return {"works": works, "least_earned": _LEAST, "most_earned": _MOST}


def _feedback(desk: Desk, name: str, value: Mapping[str, Any], chars: int) -> Feedback:
    text = " ".join(value["feedback"].split())[:chars]
    return Feedback(text=text or plain_feedback(desk, name).text, proposed=proposed_changes(value))
