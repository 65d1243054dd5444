"""Material fulfilment, earnings and offers: worked numbers and what never happens."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.spending import EARNINGS, Offer, affordable, earned, earnings_tier, material_gain, nearest_offers

NUMBERS = st.integers() | st.floats() | st.none() | st.text(max_size=3) | st.booleans()


@pytest.mark.parametrize(
    ("spent", "gain"),
    [(0, 0), (20, 1), (30, 1.5), (60, 3), (100, 5), (140, 6), (200, 7.5), (300, 10), (301, 10), (15000, 10), (-50, 0)],
)
def test_material_gain_worked_numbers(spent: int, gain: float) -> None:
    assert material_gain(spent) == gain


@given(st.integers(0, 20000), st.integers(0, 20000))
def test_material_gain_grows_and_stays_in_range(first: int, more: int) -> None:
    assert 0 <= material_gain(first) <= material_gain(first + more) <= 10


@pytest.mark.parametrize(
    ("level", "tier"), [(0, "low"), (29.9, "low"), (30, "medium"), (99, "medium"), (100, "high"), (900, "high")]
)
def test_tiers(level: float, tier: str) -> None:
    assert earnings_tier(level) == tier


@pytest.mark.parametrize(
    ("proposed", "level", "income"),
    [(60, 0, 60), (10**12, 0, 80), (-5, 0, 40), (None, 50, 80), ("200", 150, 120), (150, 150, 150), (500, 150, 200)],
)
def test_earned_worked_numbers(proposed: object, level: float, income: int) -> None:
    assert earned(proposed, level) == income


@given(NUMBERS, st.floats(0, 1e6))
def test_earned_stays_in_its_tier(proposed: object, level: float) -> None:
    low, high = EARNINGS[earnings_tier(level)]
    assert low <= earned(proposed, level) <= high


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 300)), max_size=12), st.integers(0, 300))
def test_only_what_can_be_paid_is_offered(items: list[tuple[str, int]], deposit: int) -> None:
    offers = [Offer(name=name, price=price) for name, price in items]
    shown = affordable(offers, deposit, max_price=200, at_most=4)
    assert len(shown) <= 4
    assert all(offer.price <= min(deposit, 200) and offer in offers for offer in shown)
    assert len({offer.name for offer in shown}) == len(shown)
    payable = {offer.name for offer in offers if offer.price <= min(deposit, 200)}
    assert len(shown) == min(4, len(payable))


def test_what_was_meant_comes_first() -> None:
    offers = [Offer(name=name, price=5) for name in ("winter coat", "cinema ticket", "冬天的大衣", "houseplant")]
    first = nearest_offers(offers, "I go out to buy a warm coat for the winter.", random.Random(1), at_most=2)
    assert first[0].name == "winter coat"
    assert len(first) == 2
    assert nearest_offers(offers, "想买一件大衣", random.Random(1), at_most=1)[0].name == "冬天的大衣"
    assert nearest_offers(offers, "?", random.Random(3), at_most=4) == nearest_offers(
        offers, "?", random.Random(3), at_most=4
    )
