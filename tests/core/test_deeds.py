"""Gifts go from who owns to who is there, once; who has left does nothing more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.deeds import ExitActivity, Gift, check_deeds
from sim.core.invitations import Objection

OWNED = ("blue teapot", "Notebook", "Notebook")
OTHERS = ("Ben Okri", "林和平")


def checked(*deeds: Gift | ExitActivity | Objection, limit: int = 5, owned: tuple[str, ...] = OWNED):
    return check_deeds(deeds, me="Ann Lee", owned=owned, others=OTHERS, limit=limit)


def gift(item: str, to: str) -> Gift:
    return Gift(item=item, to=to)


def test_names_come_back_in_their_exact_form() -> None:
    assert checked(gift("Blue Teapot", "dr. ben okri"), gift("notebook", "林和平同学")) == (
        gift("blue teapot", "Ben Okri"),
        gift("Notebook", "林和平"),
    )


@pytest.mark.parametrize(
    ("deed", "code", "nearest"),
    [
        (gift("piano", "Ben Okri"), "not_owned", "blue teapot"),
        (gift("teapot", "Ben Okri"), "not_owned", "blue teapot"),
        (gift("blue teapot", "Ben"), "not_present", "Ben Okri"),
        (gift("blue teapot", "Dora"), "not_present", "Ben Okri"),
        (gift("blue teapot", "ann lee"), "oneself", None),
    ],
)
def test_what_is_not_possible_is_refused(deed: Gift, code: str, nearest: str | None) -> None:
    (objection,) = checked(deed)
    assert isinstance(objection, Objection)
    assert objection.code == code
    assert nearest is None or nearest in objection.nearest


def test_a_thing_is_given_once_for_each_that_is_owned() -> None:
    results = checked(
        *[gift("notebook", "Ben Okri")] * 3, gift("Blue teapot", "Ben Okri"), gift("blue teapot", "林和平")
    )
    assert [getattr(one, "code", "done") for one in results] == ["done", "done", "not_owned", "done", "owns_nothing"]


def test_after_leaving_nothing_more_is_done() -> None:
    results = checked(ExitActivity(), ExitActivity(), gift("Notebook", "Ben Okri"), Objection(code="unreadable"))
    assert [getattr(one, "code", "done") for one in results] == ["done", "has_left", "has_left", "unreadable"]


def test_deeds_beyond_the_limit_are_refused() -> None:
    results = checked(gift("Notebook", "Ben Okri"), ExitActivity(), limit=1)
    assert [getattr(one, "code", "done") for one in results] == ["done", "too_many_actions"]


_GIFTS = st.builds(Gift, to=st.sampled_from((*OTHERS, "Ann Lee", "X")), item=st.sampled_from((*OWNED, "X")))


@given(st.lists(_GIFTS | st.builds(ExitActivity), max_size=8))
def test_nobody_gives_more_than_is_owned(deeds: list[Gift | ExitActivity]) -> None:
    results = checked(*deeds, limit=9)
    assert len(results) == len(deeds)
    given_away = [one.item for one in results if isinstance(one, Gift)]
    assert all(given_away.count(item) <= OWNED.count(item) for item in given_away)
    assert all(one.to in OTHERS for one in results if isinstance(one, Gift))
    assert sum(isinstance(one, ExitActivity) for one in results) <= 1
