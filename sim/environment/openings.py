"""New positions and homes, as the environment proposes them. What becomes of a proposal is decided by the rules.

Weak models only name a position and the skill it is about; pay, gain and places then follow from the rules.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sim.context.budget import clip, fit_lines
from sim.core.agent import Location, Position, Requirements
from sim.core.position_supply import NAME_CHARS, NEW_PLACES, OLDEST, RISE, SKILLS_LISTED, shape_for
from sim.environment.ask import ask_environment
from sim.environment.forms import closed
from sim.llm.outcome import Refusal
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay

_TOKENS_EACH, _SHORT_TOKENS_EACH = 110, 40
"""About what the answer needs for one position."""
_SKILLS_SHOWN = 20
_PRESENT_SHARE = 0.4
_SKILL_CHARS = 40
_TOP_LEVEL = 2000
_PLAIN_GAIN = 2
_HOME_OBJECTS = (4, 6)
_HOME_CHARS, _OBJECT_CHARS = 600, 60


async def propose_positions(
    desk: Desk,
    overlay: Overlay,
    *,
    present: Sequence[Position],
    best: Mapping[str, float],
    n: int,
    growth: bool,
) -> tuple[Position, ...]:
    """Up to n drafts of positions beside the present ones; `best` is the highest level of each skill in the world.

    Asked for in as few calls as the answer's length allows, each told of those before it; fewer where a call fails.
    """
    drafts: list[Position] = []
    each = _SHORT_TOKENS_EACH if desk.settings.prompts.profile == "short" else _TOKENS_EACH
    at_once = max(1, desk.settings.answers.long // each)
    for number, first in enumerate(range(0, n, at_once), start=1):
        known = [*present, *drafts]
        wanted = min(at_once, n - first)
        drafts += await _ask(desk, overlay, number=number, present=known, best=best, n=wanted, growth=growth)
    return tuple(drafts)


async def _ask(
    desk: Desk,
    overlay: Overlay,
    *,
    number: int,
    present: Sequence[Position],
    best: Mapping[str, float],
    n: int,
    growth: bool,
) -> list[Position]:
    settings = desk.settings
    short = settings.prompts.profile == "short"
    skills = sorted(best, key=lambda name: (-best[name], name))[:_SKILLS_SHOWN]
    brief = short and bool(skills)
    item = _brief_form(skills) if brief else _full_form(desk, growth)
    income = (settings.economy.unemployed_income + settings.economy.max_salary) // 2

    def parse(value: dict[str, Any]) -> list[Position]:
        return [_brief_draft(entry, income) if brief else _full_draft(entry) for entry in value["positions"]]

    answer = await ask_environment(
        desk,
        overlay,
        step=f"openings.{number}",
        duty="openings",
        template="environment/openings.j2",
        values={
            "n": n,
            "growth": growth,
            "brief": brief,
            "present": fit_lines(
                [position.key for position in present], int(_PRESENT_SHARE * settings.budgets.stage), desk.count
            ),
            "skills": [{"name": name, "level": round(best[name])} for name in skills],
            "n_agents": len(desk.names),
            "per_position": shape_for(len(desk.names)).max_per_work_position,
            "new_places": NEW_PLACES,
            "rise": RISE,
            "max_income": settings.economy.max_salary,
            "currency": desk.world.currency,
        },
        schema=closed({"positions": {"type": "array", "items": item, "minItems": n, "maxItems": n}}),
        parse=parse,
        default=list[Position],
        length="long",
    )
    return answer.value


def _brief_form(skills: Sequence[str]) -> dict[str, Any]:
    name = {"type": "string", "minLength": 1, "maxLength": NAME_CHARS // 2}
    return closed({"organization": name, "role": name, "skill": {"type": "string", "enum": list(skills)}})


def _full_form(desk: Desk, growth: bool) -> dict[str, Any]:
    name = {"type": "string", "minLength": 1, "maxLength": NAME_CHARS}
    skill = {"type": "string", "minLength": 1, "maxLength": _SKILL_CHARS}
    places = NEW_PLACES if growth else shape_for(len(desk.names)).max_per_work_position
    age = {"type": "integer", "minimum": 0, "maximum": OLDEST}
    ages = {} if growth else {"min_age": age, "max_age": age}

    def listed(number: str, most: int, least_items: int) -> dict[str, Any]:
        entry = closed({"skill": skill, number: {"type": "integer", "minimum": 1, "maximum": most}})
        return {"type": "array", "items": entry, "minItems": least_items, "maxItems": SKILLS_LISTED}

    return closed(
        {
            "organization": name,
            "role": name,
            "type": {"type": "string", "enum": ["work", "non-work"]},
            "weekly_income": {"type": "integer", "minimum": 0, "maximum": desk.settings.economy.max_salary},
            "weekly_skill_gain": listed("points", 5, 1),
            "capacity": {"type": "integer", "minimum": 1, "maximum": places},
            "requirements": listed("level", _TOP_LEVEL, 1 if growth else 0),
            **ages,
        }
    )


def _brief_draft(entry: Mapping[str, Any], income: int) -> Position:
    return Position(
        organization=entry["organization"],
        role=entry["role"],
        type="work",
        weekly_income=income,
        weekly_skill_gain={entry["skill"]: _PLAIN_GAIN},
        capacity=1,
    )


def _full_draft(entry: Mapping[str, Any]) -> Position:
    """The draft as it was written; an age of 0 is no limit."""
    return Position(
        organization=entry["organization"],
        role=entry["role"],
        type=entry["type"],
        weekly_income=entry["weekly_income"],
        weekly_skill_gain={gain["skill"]: gain["points"] for gain in entry["weekly_skill_gain"]},
        capacity=entry["capacity"],
        requirements=Requirements(
            skills={need["skill"]: need["level"] for need in entry["requirements"]},
            min_age=entry.get("min_age") or None,
            max_age=entry.get("max_age") or None,
        ),
    )


async def make_home(desk: Desk, overlay: Overlay, name: str) -> Location:
    """A home that suits the agent: a few sentences and objects; a plain one where the answer fails."""
    state, settings = overlay.state(name), desk.settings
    fewest, most = _HOME_OBJECTS
    chars = min(_HOME_CHARS, settings.answers.text_chars)

    def home(description: str, objects: Sequence[str]) -> Location:
        return Location(name=f"home/{name}", size="home", description=description, objects=tuple(objects))

    def plain() -> Location:
        first, *rest = desk.render.render("environment/plain_home.j2", {"name": name}).splitlines()
        return home(first, rest)

    def parse(value: dict[str, Any]) -> Location | Refusal:
        things = dict.fromkeys(" ".join(thing.split()) for thing in value["objects"])
        named = [thing for thing in things if thing]
        if len(named) < fewest:
            return Refusal(kind="invalid", text=f"objects: {len(named)} < {fewest}")
        return home(" ".join(value["description"].split())[:chars], named)

    item = {"type": "string", "minLength": 1, "maxLength": _OBJECT_CHARS}
    answer = await ask_environment(
        desk,
        overlay,
        step="home",
        duty="home",
        template="environment/home.j2",
        values={
            "name": name,
            "position": state.position.key if state.position else "",
            "details": clip(state.profile.details, settings.budgets.profile // 2, desk.count),
            "chars": chars,
            "fewest": fewest,
            "most": most,
        },
        schema=closed(
            {
                "description": {"type": "string", "minLength": 1, "maxLength": chars},
                "objects": {"type": "array", "items": item, "minItems": fewest, "maxItems": most},
            }
        ),
        parse=parse,
        default=plain,
        length="medium",
    )
    return answer.value
