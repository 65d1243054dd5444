"""What spending and work are worth: material fulfilment by price, offers an agent can pay, earnings by skill tier.

SPEC section 5, Solo. Offers come from the world's price list; a model chooses among them and prices within their range.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

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
    description: str
    price: int
    keeps: bool


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


def price_within(proposed: object, low: int, high: int, *, max_price: int) -> int:
    """A proposed price inside the price list's range (its middle if it is no number), 0..max_price in any case."""
    low, high = max(0, min(low, high, max_price)), min(max(low, high, 0), max_price)
    number = number_of(proposed)
    return (low + high) // 2 if number is None else int(min(high, max(low, number)))


def affordable(offers: Iterable[Offer], deposit: int, *, at_most: int) -> tuple[Offer, ...]:
    """The first offers, one per name, that the deposit can pay; what it can't pay is not offered."""
    by_name: dict[str, Offer] = {}
    for offer in offers:
        if 0 <= offer.price <= deposit and len(by_name) < at_most:
            by_name.setdefault(offer.name, offer)
    return tuple(by_name.values())
