"""What spending and work are worth: material fulfilment by price, offers an agent can pay, earnings by skill tier.

SPEC section 5, Solo. Offers and prices come from the world's price list; a model only chooses among them.
"""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from sim.core.keys import normal_form
from sim.core.limits import number_of

Tier = Literal["low", "medium", "high"]

EARNINGS: Mapping[Tier, tuple[int, int]] = {"low": (40, 80), "medium": (80, 120), "high": (120, 200)}
"""Least and most that a day of work earns, by tier of the skill it needs."""
MEDIUM_SKILL, HIGH_SKILL = 30.0, 100.0
"""Levels from which a skill earns as medium and high: some experience, proficient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Something to be bought at a fixed price; `keeps`: a thing one owns afterwards, not a service or a meal."""

    name: str
    price: int
    keeps: bool = True


def material_gain(spent: float) -> float:
    """Material fulfilment of one activity's spending: +1 per 20 up to 100, then +1 per 40 up to 300, then nothing."""
    cheap, dear = min(max(0.0, spent), 100.0), min(max(0.0, spent - 100.0), 200.0)
    return round(cheap / 20 + dear / 40, 6)


def earnings_tier(level: float) -> Tier:
    """The tier in which a skill of this level earns."""
    if level >= HIGH_SKILL:
        return "high"
    return "medium" if level >= MEDIUM_SKILL else "low"


def earned(proposed: object, level: float) -> int:
    """A day's work income: what was proposed, inside the range of the skill's tier; its lowest if that is no number."""
    low, high = EARNINGS[earnings_tier(level)]
    number = number_of(proposed)
    return low if number is None else int(min(high, max(low, number)))


def affordable(offers: Iterable[Offer], deposit: int, *, max_price: int, at_most: int) -> tuple[Offer, ...]:
    """The first offers, one per name, that the deposit can pay; what it can't pay is not offered."""
    by_name: dict[str, Offer] = {}
    for offer in offers:
        if 0 <= offer.price <= min(deposit, max_price) and len(by_name) < at_most:
            by_name.setdefault(offer.name, offer)
    return tuple(by_name.values())


def nearest_offers(offers: Iterable[Offer], text: str, rng: random.Random, *, at_most: int) -> tuple[Offer, ...]:
    """The offers whose names have most in common with a text (pairs of letters, any language), then any by chance."""
    letters = "".join(normal_form(text).split())
    pairs = {letters[place : place + 2] for place in range(len(letters) - 1)}

    def likeness(offer: Offer) -> int:
        name = "".join(normal_form(offer.name).split())
        return sum(name[place : place + 2] in pairs for place in range(len(name) - 1))

    shuffled = list(offers)
    rng.shuffle(shuffled)
    return tuple(sorted(shuffled, key=likeness, reverse=True)[:at_most])
