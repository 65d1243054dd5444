"""What a year may change in a person, whatever the environment says."""

import asyncio

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.context.render import Renderer
from sim.core.agent import TALENTS, TRAITS, Note
from sim.core.facts import ProfileChanged, apply
from sim.environment.profiles import PROSE, ProfileChange, changed_profile
from sim.settings import BudgetSettings, LimitSettings, PromptSettings, SimSettings
from sim.year import profile_update
from tests.builders import a_job, a_profile, a_unit, an_agent
from tests.week.days import Model
from tests.year.years import a_year_desk

LIMITS = LimitSettings()
NUMBERS = (*TRAITS, *TALENTS)


def update(answer, *, settings=None, **fields):
    """One agent's profile update: facts, state after it, and the model."""
    state = an_agent("Ann", **fields)
    model = Model(answer if callable(answer) or answer is None else lambda request: answer)
    desk = a_year_desk(model, states={"Ann": state}, settings=settings or SimSettings())
    facts = asyncio.run(profile_update.run(a_job(a_unit("profile_update", "Ann", week=2), [state]), desk))
    return facts, apply(state, facts), model


def test_numbers_move_within_the_yearly_limits():
    change = ProfileChange(additions={"confidence": 9, "patience": -2, "beauty": 9, "health": -9})
    profile = changed_profile(a_profile(), change, LIMITS, max_chars=500)
    assert (profile.traits["confidence"], profile.traits["patience"]) == (53, 48)
    assert (profile.talents["beauty"], profile.talents["health"]) == (55, 45)
    assert profile.traits["control"] == 50


@given(
    st.dictionaries(st.sampled_from([*NUMBERS, "unknown"]), st.integers(-999, 999)),
    st.dictionaries(st.sampled_from([*PROSE, "name", "gender"]), st.text(max_size=40)),
    st.integers(0, 100),
)
def test_nothing_else_ever_changes(additions, texts, start):
    before = a_profile(traits=dict.fromkeys(TRAITS, start), talents=dict.fromkeys(TALENTS, start))
    after = changed_profile(before, ProfileChange(additions=additions, texts=texts), LIMITS, max_chars=500)
    assert (after.name, after.gender, after.birthday) == (before.name, before.gender, before.birthday)
    assert set(after.traits) == set(TRAITS)
    assert set(after.talents) == set(TALENTS)
    assert all(0 <= value <= 100 and abs(value - start) <= 3 for value in after.traits.values())
    assert all(0 <= value <= 100 and abs(value - start) <= 5 for value in after.talents.values())
    assert all(getattr(after, name).strip() for name in PROSE)


@pytest.mark.parametrize("text", ["", "  \n", "x" * 501])
def test_a_blank_or_overlong_text_changes_nothing(text):
    change = ProfileChange(texts={"details": text})
    assert changed_profile(a_profile(), change, LIMITS, max_chars=500) == a_profile()


def test_the_stage_changes_the_profile_and_tells_the_card():
    answer = {
        "changes": [{"name": "patience", "by": -3}, {"name": "honesty", "by": 5}, {"name": "patience", "by": 3}],
        "texts": [{"field": "values", "text": "Keeps\n her word."}],
    }
    look = {"appearance": "Wears\n a blue coat now."}
    facts, after, _ = update(lambda request: look if request.duty == "appearance" else answer)
    # of two changes of one trait the first counts
    assert after.profile.traits["patience"] == 47
    assert after.profile.talents["honesty"] == 55
    assert after.profile.values == "Keeps her word."
    assert facts.outputs["card"]["appearance"] == after.profile.appearance == "Wears a blue coat now."
    # born Y1994-W2-D1; at the end of week 2 of Y2024 she has turned 30
    assert facts.outputs["card"]["age"] == 30
    assert facts.outputs["skills"] == {"baking": 30.0}
    assert facts.outputs["card"]["position"] == "Bakery/Baker"


def test_what_the_form_forbids_changes_nothing():
    facts, after, model = update({"changes": [{"name": "patience", "by": 99}], "texts": []})
    assert [request.duty for request in model.asked].count("profile_update") == 3
    assert facts.by_agent["Ann"] == ()
    assert after.profile == an_agent("Ann").profile


def test_nothing_changed_causes_nothing():
    facts, _, _ = update({"changes": [], "texts": []})
    assert not any(isinstance(fact, ProfileChanged) for fact in facts.by_agent["Ann"])


def test_the_prompt_tells_this_year_alone():
    notes = (
        Note(year=1, week=1, kind="diary", text="We mended the boat."),
        Note(year=2, week=1, kind="diary", text="A later year."),
    )
    _, _, model = update(None, diaries=notes)
    (prompt,) = model.prompts("", "profile_update")
    assert "We mended the boat." in prompt
    assert "A later year." not in prompt
    assert "by 3 up or down" in prompt


def test_a_text_that_does_not_fit_is_not_offered_for_rewriting():
    long = "She came over the hills. " * 400
    profile = msgspec.structs.replace(a_profile("Ann"), details=long)
    _, _, model = update(None, profile=profile, settings=SimSettings(budgets=BudgetSettings(profile=400)))
    fields = model.asked[0].output.schema["properties"]["texts"]["items"]["properties"]["field"]["enum"]
    assert set(fields) == set(PROSE) - {"details", "appearance"}


def test_weak_models_are_asked_for_few_numbers_alone():
    settings = SimSettings(prompts=PromptSettings(profile="short"))
    _, after, model = update(None, settings=settings)
    assert list(model.asked[0].output.schema["properties"]) == ["changes"]
    assert all(getattr(after.profile, name) == getattr(an_agent("Ann").profile, name) for name in PROSE)


def test_how_somebody_looks_is_asked_for_without_diaries_and_records():
    notes = (Note(year=1, week=1, kind="diary", text="Only I know of the boat."),)
    for answer in ({"appearance": "x" * 601}, {"appearance": ""}, {}):
        _, after, model = update(lambda request, answer=answer: answer if request.duty == "appearance" else None,
                                 diaries=notes, records=notes)  # fmt: skip
        (prompt, *_) = model.prompts("", "appearance")
        assert "boat" not in prompt
        assert after.profile.appearance == an_agent("Ann").profile.appearance


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("position", ["", "Bakery/Baker"])
def test_the_question_how_somebody_looks(language, position):
    values = {"name": "Ann", "gender": "woman", "age": 30, "appearance": "RED SCARF", "position": position,
              "standard": "frugal", "vitality": 61, "chars": 600}  # fmt: skip
    render = Renderer(language)
    text = render.render("environment/appearance.j2", values)
    standard = {"en": "frugal", "zh": "节俭"}[language]
    assert all(str(value) in text for value in {**values, "standard": standard}.values())
    assert "\n\n\n" not in text
