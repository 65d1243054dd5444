"""Every template renders for a rich and a poor context, full and short, in its language alone, within its budget."""

import re
from pathlib import Path

import jinja2
import jinja2.meta
import pytest

import sim.context.render
from sim.context.layers import FEEDBACK_TOKENS
from sim.context.render import Renderer, languages
from sim.core.agent import FULFILMENTS, TALENTS, TRAITS
from sim.core.settlement import STANDARDS
from sim.environment.profiles import PROSE
from sim.environment.solo import KINDS
from sim.settings import SimSettings
from tests.context.desks import rough_count
from tests.context.template_cases import FAULTS, cases
from tests.context.tongues import Values

PROMPTS = Path(sim.context.render.__file__).parents[1] / "prompts"
LANGUAGES = languages()
RENDERERS = {language: Renderer(language) for language in LANGUAGES}
CASES = [
    (language, short, template, every)
    for language in LANGUAGES
    for short in (False, True)
    for template, every in cases(language, short=short).items()
]
CHINESE = re.compile(r"[\u3400-\u9fff\u3000-\u303f\uff00-\uffef]")
EXACT = ("living_standard luxurious", "read_file characters")
"""Runs of words in exact forms that stand in Chinese prompts as well."""
_WORDS = re.compile(r"[A-Za-z][\w'-]*(?: +[A-Za-z][\w'-]*)+")
_HALF_WIDTH = re.compile(r"(?<=[\u4e00-\u9fff])[,;:?!](?=\n|$| ?[\u4e00-\u9fff])")


_BARE_HEADING = re.compile(r"^##[^\n]*\n+(?=#|\Z)|^# [^\n]*\Z", re.MULTILINE)
_EMPTY = re.compile(r"^- *$|[:：] *[,，.。;；]|\( *\)|（ *）|[,，、] *[.。]|[。，、；]{2}", re.MULTILINE)
SHORT_HEAD = 450
"""Tokens of the head in the small configurations."""


def english_runs(text: str) -> list[str]:
    """Runs of two or more English words that are no exact form."""
    return [run for run in _WORDS.findall(text) if run not in EXACT]


def templates_of(language: str) -> set[str]:
    folder = PROMPTS / language
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.j2")}


def rendered(language: str, template: str, values: Values) -> str:
    return RENDERERS[language].render(template, values)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_template_has_a_case(language: str) -> None:
    assert templates_of(language) == set(cases(language, short=False))
    assert templates_of(language) == templates_of("en")


def ids(value: object) -> str:
    return f"{len(value)}-cases" if isinstance(value, list) else str(value)


every_template = pytest.mark.parametrize(("language", "short", "template", "every"), CASES, ids=ids)


@every_template
def test_it_renders_cleanly(language: str, short: bool, template: str, every: list[Values]) -> None:
    for values in every:
        text = rendered(language, template, values)
        assert text
        assert not re.search(r"Undefined|\bNone\b", text)
        assert "\n\n\n" not in text
        assert not re.search(r"[ \t]$", text, re.MULTILINE), "blanks at the end of a line"
        assert not _BARE_HEADING.search(text), "a heading with nothing below"
        assert not _EMPTY.search(text), "marks around nothing"


@every_template
def test_it_keeps_to_its_language(language: str, short: bool, template: str, every: list[Values]) -> None:
    for values in every:
        text = rendered(language, template, values)
        if language == "en":
            assert not CHINESE.search(text)
        else:
            assert english_runs(text) == []
            assert _HALF_WIDTH.findall(text.replace('"全名,全名"', "")) == [], "half-width punctuation after Chinese"
            assert CHINESE.search(text)


@every_template
def test_it_keeps_to_its_budget(language: str, short: bool, template: str, every: list[Values]) -> None:
    budgets = SimSettings().budgets
    most = {"head.j2": budgets.head, "environment_head.j2": budgets.head, "profile.j2": budgets.profile}
    if short:
        most |= {"head.j2": SHORT_HEAD, "environment_head.j2": SHORT_HEAD}
    limit = 2 * FEEDBACK_TOKENS if template.startswith("feedback/") else most.get(template, budgets.stage)
    for values in every:
        assert rough_count(rendered(language, template, values)) <= limit


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_short_profile_is_shorter_wherever_there_are_two(language: str) -> None:
    full, short = cases(language, short=False), cases(language, short=True)
    for template in ("head", "environment_head", "plan", "contact", "review", "signup", "public_events", "profile"):
        name = f"{template}.j2"
        assert len(rendered(language, name, short[name][0])) < 0.85 * len(rendered(language, name, full[name][0]))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("short", [False, True])
def test_rich_prompts_show_what_poor_ones_lack(language: str, short: bool) -> None:
    for template, every in cases(language, short=short).items():
        if len(every) == 2 and every[0] != every[1]:
            rich, poor = (rendered(language, template, values) for values in every)
            assert len(rich) >= len(poor), template


SYSTEM = {
    "head.j2": {"world", "worldview", "rules", "short", "tools", "clock", "settings"},
    "parts/principles.j2": set(),
    "profile.j2": {"name", "gender", "birthday", "traits", "talents", "short", *PROSE},
    "memory.j2": {"lines"},
    "diaries.j2": {"notes"},
}
"""What the system message may draw on: nothing of it changes inside a week."""
STAGES = ("plan", "signup", "contact", "review", "days/together", "days/public", "days/solo", "year/wishes")
NOW = {"en": "## You now (", "zh": "## 现在的你（"}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("template", SYSTEM)
def test_the_system_message_draws_on_nothing_that_changes_inside_a_week(language: str, template: str) -> None:
    source = (PROMPTS / language / template).read_text(encoding="utf-8")
    environment = jinja2.Environment()
    environment.filters["word"] = str
    assert jinja2.meta.find_undeclared_variables(environment.parse(source)) <= SYSTEM[template]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("stage", STAGES[:-1])
def test_a_stage_prompt_begins_with_what_does_not_depend_on_the_agents_state(language: str, stage: str) -> None:
    every = cases(language, short=False)[f"{stage}.j2"]
    rich, poor = ({**every[0], "me": values["me"]} for values in (every[0], every[-1]))
    begins = [rendered(language, f"{stage}.j2", values).split(NOW[language])[0] for values in (rich, poor)]
    assert begins[0] == begins[1]
    assert len(begins[0]) > 100


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_prompt_tells_vitality_in_words_and_what_is_low(language: str, short: bool, stage: str) -> None:
    """The full agent has vitality 5, mood 29, social 9, esteem 0 and material 10."""
    rich = cases(language, short=short)[f"{stage}.j2"][0]
    text = rendered(language, f"{stage}.j2", rich)
    levels = {"vitality": "very_low", "mood": "low", "material": "low", "social": "very_low", "esteem": "very_low"}
    for name, level in levels.items():
        hint = rendered(language, "parts/hints.j2", {"me": {"hints": [{"name": name, "level": level}]}})
        assert hint in text
    assert rendered(language, "parts/vitality.j2", {"level": "depleted"}) in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_fault_of_form_has_words_of_its_own(language: str) -> None:
    for kind in ("malformed", "invalid"):
        codes = dict(FAULTS[kind])
        texts = {
            code: rendered(language, f"feedback/{kind}.j2", {"text": f"TEXT {code}", "code": code, "detail": "DETAIL"})
            for code in codes
        }
        assert len(set(texts.values())) == len(codes)


def test_every_name_that_the_program_shows_has_a_chinese_word() -> None:
    word = Renderer("zh").word
    shown = (*TRAITS, *TALENTS, *FULFILMENTS, "vitality", *STANDARDS, *PROSE, *KINDS, "work", "non-work", "yes", "no")
    shown += ("small", "medium", "large", "home", "joint", "public", "encounter", "solo")
    shown += ("plan", "contact", "signup", "record", "diary", "year_summary", "life_summary")
    assert [name for name in shown if not CHINESE.search(word(name))] == []
    assert word("还没有词") == "还没有词"
    assert Renderer("en").word("non-work") == "non-work"
