"""What can be checked about a fine-tune before it starts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.settings import SftSettings
from training.sft_spec import SftSpec, deepspeed_options, read_spec, spec_of, write_spec


def a_spec(**fields):
    values = {"base": "m", "data": "d", "data_digest": "x", "checkpoint": "c", "work": "w", "seed": 1}
    return SftSpec(**{**values, **fields})


@pytest.mark.parametrize(
    ("rows", "fields", "steps"),
    [
        (24, {"batch": 4}, 6),
        (25, {"batch": 4}, 7),
        (10, {"batch": 4, "micro_batch": 2, "world_size": 2}, 3),
        (1, {"batch": 256}, 1),
        (600, {"batch": 256, "epochs": 2}, 6),
    ],
)
def test_planned_steps(rows, fields, steps):
    assert a_spec(**fields).planned_steps(rows) == steps


@given(st.integers(1, 200), st.integers(1, 4), st.integers(1, 4), st.integers(1, 5), st.integers(1, 3))
def test_planned_steps_are_those_of_walking_through_the_rows(rows, micro, processes, accumulation, epochs):
    spec = a_spec(batch=micro * processes * accumulation, micro_batch=micro, world_size=processes, epochs=epochs)
    steps, left = 0, rows
    while left > 0:
        left -= micro * processes * accumulation
        steps += 1
    assert spec.planned_steps(rows) == steps * epochs
    assert spec.accumulation == accumulation


@pytest.mark.parametrize(("rows", "warmup"), [(24, 0), (4 * 34, 1), (4 * 100, 3)])
def test_short_runs_have_no_warmup(rows, warmup):
    assert a_spec(batch=4, warmup_share=0.03).warmup_steps(rows) == warmup


def test_a_batch_that_cannot_be_divided_is_refused():
    with pytest.raises(ValueError, match="set it to a multiple of 6"):
        _ = a_spec(batch=16, micro_batch=3, world_size=2).accumulation


def made(tmp_path, **fields):
    (tmp_path / "train.parquet").write_bytes(b"rows")
    return spec_of(
        SftSettings(**{"batch": 8, **fields}),
        base="m",
        data=tmp_path / "train.parquet",
        checkpoint=tmp_path / "checkpoint",
        work=tmp_path / "work",
        seed=3,
        template_options={"enable_thinking": False},
        facts={"round": 1},
    )


def test_a_spec_takes_the_settings_and_survives_its_file(tmp_path):
    spec = made(tmp_path, learning_rate=2e-5, launcher="torchrun", processes=4, nodes=2)
    assert (spec.learning_rate, spec.world_size, spec.accumulation, spec.save_dtype) == (2e-5, 8, 1, "bfloat16")
    write_spec(spec, tmp_path / "spec.json")
    assert read_spec(tmp_path / "spec.json") == spec
    assert read_spec(tmp_path / "spec.json").digest == spec.digest


def test_a_spec_is_another_when_its_data_are(tmp_path):
    before = made(tmp_path)
    (tmp_path / "train.parquet").write_bytes(b"other rows")
    after = SftSpec(**{**{name: getattr(before, name) for name in before.__struct_fields__}, "data_digest": "other"})
    assert before.digest != after.digest


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"processes": 2}, "set launcher to torchrun"),
        ({"learning_rate": 1e-7}, "min_learning_rate"),
        ({"batch": 7, "micro_batch": 2}, "multiple of 2"),
        ({"accelerate_config": "none.yaml"}, "no such file"),
        ({"accelerate_config": "configs/accelerate/zero3.yaml", "save_dtype": "float32"}, "stored as bfloat16"),
        ({"accelerate_config": "configs/accelerate/zero3.yaml", "method": "lora"}, "trained in full"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(tmp_path, fields, said):
    with pytest.raises(ValueError, match=said):
        made(tmp_path, **fields)


def test_a_damaged_spec_is_named(tmp_path):
    (tmp_path / "spec.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match=r"spec\.json is no trainer spec"):
        read_spec(tmp_path / "spec.json")


def test_an_accelerate_file_becomes_deepspeeds_own_options(tmp_path):
    path = tmp_path / "zero.yaml"
    path.write_text(
        "distributed_type: DEEPSPEED\ndeepspeed_config: {zero_stage: 2, offload_optimizer_device: cpu}\n",
        encoding="utf-8",
    )
    options = deepspeed_options(path)
    assert options["zero_optimization"]["stage"] == 2
    assert options["zero_optimization"]["offload_optimizer"]["device"] == "cpu"
    assert "stage3_gather_16bit_weights_on_model_save" not in options["zero_optimization"]
    assert options["data_types"] == {"grad_accum_dtype": "fp32"}


def test_a_deepspeed_file_is_taken_as_it_is(tmp_path):
    path = tmp_path / "zero.json"
    path.write_text(json.dumps({"zero_optimization": {"stage": 1}}), encoding="utf-8")
    assert deepspeed_options(path) == {"zero_optimization": {"stage": 1}}


def test_another_accelerate_file_is_refused(tmp_path):
    path = tmp_path / "fsdp.yaml"
    path.write_text("distributed_type: FSDP\n", encoding="utf-8")
    with pytest.raises(ValueError, match="must be DEEPSPEED"):
        deepspeed_options(path)
