"""Rows are what serving saw: the prompt by the same template, labels on the answer and its end-of-turn token only."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim.core.keys import digest_of_ids
from training.tiny_model import make_tiny_model
from training.token_rows import token_columns
from training.tokens import IGNORED, counter, load_tokenizer, render_row

ROOT = Path(__file__).parents[2]
SMOLLM2 = ROOT / ".cache" / "models" / "smollm2-135m-instruct"
MESSAGES = [
    {"role": "system", "content": "You are Mara.\n"},
    {"role": "user", "content": "Plan your week, 李明! <b>&\n"},
]


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("models") / "tiny", seed=1)


@pytest.fixture(scope="module")
def tiny(tiny_folder):
    return load_tokenizer(str(tiny_folder))


@pytest.fixture(params=["tiny", "smollm2"])
def tokenizer(request, tiny):
    if request.param == "tiny":
        return tiny
    if not (SMOLLM2 / "tokenizer.json").is_file():
        pytest.skip("the small base model is not prepared here")
    return load_tokenizer(str(SMOLLM2))


@pytest.mark.parametrize("answer", ["I rest.", "\n\nI rest.\n", '{"plan": "去看海"}', " é 🌊 "])
def test_labels_are_exactly_the_answer_and_the_stop_token(tokenizer, answer):
    row = render_row(tokenizer, MESSAGES, answer)
    labels = [label for label in row.labels if label != IGNORED]
    assert tokenizer.decode(labels, with_special=True) == f"{answer}<|im_end|>"
    assert labels[-1] == tokenizer.stop_id
    assert labels.count(tokenizer.stop_id) == 1
    assert row.labels[: row.prompt_len] == [IGNORED] * row.prompt_len
    assert row.input_ids[row.prompt_len :] == labels
    assert row.input_ids[: row.prompt_len] == tokenizer.prompt_ids(MESSAGES)


def test_the_prompt_is_rendered_with_the_assistants_header(tokenizer):
    text = tokenizer.decode(tokenizer.prompt_ids(MESSAGES), with_special=True)
    assert text == (
        "<|im_start|>system\nYou are Mara.\n<|im_end|>\n<|im_start|>user\nPlan your week, 李明! <b>&\n<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_the_digest_is_that_of_the_prompts_ids_alone(tokenizer):
    one, other = render_row(tokenizer, MESSAGES, "Yes."), render_row(tokenizer, MESSAGES, "No.")
    assert one.digest == other.digest == digest_of_ids(tokenizer.prompt_ids(MESSAGES))
    assert one.digest != render_row(tokenizer, MESSAGES[1:], "Yes.").digest


def test_the_servers_own_ids_are_preferred(tokenizer):
    spelled = [index for letter in "rest" for index in tokenizer.ids_of(letter)]
    row = render_row(tokenizer, MESSAGES, "rest", [*spelled, tokenizer.stop_id])
    assert row.input_ids[row.prompt_len :] == [*spelled, tokenizer.stop_id]
    assert row.origin == "served"


def test_served_ids_without_their_stop_token_get_it(tokenizer):
    row = render_row(tokenizer, MESSAGES, "rest", tokenizer.ids_of("rest"))
    assert row.input_ids[row.prompt_len :] == [*tokenizer.ids_of("rest"), tokenizer.stop_id]


def test_ids_of_another_tokenizer_give_way_to_the_text(tokenizer):
    row = render_row(tokenizer, MESSAGES, "rest", tokenizer.ids_of("qzx"))
    assert row.origin == "text"
    assert tokenizer.decode(row.input_ids[row.prompt_len :]) == "rest"


@given(st.text(min_size=1).filter(lambda text: "<|" not in text))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_any_text_survives_the_byte_tokenizer(tiny, text):
    row = render_row(tiny, MESSAGES, text)
    assert tiny.decode(row.labels[row.prompt_len :]) == text


def test_counting_is_the_number_of_ids(tokenizer):
    count = counter(tokenizer)
    assert [count("one two three"), count(""), count("one two three")] == [
        len(tokenizer.ids_of("one two three")),
        0,
        len(tokenizer.ids_of("one two three")),
    ]


def test_the_tiny_model_is_the_same_bytes_every_time(tiny_folder, tmp_path):
    again, other = make_tiny_model(tmp_path / "again", seed=1), make_tiny_model(tmp_path / "other", seed=2)
    for file in tiny_folder.iterdir():
        assert file.read_bytes() == (again / file.name).read_bytes()
    assert (other / "model.safetensors").read_bytes() != (again / "model.safetensors").read_bytes()


def changed(tiny_folder, tmp_path, name, text):
    folder = tmp_path / "model"
    shutil.copytree(tiny_folder, folder)
    if text is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("tokenizer.json", None, "has no tokenizer.json"),
        ("tokenizer_config.json", None, "tokenizer_config.json is missing"),
        ("chat_template.jinja", None, "no chat template"),
        ("chat_template.jinja", "{% for %}", "not valid"),
        ("chat_template.jinja", "{% for m in messages %}{{ m['content'] }}<|endoftext|>{% endfor %}", "never stop"),
    ],
)
def test_an_unfit_model_folder_is_refused(tiny_folder, tmp_path, name, text, said):
    with pytest.raises(ValueError, match=said):
        load_tokenizer(str(changed(tiny_folder, tmp_path, name, text)))


def test_a_template_may_stand_in_the_tokenizers_settings_and_mark_answers(tiny_folder, tiny, tmp_path):
    folder = changed(tiny_folder, tmp_path, "chat_template.jinja", None)
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    template = (tiny_folder / "chat_template.jinja").read_text(encoding="utf-8")
    marked = template.replace("{{", "{% generation %}{{").replace("}}", "}}{% endgeneration %}")
    config["chat_template"] = [{"name": "tool_use", "template": "-"}, {"name": "default", "template": marked}]
    path.write_text(json.dumps(config), encoding="utf-8")
    assert load_tokenizer(str(folder)).prompt_ids(MESSAGES) == tiny.prompt_ids(MESSAGES)


THINKS_BY_DEFAULT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)


@pytest.mark.parametrize(
    ("options", "end"),
    [({}, ""), ({"enable_thinking": True}, ""), ({"enable_thinking": False}, "<think>\n\n</think>\n\n")],
)
def test_rows_begin_as_the_server_was_told_about_thinking(tiny_folder, tmp_path, options, end):
    folder = changed(tiny_folder, tmp_path, "chat_template.jinja", THINKS_BY_DEFAULT)
    tokenizer = load_tokenizer(str(folder), options)
    prompt = tokenizer.decode(tokenizer.prompt_ids(MESSAGES), with_special=True)
    assert prompt.endswith(f"<|im_start|>assistant\n{end}")
    row = render_row(tokenizer, MESSAGES, "I rest.")
    assert tokenizer.decode(row.labels[row.prompt_len :], with_special=True) == "I rest.<|im_end|>"
    columns = token_columns(
        {"messages": MESSAGES, "answer": "I rest.", "token_ids": [], "prompt_digest": row.digest},
        str(folder),
        4096,
        tuple(options.items()),
    )
    assert (columns["fault"], columns["input_ids"]) == ("", row.input_ids)
    other = {"enable_thinking": options.get("enable_thinking") is False}
    differs = token_columns(
        {"messages": MESSAGES, "answer": "I rest.", "token_ids": [], "prompt_digest": row.digest},
        str(folder),
        4096,
        tuple(other.items()),
    )
    assert differs["fault"] == "prompt_differs"


def test_a_template_that_refuses_messages_says_so(tiny_folder, tmp_path):
    template = (tiny_folder / "chat_template.jinja").read_text(encoding="utf-8")
    strict = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system turn') }}{% endif %}" + template
    tokenizer = load_tokenizer(str(changed(tiny_folder, tmp_path, "chat_template.jinja", strict)))
    with pytest.raises(ValueError, match="no system turn"):
        tokenizer.prompt_ids(MESSAGES)


@pytest.mark.parametrize("name", ["no/such/folder/here", "./models/mine", "nowhere"])
def test_a_name_that_is_no_folder_and_no_hub_name_is_refused(name):
    with pytest.raises(ValueError, match="neither an existing folder nor a hub name"):
        load_tokenizer(name)


def test_a_hub_name_without_network_says_what_to_do(monkeypatch, tmp_path):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ValueError, match="path of a downloaded folder"):
        load_tokenizer("nobody/nothing")


def test_torch_is_not_needed_up_to_the_trainer():
    modules = "tokens, token_rows, prepare, checkpoint, redeploy, sft_spec, tiny_model, general, self_distil"
    code = (
        f"import sys\nfrom training import {modules}\nassert not {{'torch', 'transformers', 'trl'}} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


@pytest.mark.engine
def test_ids_are_those_of_transformers(tokenizer):
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(tokenizer.folder, local_files_only=True)
    conversations = [
        MESSAGES,
        MESSAGES[1:],
        [*MESSAGES, {"role": "assistant", "content": " a "}, {"role": "user", "content": "b\t"}],
    ]
    for messages in conversations:
        expected = theirs.apply_chat_template(messages, add_generation_prompt=True, tokenize=True, return_dict=False)
        assert tokenizer.prompt_ids(messages) == expected
