"""The words of each language that cases of templates are made of."""

from dataclasses import dataclass
from typing import Any

Values = dict[str, Any]
PROSE = ("appearance", "details", "conflicts", "motivation", "values", "preferences")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tongue:
    """The words of one language that cases are made of."""

    language: str
    ann: str
    ben: str
    place: str
    event: str
    thing: str
    skill: str
    job: str
    group: str
    gender: str
    money: str
    line: str


TONGUES = {
    "en": Tongue(
        language="en", ann="Ann Lee", ben="Ben Roe", place="Courtyard", event="Chess night", thing="teapot",
        skill="baking", job="Baker", group="Bakery", gender="woman", money="dollars", line="They talked until dark.",
    ),
    "zh": Tongue(
        language="zh", ann="林晓", ben="陈默", place="天井", event="棋会", thing="茶壶",
        skill="烘焙", job="面包师", group="面包房", gender="女", money="元", line="他们一直聊到天黑。",
    ),
}  # fmt: skip


def place(t: Tongue, size: str = "small") -> Values:
    return {"name": t.place, "size": size, "description": t.line, "objects": [t.thing, t.thing]}
