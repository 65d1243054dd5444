"""Whether a checkpoint fits the running model is told from file headers alone."""

import json

import pytest

from pipeline.held_weights import shape_difference, tensor_shapes


def write(folder, shapes, name="model.safetensors", cut=0):
    """A safetensors file of zeros."""
    folder.mkdir(exist_ok=True)
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for tensor, shape in shapes.items():
        size = 2
        for length in shape:
            size *= length
        header[tensor] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    (folder / name).write_bytes(len(text).to_bytes(8, "little") + text + bytes(at - cut))
    return folder


def test_shapes_are_read_from_all_files(tmp_path):
    write(tmp_path, {"a": [2, 3]}, "model-00001-of-00002.safetensors")
    write(tmp_path, {"b": [4]}, "model-00002-of-00002.safetensors")
    assert tensor_shapes(tmp_path) == {"a": (2, 3), "b": (4,)}


def test_a_difference_is_named(tmp_path):
    old = write(tmp_path / "old", {"a": [2, 3], "b": [4]})
    assert shape_difference(old, write(tmp_path / "same", {"b": [4], "a": [2, 3]})) == ""
    assert "b: serving (4,), wanted (5,)" in shape_difference(old, write(tmp_path / "other", {"a": [2, 3], "b": [5]}))
    assert "c: serving none, wanted (1,)" in shape_difference(
        old, write(tmp_path / "more", {"a": [2, 3], "b": [4], "c": [1]})
    )


def test_a_tied_head_may_be_written_twice(tmp_path):
    old = write(tmp_path / "old", {"model.embed_tokens.weight": [5, 3]})
    new = write(tmp_path / "new", {"model.embed_tokens.weight": [5, 3], "lm_head.weight": [5, 3]})
    assert shape_difference(old, new) == ""


def test_a_file_that_is_cut_short_is_refused(tmp_path):
    with pytest.raises(ValueError, match="cut short"):
        tensor_shapes(write(tmp_path, {"a": [2, 3]}, cut=1))


def test_a_folder_without_weights_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"no \*\.safetensors"):
        tensor_shapes(tmp_path)
