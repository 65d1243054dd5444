"""Whether the model reasons is said on every way to it, and in the same words to training."""

from pathlib import Path

import pytest

from pipeline.load_settings import load_settings
from pipeline.model_stack import extra_fields
from pipeline.settings import EndpointSettings
from sim.settings import AnswerSettings

CONFIGS = Path(__file__).parents[2] / "configs"
OUTSIDE = {"kind": "openai", "base_url": "http://host:8000/v1", "model": "m"}


@pytest.mark.parametrize("thinking", [True, False])
def test_an_outside_vllm_is_told_as_our_engines_are(thinking):
    wanted, answers = EndpointSettings(**OUTSIDE, structured="structural_tag"), AnswerSettings(thinking=thinking)
    assert extra_fields(wanted, answers) == {"chat_template_kwargs": {"enable_thinking": thinking}}
    assert answers.template_options == {"enable_thinking": thinking}


def test_another_server_gets_only_the_fields_that_its_user_names():
    assert extra_fields(EndpointSettings(**OUTSIDE), AnswerSettings()) == {}
    wanted = EndpointSettings(**OUTSIDE, extra_body={"thinking": {"type": "disabled"}})
    assert extra_fields(wanted, AnswerSettings()) == {"thinking": {"type": "disabled"}}


def test_an_engine_that_reasons_needs_a_parser_or_its_reasoning_would_have_to_be_json():
    changes = ["sim.answers.thinking=true", "sim.answers.thinking_tokens=50"]
    with pytest.raises(ValueError, match=r"shared would hold the reasoning to the form.*extra_args"):
        load_settings(CONFIGS / "one_gpu.yaml", changes)
    parser = "serving.engines.shared.extra_args={reasoning-parser: qwen3}"
    settings = load_settings(CONFIGS / "one_gpu.yaml", [*changes, parser])
    assert settings.sim.answers.longest == 50 + settings.sim.answers.long
