"""A pool on a real Ray: started, asked through the client, killed and back, redeployed, or refused with its reason."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from pipeline.engine_spec import EngineSpec
from pipeline.pool_client import PoolClient, ReplicaDown
from pipeline.vllm_pool import EnginePool, PoolFailed, PoolSpec
from sim.llm.protocol import Message, OutputFormat, Request, TransportError

pytestmark = [pytest.mark.engine, pytest.mark.ray]

MODEL = os.environ.get("LIFELOOP_MODEL", str(Path(__file__).parents[2] / ".cache/models/smollm2-135m-instruct"))
ENGINE = EngineSpec(name="policy", model=MODEL, dtype="bfloat16", max_model_len=1024, max_num_seqs=8, kv_cache_gib=0.25)
REQUEST = Request(
    key="Y1-W1/plan.0/Mara/Mara/plan/0",
    unit="Y1-W1/plan.0/Mara",
    agent="Mara",
    duty="plan",
    role="policy",
    messages=(Message(role="user", parts=("Name a colour.",)),),
    output=OutputFormat(kind="text", text_chars=60),
    seed=3,
    max_tokens=40,
)


@pytest.fixture(scope="module")
def run():
    """Runs coroutines in one loop, beside a local Ray."""
    import ray

    ray.init(address="local", num_cpus=4, namespace="pool-test", include_dashboard=False, log_to_driver=False)
    with asyncio.Runner() as runner:
        yield runner.run
    ray.shutdown()


@pytest.fixture(scope="module")
def pool(run):
    pool = EnginePool(PoolSpec(name="test-policy", engine=ENGINE, start_timeout_s=300, memory_gib=1.0, restarts=2))
    run(pool.start())
    yield pool
    run(pool.stop())


def parents() -> dict[int, int]:
    """Parent of every process that is not just waiting to be collected."""
    found: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, *_ = status.read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":
            found[int(status.parent.name)] = int(parent)
    return found


def processes_below(ancestor: int) -> list[int]:
    """A process's children and theirs, outermost first."""
    children = [process for process, parent in parents().items() if parent == ancestor]
    return children + [below for child in children for below in processes_below(child)]


async def until(condition, seconds):
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.5)


def test_the_client_gets_replies_with_the_served_version(pool, run):
    reply = run(PoolClient(pool.link(), timeout_s=120).complete(REQUEST))
    assert reply.text
    assert reply.model == "policy@base"
    assert reply.token_ids
    assert run(pool.health())["test-policy-0"]["model"] == "policy@base"


def test_many_chats_run_at_once(pool, run):
    async def many():
        client = PoolClient(pool.link(), timeout_s=200)
        return await asyncio.gather(*(client.complete(REQUEST) for _ in range(24)))

    assert {reply.model for reply in run(many())} == {"policy@base"}


def test_redeploy_reaches_every_engine(pool, run):
    (proof,) = run(pool.redeploy(MODEL, "r2"))
    assert proof["model"] == pool.model_id == "policy@r2"
    assert proof["cached_tokens_after"] == 0
    assert run(PoolClient(pool.link(), timeout_s=120).complete(REQUEST)).model == "policy@r2"


def test_weights_that_do_not_fit_leave_the_old_ones(pool, run, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    with pytest.raises(PoolFailed, match="serves policy@r2 as before"):
        run(pool.redeploy(str(tmp_path), "r3"))
    assert run(PoolClient(pool.link(), timeout_s=120).complete(REQUEST)).model == "policy@r2"


@pytest.mark.parametrize("victim", ["the actor", "vLLM's worker"])
def test_a_killed_engine_comes_back_with_the_current_weights(pool, run, victim):
    async def killed():
        client = PoolClient(pool.link(), timeout_s=120)
        actor = await pool._actors["test-policy-0"].process.remote()
        below = processes_below(actor)
        titles = {process: Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8") for process in below}
        (worker,) = [process for process, title in titles.items() if "VLLM::Worker" in title]
        os.kill(actor if victim == "the actor" else worker, signal.SIGKILL)
        with pytest.raises(TransportError, match="refused"):
            await client.complete(REQUEST)
        watching = asyncio.create_task(pool.watch())
        await until(client.healthy, 240)
        watching.cancel()
        return [actor, *below], await client.complete(REQUEST)

    old, reply = run(killed())
    assert len(old) >= 3
    assert not set(old) & set(parents())
    assert reply.model == "policy@r2"


def test_a_place_that_does_not_exist_is_refused_with_the_missing_resource(run):
    gpu = EngineSpec(name="large", model=MODEL, device="gpu", tensor_parallel=8)
    with pytest.raises(PoolFailed, match="needs 8 GPU on one node"):
        run(EnginePool(PoolSpec(name="test-large", engine=gpu)).start())


def test_an_engine_that_can_not_start_says_why(run):
    wrong = EngineSpec(name="wrong", model="/nonexistent/model", max_model_len=512, kv_cache_gib=0.25)
    pool = EnginePool(PoolSpec(name="test-wrong", engine=wrong, start_timeout_s=200))
    with pytest.raises(PoolFailed, match=r"test-wrong-0 did not start.*nonexistent"):
        run(pool.start())
    with pytest.raises(ReplicaDown):
        run(pool.link().chat("test-wrong-0", {}, 5.0))


def test_too_little_memory_is_named(run):
    pool = EnginePool(PoolSpec(name="test-memory", engine=ENGINE, memory_gib=100_000.0))
    with pytest.raises(PoolFailed, match=r"needs 100000\.0 GiB of memory"):
        run(pool.start())
