"""The order that prefix caching needs, and the bound on every prompt."""

import itertools

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.context.budget import PROMPT_MARGIN
from sim.context.layers import (
    conversation,
    environment_head,
    head,
    memory_lines,
    newest,
    profile_part,
    system_message,
    tokens_of,
    weekly_part,
)
from sim.context.view import self_view
from sim.core.agent import MemoryLine, Note, Remembered
from sim.core.facts import Changed, Noted, ProfileChanged, ReadFile, WeekBegan, WroteFile, apply_all
from sim.core.keys import UnitKey
from sim.llm.protocol import Message
from sim.settings import BudgetSettings, PromptSettings, SimSettings
from tests.builders import a_profile, an_agent
from tests.context.desks import a_desk, a_full_agent, a_world, rough_count

UNIT = UnitKey(year=1, week=1, stage="plan", who="Ann")


def began(week: int) -> WeekBegan:
    return WeekBegan(year=1, week=week, first_record_week=week - 1, first_message_week=week - 2, weeks_per_year=10)


def test_two_agents_share_the_head_and_nothing_of_them_is_in_it():
    desk = a_desk()
    ann, ben = (system_message(desk, an_agent(name)) for name in ("Ann", "Ben"))
    assert ann.parts[0] == ben.parts[0]
    assert ann.parts[1] != ben.parts[1]
    assert "Ann" not in ann.parts[0]


def test_the_head_is_the_same_in_all_weeks_and_processes():
    assert head(a_desk()) == head(a_desk())
    later = apply_all(an_agent("Ann"), (began(2),))
    assert system_message(a_desk(), later).parts[0] == system_message(a_desk(), an_agent("Ann")).parts[0]


def test_nothing_that_happens_inside_a_week_changes_the_system_message():
    desk = a_desk()
    state = apply_all(an_agent("Ann", knows=("Ben",)), (began(1),))
    before = system_message(desk, state)
    state = apply_all(
        state,
        (
            Changed(reason="x", vitality=-20, mood=5, skills={"chess": 2}, money=80),
            ReadFile(path="characters/Ben.txt"),
            WroteFile(path="characters/Ben.txt", text="A thief.", summary="A thief."),
            WroteFile(path="others/plan.txt", text="Secret.", summary="Secret."),
            Noted(note=Note(year=1, week=1, kind="diary", text="Dear diary.")),
            Noted(note=Note(year=1, week=1, kind="plan", text="Rest.")),
        ),
    )
    assert system_message(desk, state) == before
    assert system_message(a_desk(), state) == before
    next_week = system_message(desk, apply_all(state, (began(2),)))
    assert next_week.parts[:2] == before.parts[:2]
    assert "A thief." in next_week.parts[2]
    assert "Dear diary." in next_week.parts[2]


def test_state_and_time_are_in_no_part_of_the_system_message():
    state = an_agent("Ann", deposit=98765, skills={"juggling": 77.0}, vitality=63.0)
    text = system_message(a_desk(), state).text
    assert not any(word in text for word in ("98765", "juggling", "Y1-W1", "63"))


def test_a_changed_profile_shows_at_once():
    desk, state = a_desk(), apply_all(an_agent("Ann"), (began(1),))
    before = system_message(desk, state)
    state = apply_all(state, (ProfileChanged(profile=a_profile("Ann", motivation="To leave at last.")),))
    after = system_message(desk, state)
    assert after.parts[0] == before.parts[0]
    assert "To leave at last." in after.parts[1]


def test_before_the_first_week_the_memory_is_the_present_one():
    assert "Knows Ben." in system_message(a_desk(), an_agent("Ann", knows=("Ben",))).text


def test_a_head_beyond_its_budget_is_the_users_to_mend():
    desk = a_desk(world=a_world(worldview="Long ago. " * 5000))
    with pytest.raises(ValueError, match=r"world 'house'.*budgets\.head is 3200; shorten"):
        head(desk)
    with pytest.raises(ValueError, match=r"environment_head"):
        environment_head(desk)


def short_settings(**budgets: int) -> SimSettings:
    return SimSettings(prompts=PromptSettings(profile="short"), budgets=BudgetSettings(**budgets))


def test_for_weak_models_a_long_worldview_is_shortened():
    desk = a_desk(world=a_world(worldview="Long ago. " * 5000), settings=short_settings(head=450))
    assert rough_count(head(desk)) <= 450
    assert "Long ago." in head(desk)


def test_the_content_policy_is_in_every_head():
    for settings_ in (SimSettings(), short_settings()):
        desk = a_desk(world=a_world(content_policy="Nothing cruel."), settings=settings_)
        assert "Nothing cruel." in head(desk)
        assert "Nothing cruel." in environment_head(desk)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("word", ["word", "家", "🦊", "a" * 300, "w<|im_end|>"])
def test_each_part_keeps_to_its_budget(language, word):
    budgets = BudgetSettings()
    desk = a_desk(world=a_world(language=language))
    state = a_full_agent(word=word)
    weekly = apply_all(state, (began(1),)).remembered
    assert weekly is not None
    assert rough_count(profile_part(desk, state.profile)) <= budgets.profile
    assert rough_count(weekly_part(desk, weekly)) <= budgets.memory + budgets.diaries + 2
    assert rough_count(head(desk)) <= budgets.head


def test_memory_lines_of_at_most_so_many_people_most_recent_first():
    files = [MemoryLine(path=f"characters/P{n}.txt", summary=f"Person {n}.") for n in range(5)]
    files.insert(1, MemoryLine(path="general.txt", summary=""))
    lines = memory_lines(files, 3, 20, 1000, rough_count)
    assert lines == [
        "characters/P0.txt: Person 0.",
        "general.txt",
        "characters/P1.txt: Person 1.",
        "characters/P2.txt: Person 2.",
    ]


def test_diaries_are_told_with_their_weeks_oldest_first():
    notes = (
        Note(year=1, week=10, kind="year_summary", text="A year."),
        Note(year=2, week=1, kind="diary", text="Rain."),
    )
    text = weekly_part(a_desk(), Remembered(diaries=notes))
    assert text.index("[the year up to Y1-W10] A year.") < text.index("[Y2-W1] Rain.")


MESSAGES = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["user", "assistant"]),
        parts=st.tuples(st.text(st.characters(exclude_categories=["Cs"]), max_size=200)),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(
    history=MESSAGES,
    stage=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=2000),
    context=st.integers(1500, 4000),
    max_tokens=st.integers(50, 300),
    closing=st.sampled_from(["", "Answer now."]),
)
def test_no_prompt_exceeds_the_context_less_the_answer(history, stage, context, max_tokens, closing):
    budgets = {
        "context": context,
        "head": 400,
        "profile": 200,
        "memory": 100,
        "diaries": 60,
        "stage": 300,
        "history": 90,
    }
    full = {"answers": {"long": 300, "medium": 200, "short": 50}, "prompts": {"profile": "short"}}
    desk = a_desk(settings=SimSettings.model_validate({"budgets": budgets, **full}))
    system = system_message(desk, an_agent("Ann"))
    messages = conversation(desk, system, stage, history, max_tokens=max_tokens, closing=closing)
    assert sum(tokens_of(message, rough_count) for message in messages) <= context - max_tokens - PROMPT_MARGIN
    assert messages[0] == system
    roles = [message.role for message in messages]
    assert all(first != second for first, second in itertools.pairwise(roles))
    assert closing in messages[-1].text


def test_no_room_for_a_stage_prompt_is_the_users_to_mend():
    desk = a_desk()
    with pytest.raises(ValueError, match=r"budgets\.context = 32768 leaves no room"):
        conversation(desk, Message(role="system", parts=("x" * 4 * 32768,)), "s", (), max_tokens=400)


def test_the_oldest_turns_drop_first():
    turns = [Message(role="user", parts=(f"turn {n} " + "x" * 100,)) for n in range(10)]
    kept = newest(turns, 3 * tokens_of(turns[0], rough_count), rough_count)
    assert kept == tuple(turns[-3:])


def test_a_full_life_keeps_the_prompt_small_enough():
    desk = a_desk()
    state = apply_all(a_full_agent(word="日记"), (began(1),))
    view = self_view(desk, state, UNIT)
    stage = desk.render.render("parts/me.j2", {"me": view, "short": False})
    assert rough_count(stage) <= desk.settings.budgets.stage
    messages = conversation(desk, system_message(desk, state), stage, (), max_tokens=1500)
    assert sum(tokens_of(message, rough_count) for message in messages) <= 32768 - 1500


def test_the_frozen_weekly_part_survives_storage():
    state = apply_all(an_agent("Ann", knows=("Ben",)), (began(1),))
    copy = msgspec.json.decode(msgspec.json.encode(state), type=type(state))
    assert system_message(a_desk(), copy) == system_message(a_desk(), state)
