"""A checkpoint is whole or not there: marker last, sizes checked, weights named by their digest."""

import shutil

import pytest

from training.checkpoint import (
    DONE_MARKER,
    CheckpointError,
    copy_tokenizer,
    is_checkpoint,
    model_card,
    read_checkpoint,
    weights_digest,
    write_checkpoint,
)
from training.tiny_model import make_tiny_model

FACTS = {"title": "round 1", "base": "tiny", "round": 1, "drops": {"malformed": 3}}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("models") / "tiny", seed=1)


def copying(tiny):
    def write(folder):
        shutil.copy(tiny / "config.json", folder)
        shutil.copy(tiny / "model.safetensors", folder)
        copy_tokenizer(tiny, folder)

    return write


def test_a_written_checkpoint_reads_back_and_holds_what_serving_needs(tiny, tmp_path):
    folder = tmp_path / "checkpoint"
    made = write_checkpoint(folder, copying(tiny), dtype="float32", facts=FACTS)
    assert read_checkpoint(folder, verify=True) == made
    assert made.weights_digest == weights_digest(tiny)
    assert made.facts == FACTS
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"):
        assert (folder / name).read_bytes() == (tiny / name).read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


def test_the_digest_changes_with_one_byte(tiny, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(tiny, folder)
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "model.safetensors").write_bytes(data)
    assert weights_digest(folder) != weights_digest(tiny)


def test_a_failure_while_writing_leaves_nothing(tiny, tmp_path):
    def failing(folder):
        copying(tiny)(folder)
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        write_checkpoint(tmp_path / "checkpoint", failing, dtype="float32", facts=FACTS)
    assert list(tmp_path.iterdir()) == []


def test_an_incomplete_model_is_not_made_a_checkpoint(tiny, tmp_path):
    def without_tokenizer(folder):
        copying(tiny)(folder)
        (folder / "tokenizer.json").unlink()

    with pytest.raises(ValueError, match=r"tokenizer\.json"):
        write_checkpoint(tmp_path / "checkpoint", without_tokenizer, dtype="float32", facts=FACTS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / DONE_MARKER).unlink(), "is missing"),
        (lambda folder: (folder / DONE_MARKER).write_bytes(b"{"), "damaged"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"x"), "not of its"),
        (lambda folder: (folder / "chat_template.jinja").unlink(), "missing or not of its"),
    ],
)
def test_a_half_written_one_is_never_taken_and_gives_way_to_a_new_one(tiny, tmp_path, damage, said):
    folder = tmp_path / "checkpoint"
    write_checkpoint(folder, copying(tiny), dtype="float32", facts=FACTS)
    damage(folder)
    assert not is_checkpoint(folder)
    with pytest.raises(CheckpointError, match=said):
        read_checkpoint(folder)
    write_checkpoint(folder, copying(tiny), dtype="float32", facts=FACTS)
    assert is_checkpoint(folder)


def test_changed_weights_of_equal_size_are_found_by_their_digest(tiny, tmp_path):
    folder = tmp_path / "checkpoint"
    write_checkpoint(folder, copying(tiny), dtype="float32", facts=FACTS)
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    with pytest.raises(CheckpointError, match="not those that were written"):
        read_checkpoint(folder, verify=True)


def test_a_finished_checkpoint_is_not_overwritten(tiny, tmp_path):
    folder = tmp_path / "checkpoint"
    write_checkpoint(folder, copying(tiny), dtype="float32", facts=FACTS)
    with pytest.raises(CheckpointError, match="finished checkpoint already"):
        write_checkpoint(folder, copying(tiny), dtype="float32", facts=FACTS)


def test_what_an_earlier_process_left_half_done_is_cleared_away(tiny, tmp_path):
    (tmp_path / ".checkpoint.4711.partial").mkdir()
    write_checkpoint(tmp_path / "checkpoint", copying(tiny), dtype="float32", facts=FACTS)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


def test_the_model_card_says_how_it_was_made():
    card = model_card(
        {**FACTS, "weights_digest": "abc", "mixture": [{"source": "general", "rows": 4, "output_tokens": 9}]}
    )
    assert card.startswith("---\n")
    for line in (
        "# round 1",
        "| base model | tiny |",
        "| malformed | 3 |",
        "| general | 4 | 9 |",
        "| weights SHA-256 | `abc` |",
    ):
        assert line in card.splitlines()
    assert "| seed | – |" in card.splitlines()
