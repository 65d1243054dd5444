"""One vLLM engine as a plain async object: chat, weight swap with proof, health, stop. Knows neither Ray nor HTTP.

Chats go through vLLM's own OpenAI handler, so templates, structured output and reasoning parsers are vLLM's. A reply
names `name@version`; no request straddles a weight swap: a swap waits for those running and holds new ones back.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Mapping
from pathlib import Path
from typing import Any, Never, TypeVar

import psutil

from pipeline.engine_spec import EngineSpec, engine_environment, server_flags
from pipeline.held_weights import shape_difference, tensor_shapes
from sim.core.keys import digest_of_ids
from training.checkpoint import weights_digest

PROBE_NUMBERS = 120
PROBE_TOKENS = 8
DRAIN_SECONDS = 600.0
SWAP_SECONDS = 1800.0
HEALTH_SECONDS = 30.0
LOWEST_PRIORITY = 19
STOP_SECONDS = 5.0

T = TypeVar("T")


class EngineDied(RuntimeError):
    """The engine can answer no more; it has to be started again."""


class ReloadRefused(ValueError):
    """The new weights were not taken; the engine serves the old ones as before."""


class VllmEngine:
    """A running engine; start it once, then chat from many tasks."""

    def __init__(self, spec: EngineSpec) -> None:
        """Keep the settings; nothing is imported or started."""
        self.spec = spec
        self.version = spec.version
        self.weights = spec.model
        self._engine: Any = None
        self._state: Any = None
        self._broken = ""
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._open = asyncio.Event()
        self._swap = asyncio.Lock()

    @property
    def model_id(self) -> str:
        """Served id, `name@version`."""
        return f"{self.spec.name}@{self.version}"

    async def start(self) -> dict[str, Any]:
        """Load the model and open for chats; returns model id and seconds taken. EngineDied tells why it can't."""
        began = time.perf_counter()
        os.environ.update(engine_environment(self.spec, len(os.sched_getaffinity(0))))
        try:
            await self._start()
        except SystemExit as error:
            raise ValueError(f"vLLM refuses an option of engine {self.spec.name}: {log_tail()}") from error
        except (RuntimeError, ValueError, OSError, ImportError) as error:
            reason = f"engine {self.model_id} did not start: {error}\nlast lines of its log:\n{log_tail()}"
            raise EngineDied(reason) from error
        self._open.set()
        return {"model": self.model_id, "seconds": time.perf_counter() - began}

    async def _start(self) -> None:
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.entrypoints.launchers.api_server.app_state import init_app_state
        from vllm.entrypoints.launchers.cli_args import make_arg_parser
        from vllm.utils.argparse_utils import FlexibleArgumentParser
        from vllm.v1.engine.async_llm import AsyncLLM

        arguments: Any = make_arg_parser(FlexibleArgumentParser()).parse_args(server_flags(self.spec))
        self._engine = AsyncLLM.from_engine_args(AsyncEngineArgs.from_cli_args(arguments))
        if self.spec.pipeline_parallel == 1:  # else the workers are actors on several nodes, and Ray ends them
            await self._engine.collective_rpc("end_with", args=(os.getpid(),))
        if self.spec.device == "cpu":
            _let_workers_go_first()
        if Path(self.spec.model).is_dir():
            await self._engine.collective_rpc("learn_comparable", args=(self.spec.model,))
        tasks = await self._engine.get_supported_tasks()
        self._state = _State()
        await init_app_state(self._engine, self._state, arguments, tasks)

    async def chat(self, body: Mapping[str, Any], timeout_s: float | None = None) -> dict[str, Any]:
        """An OpenAI chat body's answer, with `token_ids` in the choice and digest and number of the prompt's ids.

        What the caller did wrong (and a missed deadline) comes back as {"error": {"status", "message"}}; EngineDied
        is raised when no further call can succeed.
        """
        scope: asyncio.Timeout | None = None
        try:
            async with asyncio.timeout(timeout_s) as scope, self._admitted():
                reply = await self._ask(body)
        except TimeoutError:
            if scope is None or not scope.expired():
                raise
            return _error(504, f"no answer from {self.model_id} within {timeout_s} s")
        return reply

    async def reload(self, weights_path: str, version: str, digest: str = "") -> dict[str, Any]:
        """Serve other weights of the same shapes; returns the proof. `digest` spares hashing the files again."""
        async with self._swap:
            began = time.perf_counter()
            folder = Path(weights_path)
            await asyncio.to_thread(_check_swap, Path(self.weights), folder)
            digest = digest or await asyncio.to_thread(weights_digest, folder)
            async with self._held_back():
                # Fills the cache with the probe's prompt, so that zero cached tokens afterwards mean a dropped cache.
                await self._probe()
                await self._change_weights(folder)
                self._name(version)
                self.weights = weights_path
                comparison = await self._compare(folder)
                probe = await self._probe()
            if probe["usage"]["cached_tokens"] != 0:
                self._fail(f"the prefix cache kept {probe['usage']['cached_tokens']} tokens over a weight swap")
            return {
                "model": self.model_id,
                "version": version,
                "weights_digest": digest,
                "held": comparison,
                "probe_text": probe["choices"][0]["message"]["content"],
                "cached_tokens_after": probe["usage"]["cached_tokens"],
                "seconds": time.perf_counter() - began,
            }

    async def verify(self) -> dict[str, Any]:
        """Compare the engine's tensors with the checkpoint that it should serve."""
        return await self._compare(Path(self.weights))

    async def pause(self) -> None:
        """Hold new chats back and wait for those running."""
        async with self._swap:
            self._open.clear()
            await self._drained()

    async def resume(self) -> None:
        """Let chats in again."""
        async with self._swap:
            self._refuse_if_dead()
            self._open.set()

    async def health(self) -> dict[str, Any]:
        """Whether the engine's own loop answers; EngineDied if not."""
        self._refuse_if_dead()
        await self._within(HEALTH_SECONDS, self._engine.is_paused(), "a health check")
        return {"model": self.model_id, "running": self._running, "open": self._open.is_set()}

    async def stop(self) -> None:
        """End the engine's processes."""
        engine, self._engine, self._broken = self._engine, None, self._broken or "stopped"
        self._open.set()
        self._state = None
        if engine is not None:
            engine.shutdown(timeout=STOP_SECONDS)

    # ---- one chat

    async def _ask(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """One chat past the gate."""
        from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
        from vllm.entrypoints.serve import create_error_response
        from vllm.exceptions import VLLMError
        from vllm.v1.engine.exceptions import EngineDeadError

        fields = {name: value for name, value in body.items() if name not in ("model", "stream")}
        model = body.get("model")
        if model and model not in (self.spec.name, self.model_id):
            return _error(404, f"model {model!r} is not served; this engine serves {self.model_id}")
        try:
            request = ChatCompletionRequest(**fields, return_token_ids=True)
            reply = await self._state.openai_serving_chat.create_chat_completion(request, None)
        except EngineDeadError as error:
            raise EngineDied(f"engine {self.model_id} died; its last log lines name the cause") from error
        except (VLLMError, ValueError, TypeError, OverflowError, NotImplementedError) as error:
            reply = create_error_response(error)
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            # vLLM's handler turns a cancellation into an ordinary error reply; pass it on instead.
            raise asyncio.CancelledError
        plain = reply.model_dump(exclude_none=True)
        if "error" in plain:
            self._refuse_if_dead()
            return _error(plain["error"]["code"], plain["error"]["message"])
        return self._shaped(plain)

    def _shaped(self, plain: dict[str, Any]) -> dict[str, Any]:
        """The handler's reply with prompt ids replaced by their digest, cached tokens in `usage`, our model id."""
        ids = plain.pop("prompt_token_ids", None) or []
        usage = plain["usage"]
        details = usage.pop("prompt_tokens_details", None) or {}
        usage["cached_tokens"] = details.get("cached_tokens", 0)
        return plain | {"model": self.model_id, "prompt_digest": digest_of_ids(ids), "prompt_ids": len(ids)}

    async def _probe(self) -> dict[str, Any]:
        """A few greedy tokens on a prompt of a fixed text longer than a cache block."""
        text = " ".join(str(number) for number in range(1, PROBE_NUMBERS + 1))
        reply = await self._ask(
            {"messages": [{"role": "user", "content": text}], "temperature": 0.0, "max_tokens": PROBE_TOKENS}
        )
        if "error" in reply:
            self._fail(f"the probe call failed: {reply['error']['message']}")
        return reply

    # ---- the gate

    @contextlib.asynccontextmanager
    async def _admitted(self) -> AsyncIterator[None]:
        """Wait until chats are let in, and count this one while it runs."""
        while True:
            self._refuse_if_dead()
            if self._open.is_set():
                break
            await self._open.wait()
        self._running += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._running -= 1
            if self._running == 0:
                self._idle.set()

    @contextlib.asynccontextmanager
    async def _held_back(self) -> AsyncIterator[None]:
        """Hold chats back; inside nothing runs. Opens again whatever happened: a broken engine refuses by itself."""
        was_open = self._open.is_set()
        self._open.clear()
        try:
            await self._drained()
            yield
        finally:
            if was_open:
                self._open.set()

    async def _drained(self) -> None:
        """Wait for running chats; ReloadRefused past the deadline."""
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._idle.wait()
        except TimeoutError as error:
            raise ReloadRefused(
                f"{self._running} chats of {self.model_id} still run after {DRAIN_SECONDS:.0f} s; lower max_tokens"
            ) from error

    # ---- the swap

    async def _change_weights(self, folder: Path) -> None:
        """Pause, load, drop the prefix cache, resume. A failure leaves mixed weights behind, so it ends the engine."""
        engine = self._engine
        await self._within(DRAIN_SECONDS, engine.pause_generation(mode="wait"), "pausing")
        load = engine.collective_rpc("load_checkpoint", args=(str(folder),))
        await self._within(SWAP_SECONDS, load, f"loading the weights of {folder}")
        if not await self._within(HEALTH_SECONDS, engine.reset_prefix_cache(), "dropping the prefix cache"):
            self._fail("the prefix cache could not be dropped after a weight swap")
        await self._within(HEALTH_SECONDS, engine.resume_generation(), "resuming")

    async def _compare(self, folder: Path) -> dict[str, Any]:
        """Every worker's comparison of its tensors with the checkpoint; EngineDied if any differs."""
        call = self._engine.collective_rpc("compare_with_checkpoint", args=(str(folder),))
        reports = await self._within(SWAP_SECONDS, call, f"comparing the engine's weights with {folder}")
        different = [name for report in reports for name in report["different"]]
        if different:
            self._fail(f"the engine's weights differ from {folder} in {', '.join(different[:4])}")
        total = {key: sum(report[key] for report in reports) for key in ("equal", "unknown", "modules")}
        if not total["equal"]:
            self._fail(f"none of the engine's {total['modules']} weights could be compared with {folder}")
        return total

    def _name(self, version: str) -> None:
        """Put the version into the served id."""
        self.version = version
        for path in self._state.openai_serving_models.base_model_paths:
            path.name = self.model_id

    async def _within(self, seconds: float, work: Awaitable[T], what: str) -> T:
        """The awaited result of a control call; EngineDied if it fails in any way or takes longer."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task}, timeout=seconds)
            if not task.done():
                self._fail(f"{what} took over {seconds:.0f} s")
            # vLLM reports a failure inside the engine as a bare Exception, whatever it was.
            failure = task.exception()
            if failure is not None:
                self._fail(f"{what} failed: {failure}")
            return task.result()
        finally:
            task.cancel()

    def _fail(self, reason: str) -> Never:
        """Close the engine for good."""
        self._broken = self._broken or reason
        self._open.set()  # wakes those waiting at the gate, to be refused
        raise EngineDied(f"engine {self.model_id}: {reason}; it has to be started again")

    def _refuse_if_dead(self) -> None:
        """EngineDied if the engine is broken, stopped or not started."""
        if self._broken or self._engine is None or self._engine.errored:
            raise EngineDied(
                f"engine {self.model_id} is down: {self._broken or 'its processes ended or never started'}"
            )


def _let_workers_go_first() -> None:
    """Lowest priority for the scheduling process: while it waits it spins, on the cores that the worker computes on."""
    for child in psutil.Process().children(recursive=True):
        if "EngineCore" in " ".join(child.cmdline()):
            for thread in child.threads():
                os.setpriority(os.PRIO_PROCESS, thread.id, LOWEST_PRIORITY)


class _State:
    """Plain attributes, in the place of a web application's state."""


def log_tail(lines: int = 12) -> str:
    """The end of this process's log, where its standard error is a file (as in a Ray actor)."""
    try:
        target = Path(os.readlink("/proc/self/fd/2"))
        text = target.read_text(encoding="utf-8", errors="replace") if target.is_file() else ""
    except OSError:
        text = ""
    return "\n".join(text.splitlines()[-lines:]) or "(none at hand; look at the standard error of the process)"


def _check_swap(serving: Path, wanted: Path) -> None:
    """ReloadRefused unless the wanted folder is complete and its tensors have the served names and shapes."""
    try:
        tensor_shapes(wanted)
        difference = shape_difference(serving, wanted) if serving.is_dir() else ""
    except (ValueError, OSError) as error:
        raise ReloadRefused(f"weights in {wanted} can't be read: {error}") from error
    if difference:
        raise ReloadRefused(f"weights in {wanted} don't fit the running model: {difference}; start a new engine for it")


def _error(status: int, message: str) -> dict[str, Any]:
    """An error as data."""
    return {"error": {"status": int(status), "message": message}}
