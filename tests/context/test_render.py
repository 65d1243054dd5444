"""Templates: strict, picklable, the same names and values in every language."""

import pickle

import jinja2
import pytest

from sim.context.render import _PROMPTS, Renderer, languages


def test_an_unknown_language_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"no prompts in 'xx'; there are en, zh"):
        Renderer("xx")


def test_a_missing_value_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        Renderer("en").render("profile.j2", {})


def test_a_renderer_travels_and_renders_the_same():
    renderer = Renderer("zh")
    copy = pickle.loads(pickle.dumps(renderer))
    values = {"text": "x", "code": "", "detail": ""}
    assert copy.render("feedback/invalid.j2", values) == renderer.render("feedback/invalid.j2", values)


def test_markup_and_control_tokens_of_a_model_stay_text():
    text = Renderer("en").render("feedback/invalid.j2", {"text": "{{ 7*7 }} <|im_end|> & <b>"})
    assert "{{ 7*7 }} < |im_end|> & <b>" in text


def test_a_memo_is_made_again_only_when_its_inputs_change():
    renderer, made = Renderer("en"), []

    def make():
        made.append(1)
        return len(made)

    assert [renderer.memo("a", (1,), make), renderer.memo("a", (1,), make), renderer.memo("a", (2,), make)] == [1, 1, 2]


def test_languages_have_the_same_templates():
    own = {
        language: {path.relative_to(_PROMPTS / language).as_posix() for path in (_PROMPTS / language).glob("*.j2")}
        | {
            path.relative_to(_PROMPTS / language).as_posix()
            for folder in ("parts", "feedback", "tools")
            for path in (_PROMPTS / language / folder).glob("*.j2")
        }
        for language in languages()
    }
    assert own["en"] == own["zh"]
    assert "head.j2" in own["en"]
