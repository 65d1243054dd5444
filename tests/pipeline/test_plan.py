"""A layout that the machine can't hold is refused before anything starts, naming the missing resource."""

from pathlib import Path

import pytest

from pipeline.launch import cast_sizes, folders_of
from pipeline.load_settings import load_settings
from pipeline.plan import Machine, make_plan, plan_text

CONFIGS = Path(__file__).parents[2] / "configs"
LAPTOP = Machine(nodes=1, cpus=8, gpus=0, gpus_per_node=0, memory_gib=16, is_cluster=False)
PAPER = Machine(nodes=30, cpus=30 * 192, gpus=240, gpus_per_node=8, memory_gib=30 * 1900, is_cluster=True)


def plan_of(name, machine, overrides=(), cast=12):
    settings = load_settings(CONFIGS / f"{name}.yaml", overrides)
    return make_plan(settings, machine, dict.fromkeys(settings.worlds, cast))


@pytest.mark.parametrize("name", ["smoke", "laptop"])
def test_laptop_configs_fit_a_laptop(name):
    plan = plan_of(name, LAPTOP)
    assert plan.problems == ()
    assert "it fits" in plan_text(plan, LAPTOP)
    assert len(plan.steps) == 2


def test_paper_fits_thirty_nodes_and_says_what_it_takes():
    plan = plan_of("paper", PAPER, cast=100)
    assert plan.problems == ()
    assert sum(need.gpus for need in plan.needs if need.part.startswith("engine")) == 4 * 16
    assert next(need for need in plan.needs if need.part == "fine-tuning").gpus == 240


def test_paper_does_not_fit_a_laptop_and_says_why():
    plan = plan_of("paper", LAPTOP, cast=12)
    text = plan_text(plan, LAPTOP)
    for part in ("64 GPUs", "30 x 8 GPUs", "12 characters", "python -m sim.world.build "):
        assert part in text


def test_a_second_cpu_engine_is_refused_when_memory_is_short():
    small = Machine(nodes=1, cpus=8, gpus=0, gpus_per_node=0, memory_gib=8, is_cluster=False)
    plan = plan_of("laptop", small, ["serving.engines.shared.replicas=2"])
    assert any("GiB of memory" in problem for problem in plan.problems)


def test_too_wide_tensor_parallel_is_refused():
    machine = Machine(nodes=8, cpus=640, gpus=32, gpus_per_node=4, memory_gib=4000, is_cluster=True)
    plan = plan_of(
        "one_node", machine, ["serving.engines.shared.replicas=2", "serving.engines.shared.tensor_parallel=8"]
    )
    assert any("tensor_parallel = 8" in problem for problem in plan.problems)


def test_too_many_hosts_are_refused():
    plan = plan_of("smoke", LAPTOP, ["cluster.host_cpus=5", "sim.n_agents=12"])
    assert any("logical CPUs" in problem for problem in plan.problems)


def test_too_many_agents_are_told_the_command_that_makes_more_of_them():
    settings = load_settings(CONFIGS / "smoke.yaml", ["sim.n_agents=40"])
    plan = make_plan(settings, LAPTOP, {"apartment": 12}, {"apartment": "configs/worlds/apartment"})
    command = "python -m sim.world.build configs/worlds/apartment --to 40 --out runs/worlds/apartment40 --sampler"
    assert any(command in problem for problem in plan.problems)


def test_a_world_that_is_still_to_be_built_is_part_of_a_plan(monkeypatch, tmp_path):
    monkeypatch.chdir(CONFIGS.parent)
    settings = load_settings(CONFIGS / "paper.yaml", [f"worlds=[{tmp_path}/apartment100]"])
    assert cast_sizes(settings) == {f"{tmp_path}/apartment100": 0}
    plan = make_plan(settings, PAPER, cast_sizes(settings), folders_of(settings))
    command = f"python -m sim.world.build configs/worlds/apartment --to 100 --out {tmp_path}/apartment100 --sampler"
    assert [problem for problem in plan.problems if command in problem]
    with pytest.raises(ValueError, match=r"no world\.yaml"):
        cast_sizes(load_settings(CONFIGS / "smoke.yaml", [f"worlds=[{tmp_path}/elsewhere]"]))


def test_the_paper_names_the_world_that_its_own_comment_builds():
    text = (CONFIGS / "paper.yaml").read_text(encoding="utf-8")
    settings = load_settings(CONFIGS / "paper.yaml")
    assert f"--to {settings.sim.n_agents} --out {settings.worlds[0]} " in text
