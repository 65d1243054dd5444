"""Values for the templates of the environment's duties, as in template_cases.py."""

from sim.core.agent import TALENTS, TRAITS
from sim.environment.forms import limit_values
from tests.context.tongues import PROSE, Tongue, Values, place


def _person(t: Tongue) -> Values:
    """The subject of a question to the environment."""
    return {
        "name": t.ann, "age": 30, "position": f"{t.group}/{t.job}", "vitality": 70, "mood": 50,
        "skill_levels": [f"{t.skill} 30"], "motivation": t.line,
    }  # fmt: skip


def _stranger(t: Tongue) -> Values:
    return {**_person(t), "position": "", "skill_levels": [], "motivation": ""}


def environment_cases(t: Tongue) -> dict[str, list[Values]]:
    person, stranger = _person(t), _stranger(t)
    two = [{"name": t.ann, "age": 30, "position": f"{t.group}/{t.job}"}, {"name": t.ben, "age": "", "position": ""}]
    scene = {"activity": {"name": t.event, "description": t.line}, "place": place(t), "participants": two}
    bare = {"activity": {"name": "", "description": ""}, "place": None, "participants": two}
    limits, rest = limit_values("joint"), limit_values("rest")
    earns = {"least_earned": 40, "most_earned": 200, "chars": 500}
    goods = {"goods": [f"{t.thing}: 20"], "most_offers": 4, "currency": t.money}
    texts = dict.fromkeys(PROSE, t.line)
    numbers = {"traits": dict.fromkeys(TRAITS, 50), "talents": dict.fromkeys(TALENTS, 50)}
    check = {
        "persona": {"details": t.line, "conflicts": t.line, "motivation": t.line, "values": ""}, **numbers,
        "deposit": 120, "currency": t.money, "possessions": [f"{t.thing} (20)"], "response": t.line,
        "content_policy": t.line, "reason_chars": 160, "lines": [t.line],
    }  # fmt: skip
    change = {"name": t.ann, **numbers, "prose": texts, "most_changes": 8, "trait_limit": 3, "talent_limit": 5}
    change |= {"most_texts": 3, "fields": list(PROSE), "chars": 2000, "notes": [t.line]}
    judged = [{"kind": kind, "feasible": kind == "rest", "note": t.line} for kind in ("rest", "work", "practice")]
    judged += [{"kind": kind, "feasible": True, "note": ""} for kind in ("spend", "leisure")]
    event = {"event": {"name": t.event, "description": t.line}, "lines": [t.line], "chars": 500, **limits}
    ranked = {
        "position": {"key": f"{t.group}/{t.job}", "weekly_income": 300, "weekly_skill_gain": {t.skill: 2},
                     "requirements": {"skills": {t.skill: 20}}},
        "places": 1, "candidates": [t.ann, t.ben],
    }  # fmt: skip
    nothing_asked = {**ranked["position"], "weekly_skill_gain": {}, "requirements": {"skills": {}}}
    home = {"name": t.ann, "details": t.line, "chars": 600, "fewest": 4, "most": 6}
    return {
        "environment/candidate.j2": [
            {"name": t.ann, "age": 30, "position": f"{t.group}/{t.job}", "skills": [f"{t.skill} 30"]},
            {"name": t.ann, "age": 30, "position": "", "skills": []},
        ],
        "environment/direction.j2": [
            {**scene, "lines": [t.line], "present": [t.ann, t.ben], "chars": 500, "may_end": True},
            {**bare, "lines": [], "present": [t.ann], "chars": 120, "may_end": False},
        ],
        "environment/encounter_scene.j2": [
            {**scene, "appearances": [t.line], "acquainted": True, "chars": 700, "places": [place(t), place(t)]},
            {**bare, "appearances": [t.line], "acquainted": False, "chars": 160, "places": []},
        ],
        "environment/feedback.j2": [
            {**scene, **limits, **person, "lines": [t.line] * 3, "left": True, "chars": 700},
            {**bare, **limits, **stranger, "lines": [t.line], "left": False, "chars": 100},
        ],
        "environment/public_feedback.j2": [
            {**event, **person, "place": place(t)}, {**event, **stranger, "place": None},
        ],
        "environment/home.j2": [{**home, "position": f"{t.group}/{t.job}"}, {**home, "position": ""}],
        "environment/openings.j2": _openings(t),
        "environment/parts/changes.j2": [limits, rest],
        "environment/parts/occasion.j2": [scene, bare],
        "environment/parts/person.j2": [person, stranger],
        "environment/plain_feedback.j2": [{"name": t.ann}],
        "environment/plain_home.j2": [{"name": t.ann}],
        "environment/plain_scene.j2": [scene, bare],
        "environment/principles.j2": [
            {**scene, **person, **check},
            {**bare, **stranger, **check, "possessions": [], "content_policy": "", "lines": []},
        ],
        "environment/profile_update.j2": [change, {**change, "most_texts": 0, "fields": [], "notes": []}],
        "environment/ranking.j2": [ranked, {**ranked, "position": nothing_asked}],
        "environment/solo_day.j2": [
            {**person, **rest, **earns, "intention": t.line, "bought": t.thing},
            {**stranger, **rest, **earns, "intention": t.line, "bought": ""},
        ],
        "environment/solo_judgement.j2": [
            {**person, **goods, "intention": t.line, "chars": 300},
            {**stranger, **goods, "goods": [], "intention": t.line, "chars": 300},
        ],
        "environment/solo_outcome.j2": [
            {**person, **rest, **earns, "intention": t.line, "judgement": one, "works": one["kind"] == "work",
             "bought": t.thing if one["kind"] == "spend" else ""}
            for one in judged
        ],
    }  # fmt: skip


def _openings(t: Tongue) -> list[Values]:
    rich = {
        "n": 2, "n_agents": 8, "per_position": 3, "new_places": 2, "rise": 50, "max_income": 500, "currency": t.money,
        "present": [f"{t.group}/{t.job}"], "skills": [{"name": t.skill, "level": 30}],
    }  # fmt: skip
    kinds = [{"brief": brief, "growth": growth} for brief in (False, True) for growth in (False, True)]
    return [*({**rich, **kind} for kind in kinds), {**rich, **kinds[0], "n": 1, "present": [], "skills": []}]
