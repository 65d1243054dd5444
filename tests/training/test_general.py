"""General prompts: the file that ships, the `messages` schema, order by seed, and what is said when a source fails."""

import json
from collections import Counter

import pytest

from training.general import OFFLINE, OFFLINE_FILE, open_prompts, prompt_of


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def write(path, *rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_every_prompt_that_ships_is_usable_different_and_ends_with_the_user():
    lines = OFFLINE_FILE.read_text(encoding="utf-8").splitlines()
    prompts = list(open_prompts(OFFLINE, seed=0))
    assert len(prompts) == len(lines) >= 120
    assert len({prompt.id for prompt in prompts}) == len(prompts)
    assert all(prompt.messages[-1]["role"] == "user" for prompt in prompts)
    kinds = Counter(prompt.source for prompt in prompts)
    assert len(kinds) >= 10
    assert max(kinds.values()) < len(prompts) / 4


def test_order_is_drawn_by_seed():
    first, again, other = ([prompt.id for prompt in open_prompts(OFFLINE, seed=seed)] for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert sorted(first) == sorted(other)


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        ([user("a")], 1),
        ([user("a"), assistant("b")], 1),
        ([user("a"), assistant("b"), user("c"), assistant("d")], 3),
        ([user("a"), assistant("b"), user("c")], 3),
        ([{"role": "system", "content": "s"}, user("a"), assistant("b")], 2),
        ([assistant("b")], None),
        ([user("a"), assistant("b"), assistant("c")], None),
        ([user("  ")], None),
        ([user("x" * 9000)], None),
        ([{"role": "tool", "content": "t"}], None),
        ([{"role": "user", "content": None}], None),
        ("hello", None),
        ([], None),
    ],
)
def test_a_prompt_is_what_stands_before_the_last_answer(messages, kept):
    prompt = prompt_of({"id": "1", "messages": messages, "source": "s"})
    assert (len(prompt.messages) if prompt else None) == kept


def test_a_prompt_without_id_is_named_by_its_wording():
    names = [getattr(prompt_of({"messages": [user(text)]}), "id", None) for text in ("a", "a", "b")]
    assert None not in names
    assert names[0] == names[1] != names[2]


def test_a_file_of_ones_own_is_read_and_repeated_wordings_are_asked_once(tmp_path):
    path = write(
        tmp_path / "own.jsonl",
        {"id": "1", "messages": [user("Was ist Grün?"), assistant("…")], "source": "own", "extra": 1},
        {"id": "2", "messages": [user("was ist  GRÜN?")], "source": "own"},
        {"id": "3", "messages": [user("什么是绿色？")], "source": "own"},
    )
    prompts = list(open_prompts(path, seed=3))
    assert {prompt.messages[0]["content"].casefold()[:2] for prompt in prompts} == {"wa", "什么"}
    assert len(prompts) == 2


def test_a_damaged_line_is_named(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text('{"messages": []}\n{"messages"\n', encoding="utf-8")
    with pytest.raises(ValueError, match="byte 17: not a line of JSON"):
        list(open_prompts(str(path), seed=0))


def test_a_file_without_any_prompt_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no usable prompt"):
        list(open_prompts(write(tmp_path / "own.jsonl", {"text": "hello"}), seed=0))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match="there is no such file"):
        list(open_prompts(str(tmp_path / "none.jsonl"), seed=0))


def test_a_hub_data_set_without_network_says_what_to_do(monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ValueError, match=r"could not be opened.*`offline`"):
        list(open_prompts("nobody/no-such-data-set", seed=0))
