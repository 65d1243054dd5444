"""Reasoning in any of the places where servers leave it is set apart from the answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.llm.reasoning import apart


@pytest.mark.parametrize(
    ("text", "field", "answer", "reasoning"),
    [
        ("Done.", "", "Done.", ""),
        ("Done.", "In a field.", "Done.", "In a field."),
        ("\n<think>first {a}</think>\n\nDone.", "", "Done.", "first {a}"),
        ("<think>\n\n</think>\n\nDone.", "", "Done.", ""),
        ("opened in the prompt\n</think>\n\nDone.", "", "Done.", "opened in the prompt"),
        ("<think>cut off in the mid", "", "", "cut off in the mid"),
        ("<think>left over</think>Done.", "In a field.", "Done.", "In a field.\n\nleft over"),
        ("<think>one</think>Done<think>two</think>.", "", "Done.", "one\n\ntwo"),
        ("<thinking>再想想</thinking>好。", "", "好。", "再想想"),
        ("Done. <think>and what if", "", "Done.", "and what if"),
        (" I think </b> so. ", "", " I think </b> so. ", ""),
    ],
)
def test_where_reasoning_stands(text: str, field: str, answer: str, reasoning: str) -> None:
    assert apart(text, field) == (answer, reasoning)


@given(st.text(), st.text().filter(lambda text: "think" not in text), st.text())
def test_no_mark_is_left_and_an_answer_behind_a_block_is_whole(thought: str, answer: str, field: str) -> None:
    kept, _ = apart(f"<think>{thought}</think>{answer}", field)
    assert "<think>" not in kept
    if "think>" not in thought and "thinking>" not in thought:
        assert kept == answer.strip()
