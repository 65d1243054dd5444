"""An engine's settings become vLLM's flags and a place on the cluster's nodes."""

import pytest

from pipeline.engine_placement import bundles_of, cores_of, placement_problem
from pipeline.engine_spec import EngineSpec, engine_environment, server_flags

CPU = EngineSpec(name="policy", model="m", max_model_len=4096, kv_cache_gib=0.5)
GPU = EngineSpec(name="policy", model="m", device="gpu", tensor_parallel=8)


def value_of(flags, name):
    return flags[flags.index(name) + 1]


def test_a_cpu_engine_never_prefills_in_pieces():
    flags = server_flags(CPU)
    assert "--no-enable-chunked-prefill" in flags
    assert int(value_of(flags, "--max-num-batched-tokens")) >= 4096
    assert value_of(flags, "--kv-cache-memory-bytes") == str(2**29)
    assert value_of(flags, "--served-model-name") == "policy@base"
    assert "--enable-prefix-caching" in flags


def test_a_gpu_engine_keeps_vllms_own_way():
    flags = server_flags(GPU)
    assert "--enforce-eager" not in flags
    assert "--no-enable-chunked-prefill" not in flags
    assert value_of(flags, "--tensor-parallel-size") == "8"


def test_several_gpus_are_driven_by_vllm_itself_on_one_node_and_by_ray_over_nodes():
    def backend(**more):
        return value_of(
            server_flags(EngineSpec(name="p", model="m", device="gpu", **more)), "--distributed-executor-backend"
        )

    assert backend(tensor_parallel=8) == "mp"
    assert backend(tensor_parallel=8, pipeline_parallel=2) == "ray"


def test_further_arguments_win():
    flags = server_flags(
        EngineSpec(name="p", model="m", extra_args={"block-size": 32, "enforce-eager": False, "x": {"a": 1}})
    )
    assert value_of(flags, "--block-size") == "32"
    assert "--no-enforce-eager" in flags
    assert "--enforce-eager" not in flags
    assert value_of(flags, "--x") == '{"a":1}'


def test_usage_statistics_are_off():
    environment = engine_environment(CPU, 2)
    assert environment["VLLM_NO_USAGE_STATS"] == "1"
    assert environment["DO_NOT_TRACK"] == "1"


def test_an_engine_on_one_node_is_one_bundle():
    assert bundles_of(GPU) == ([{"CPU": 1.0, "GPU": 8.0}], "STRICT_PACK")
    bundles, strategy = bundles_of(
        EngineSpec(name="p", model="m", device="gpu", tensor_parallel=8, pipeline_parallel=2)
    )
    assert len(bundles) == 16
    assert strategy == "PACK"


@pytest.mark.parametrize(
    ("spec", "replicas", "nodes", "part"),
    [
        (GPU, 1, [{"CPU": 64, "GPU": 8}], ""),
        (GPU, 2, [{"CPU": 64, "GPU": 8}, {"CPU": 64, "GPU": 8}], ""),
        (GPU, 2, [{"CPU": 64, "GPU": 8}, {"CPU": 64, "GPU": 4}], "engine 2 of 2 of pool p needs 8 GPU on one node"),
        (GPU, 1, [{"CPU": 64, "GPU": 4}, {"CPU": 64, "GPU": 4}], "freest of 2 nodes has 4 left"),
        (GPU, 1, [{"CPU": 0, "GPU": 8}], "needs 1 CPU"),
        (CPU, 3, [{"CPU": 2}], "engine 3 of 3 of pool p needs 1 CPU"),
    ],
)
def test_what_is_missing_is_named(spec, replicas, nodes, part):
    problem = placement_problem("p", spec, replicas, nodes)
    assert part in problem
    assert bool(problem) is bool(part)


@pytest.mark.parametrize(
    ("threads", "replicas", "cores", "expected"),
    [(0, 1, 2, ["0-1"]), (0, 2, 2, ["0", "1"]), (2, 2, 8, ["0-1", "2-3"]), (0, 3, 2, ["", "", ""]), (4, 1, 2, [""])],
)
def test_engines_on_one_machine_share_its_cores_evenly(threads, replicas, cores, expected):
    spec = EngineSpec(name="p", model="m", cpu_threads=threads)
    assert [cores_of(spec, number, replicas, cores) for number in range(replicas)] == expected
