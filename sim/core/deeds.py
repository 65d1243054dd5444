"""What one may do during an activity besides speaking: gifts and leaving, each where it can be done (SPEC 5)."""

from collections.abc import Sequence

import msgspec

from sim.core.agent import Value
from sim.core.invitations import Objection
from sim.core.names import find_name, find_person, nearest_names


class Gift(Value, frozen=True, kw_only=True, tag=True):
    """Hand a possession to somebody present."""

    to: str
    item: str
    message: str = ""


class ExitActivity(Value, frozen=True, kw_only=True, tag=True):
    """Leave the activity before its end."""

    message: str = ""


Deed = Gift | ExitActivity


def check_deeds(
    deeds: Sequence[Deed | Objection], *, me: str, owned: Sequence[str], others: Sequence[str], limit: int
) -> tuple[Deed | Objection, ...]:
    """One turn's deeds in the order written, with their names in exact form, or what is wrong with each.

    What was given away can't be given again, and who has left does nothing more.
    """
    left, items = False, list(owned)
    results: list[Deed | Objection] = []
    for number, deed in enumerate(deeds):
        if number >= limit:
            deed = Objection(code="too_many_actions", values={"limit": str(limit)})
        elif left and not isinstance(deed, Objection):
            deed = Objection(code="has_left")
        elif isinstance(deed, Gift):
            deed = _check_gift(deed, me, items, others)
        if isinstance(deed, Gift):
            items.remove(deed.item)
        left = left or isinstance(deed, ExitActivity)
        results.append(deed)
    return tuple(results)


def _check_gift(gift: Gift, me: str, items: Sequence[str], others: Sequence[str]) -> Gift | Objection:
    """The gift of something owned to somebody else who is present."""
    if find_person(gift.to, (me,)) is not None:
        return Objection(code="oneself")
    receiver, item = find_person(gift.to, others), find_name(gift.item, items)
    if not items:
        return Objection(code="owns_nothing", values={"given": gift.item})
    if item is None:
        return Objection(code="not_owned", values={"given": gift.item}, nearest=nearest_names(gift.item, items))
    if receiver is None:
        return Objection(code="not_present", values={"given": gift.to}, nearest=nearest_names(gift.to, others, 5))
    return msgspec.structs.replace(gift, to=receiver, item=item)
