"""Every template of the context renders, for a rich and for a poor context, in each language, with its values in it."""

from typing import get_args

import pytest

from sim.context.memory_files import Code, FileResult
from sim.context.render import Renderer, languages
from sim.context.view import place_view, self_view
from sim.core.agent import TALENTS, TRAITS, AgentState
from sim.core.keys import UnitKey
from tests.builders import a_clock, a_home, a_place, an_agent
from tests.context.desks import a_desk, a_full_agent, a_world

LANGUAGES = languages()
PLAN = UnitKey(year=1, week=1, stage="plan", who="Ann")
CODES = get_args(Code)


def me_text(language: str, state: AgentState, *, short: bool) -> str:
    desk = a_desk(world=a_world(language=language))
    return desk.render.render("parts/me.j2", {"me": self_view(desk, state, PLAN), "short": short})


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("short", [True, False])
def test_oneself_rich_and_poor(language, short):
    rich = me_text(language, a_full_agent("Ann", word="teapot"), short=short)
    assert "Ann" in rich
    assert "teapot" in rich
    poor = me_text(language, an_agent("Ann", position=None, skills={}, files={}, deposit=0), short=short)
    assert "Ann" in poor
    assert len(poor) < len(rich)
    assert "\n\n\n" not in rich + poor


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize("template", ["head.j2", "environment_head.j2"])
def test_heads(language, short, tools, template):
    desk = a_desk(world=a_world(language=language))
    values = {
        "world": a_world(language=language, content_policy="POLICY"),
        "worldview": "VIEW",
        "rules": "RULES",
        "short": short,
        "tools": tools,
        "clock": a_clock(n_week=9),
        "settings": desk.settings,
    }
    text = desk.render.render(template, values)
    assert all(word in text for word in ("VIEW", "RULES", "POLICY"))
    assert ("<tool_call>" in text) == (tools and template == "head.j2")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_sixteen_principles_are_sixteen(language):
    lines = Renderer(language).render("parts/principles.j2", {}).splitlines()
    assert [line.split(".")[0] for line in lines] == [str(number) for number in range(1, 17)]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("short", [True, False])
def test_a_profile_with_all_or_only_what_must_be(language, short):
    prose = ("appearance", "details", "conflicts", "motivation", "values", "preferences")
    values = {
        "name": "Ann",
        "gender": "GENDER",
        "birthday": "Y1990-W1-activity-D1",
        "traits": {name: 11 + n for n, name in enumerate(TRAITS)},
        "talents": {name: 71 + n for n, name in enumerate(TALENTS)},
        "short": short,
    }
    text = Renderer(language).render("profile.j2", {**values, **{name: name.upper() for name in prose}})
    assert all(name.upper() in text for name in prose)
    assert ("20" in text and "79" in text) == (not short)
    bare = Renderer(language).render("profile.j2", {**values, **dict.fromkeys(prose, "")})
    assert "GENDER" in bare


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("template", ["memory.j2", "diaries.j2", "parts/people.j2"])
def test_lists_say_so_when_they_are_empty(language, template):
    renderer = Renderer(language)
    note = {"time": "Y1-W1", "kind": "diary", "text": "LINE"}
    full = renderer.render(template, {"lines": ["LINE"], "notes": [note], "people": ["LINE"]})
    empty = renderer.render(template, {"lines": [], "notes": [], "people": []})
    assert "LINE" in full
    assert len(empty.splitlines()) == len(full.splitlines())


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("place", [a_place(), a_home("Ann")])
@pytest.mark.parametrize("short", [True, False])
def test_a_place_with_its_objects(language, place, short):
    text = Renderer(language).render("parts/place.j2", {"place": place_view(place), "short": short})
    assert all(thing in text for thing in (place.name, place.description, *place.objects))


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_result_of_a_memory_function_has_a_sentence_of_its_own(language):
    texts = set()
    for code in CODES:
        known = FileResult(code=code, path="others/x.txt", text="T", names=("N",), size=70, limit=50)
        fields = ("code", "path", "text", "paths", "names", "size", "limit")
        result = {name: getattr(known, name) for name in fields}
        values = {"results": [{"function": "f", **result}], "too_many": 0, "most": 6}
        texts.add(Renderer(language).render("tools/results.j2", values))
    assert len(texts) == len(CODES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_limit_is_named_where_it_is_passed(language):
    result = {"function": "f", "path": "p", "code": "too_long", "size": 70, "limit": 50, "names": (), "paths": ()}
    text = Renderer(language).render("tools/results.j2", {"results": [result], "too_many": 0, "most": 6})
    assert "70" in text
    assert "50" in text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", ["malformed", "invalid", "truncated", "empty", "unanswered"])
def test_each_refusal_has_its_feedback(language, kind):
    refusal = {"text": "DETAIL", "code": "syntax" if kind == "malformed" else "", "detail": "DETAIL"}
    text = Renderer(language).render(f"feedback/{kind}.j2", refusal)
    assert ("DETAIL" in text) == (kind in ("malformed", "invalid"))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("template", ["fold_year.j2", "fold_life.j2", "compaction.j2"])
def test_retellings_show_what_is_to_be_retold(language, template):
    entries = [
        {"time": "Y1-W2", "kind": kind, "text": f"TEXT of {kind}"} for kind in ("life_summary", "year_summary", "diary")
    ]
    text = Renderer(language).render(template, {"entries": entries, "words": 150, "reasoning": "TEXT of diary"})
    assert "TEXT of diary" in text
    assert ("150" in text) == (template != "compaction.j2")
