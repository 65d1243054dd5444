"""Actions of the scripted model that no rule allows, on request: well meant, but of nobody, nowhere, never or nothing.

What exists is read from the schemas of the answer's tags, so that every refusal of an action can be provoked.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from sim.llm.protocol import OutputFormat

Fields = Mapping[str, Any]


class Misplaced(msgspec.Struct, frozen=True, kw_only=True):
    """An action outside any tag, or inside a thought."""

    fields: Fields
    thought: bool = False


Offence = Sequence[Fields | str | Misplaced]
"""What is written in one offence, one after the other, each in a tag unless misplaced; a text is no JSON."""

_NOBODY = "Nobody of this name"
_NOTHING = "no such thing"
_NEVER = "Y9999-W1-activity-D1"
_ONE_ROUND = 12
"""Actions that are more than a round allows with the shipped settings."""
_MOST = 3


def offend(output: OutputFormat, rng: random.Random, *, who: str, prose: str) -> str:
    """An answer with some forbidden actions of agent `who`; "" where the answer's form knows no actions."""
    seen = _Seen(output)
    if not seen.kinds:
        return ""
    offences = _in_contact(seen, rng, who) if "contact" in seen.kinds else _in_an_activity(seen, who)
    chosen = rng.sample(offences, min(len(offences), rng.randint(1, _MOST)))
    # Only an answer whose actions are all in thoughts is refused for it.
    chosen = [offence for offence in chosen if _is_thought(offence[0])][:1] or chosen
    tag = output.tags[0].name
    return "\n".join([prose, *(_written(body, tag) for offence in chosen for body in offence)])


def _is_thought(body: Fields | str | Misplaced) -> bool:
    return isinstance(body, Misplaced) and body.thought


def _written(body: Fields | str | Misplaced, tag: str) -> str:
    """One action as it stands in the answer."""
    fields = body.fields if isinstance(body, Misplaced) else body
    text = fields if isinstance(fields, str) else msgspec.json.encode(fields).decode()
    tagged = f"<{tag}>{text}</{tag}>"
    if isinstance(body, Misplaced):
        return f"<think>{tagged}</think>" if body.thought else text
    return tagged


class _Seen:
    """What the schemas of an answer's tags list: kinds of action, people, places, days, activities, possessions."""

    def __init__(self, output: OutputFormat) -> None:
        self._values: dict[str, list[str]] = {}
        self._kind_values: dict[tuple[str, str], list[str]] = {}
        for shape in (shape for tag in output.tags for shape in _shapes(tag.schema)):
            self._take(shape)

    def _take(self, shape: Mapping[str, Any]) -> None:
        properties: Mapping[str, Mapping[str, Any]] = shape.get("properties", {})
        kind = next(iter(properties.get("action", {}).get("enum", ())), "")
        for name, schema in properties.items():
            listed = schema.get("enum") or schema.get("items", {}).get("enum", ())
            self._values.setdefault(name, []).extend(listed)
            self._kind_values.setdefault((kind, name), []).extend(listed)

    @property
    def kinds(self) -> list[str]:
        """Actions that the form knows."""
        return self._values.get("action", [])

    def of(self, kind: str, name: str) -> list[str]:
        """Values that one kind of action may have in one field."""
        return self._kind_values.get((kind, name), [])


def _shapes(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schema of each kind of action that a tag may hold."""
    options: Sequence[Mapping[str, Any]] = schema.get("anyOf") or schema.get("oneOf") or (schema,)
    yield from options


def _in_contact(seen: _Seen, rng: random.Random, who: str) -> list[Offence]:
    """What may go wrong in a round of messages."""
    person = rng.choice(seen.of("contact", "to") or [_NOBODY])
    proposal: dict[str, Any] = {
        "action": "propose_joint_activity",
        "activity_name": f"walk {rng.randint(100, 999)}",
        "proposal": "A walk.",
        "invited_persons": [person],
        "time": rng.choice(seen.of("propose_joint_activity", "time") or [_NEVER]),
        "location": rng.choice(seen.of("propose_joint_activity", "location") or [_NOTHING]),
        "message": "Come along.",
    }
    contact = {"action": "contact", "to": person, "message": "Hello."}
    answer = {"action": "respond_invitation", "activity_name": _NOTHING, "to": person, "decision": "yes"}
    return [
        [{**contact, "to": _NOBODY}],
        [{**contact, "to": who}],
        [{"action": "contact", "to": person}],
        [{"message": "Hello."}],
        [{**contact, "action": "dance"}],
        ["walk with me"],
        [Misplaced(fields=contact)],
        [Misplaced(fields=contact, thought=True)],
        [{**contact, "message": "<private>Hello.</private>"}],
        [contact] * _ONE_ROUND,
        [{**proposal, "invited_persons": [who]}],
        [{**proposal, "activity_name": "walk " * 30}],
        [proposal, proposal],
        [{**proposal, "time": "some evening"}],
        [{**proposal, "time": _NEVER}],
        [{**proposal, "location": f"home/{person}"}],
        [{**proposal, "location": _NOTHING}],
        [answer],
        [{**answer, "decision": "perhaps"}],
        [{"action": "cancel_joint_activity", "activity_name": _NOTHING, "message": "Sorry."}],
    ]


def _in_an_activity(seen: _Seen, who: str) -> list[Offence]:
    """What may go wrong in a turn of an activity."""
    owned = seen.of("gift", "item")[:1]
    given = {"action": "gift", "item": owned[0] if owned else _NOTHING, "to": _NOBODY}
    leaving = {"action": "exit_activity"}
    return [
        [{**given, "item": _NOTHING}],
        [{"action": "gift", "to": _NOBODY}],
        [{"action": "dance"}],
        ["walk with me"],
        [{**given, "to": who}],
        [given, given, given],
        [leaving, given],
        [Misplaced(fields=leaving)],
        [Misplaced(fields=leaving, thought=True)],
    ]
