"""Which weights an engine serves: whether a checkpoint fits, loading it, and comparing it bit for bit with those held.

`HeldWeights` is mixed into vLLM's workers (worker_extension_cls). CPU workers compute with repacked copies of linear
weights; feeding such a layer the identity matrix gives the weights that it really uses back exactly.
"""

import contextlib
import json
import os
import select
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import torch

State = Literal["equal", "different", "unknown"]

BYTE_BUDGET = 4 * 2**30
TIED_HEAD = "lm_head.weight"
"""Some trainers write a tied output head a second time, under this name."""


def weight_files(folder: Path) -> list[Path]:
    """The checkpoint's safetensors files in name order; ValueError if there are none."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ValueError(f"{folder} holds no *.safetensors files; give a complete Hugging Face model folder")
    return files


def tensor_shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Name → shape of every tensor of the checkpoint, read from the file headers alone."""
    shapes: dict[str, tuple[int, ...]] = {}
    for file in weight_files(folder):
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if not 0 < length <= file.stat().st_size - 8:
                raise ValueError(f"{file} is no complete safetensors file; write the checkpoint again")
            header: dict[str, Any] = json.loads(stream.read(length))
        end = (
            8
            + length
            + max((entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"), default=0)
        )
        if file.stat().st_size < end:
            raise ValueError(f"{file} is cut short ({file.stat().st_size} of {end} bytes); write the checkpoint again")
        shapes |= {name: tuple(entry["shape"]) for name, entry in header.items() if name != "__metadata__"}
    return shapes


def shape_difference(serving: Path, wanted: Path) -> str:
    """In one line, how the tensors of two checkpoints differ in name or shape; "" if an engine can swap them."""
    old, new = tensor_shapes(serving), tensor_shapes(wanted)
    for name in sorted(old.keys() | new.keys()):
        if name == TIED_HEAD and (name not in old or name not in new):
            continue
        if old.get(name) != new.get(name):
            return f"{name}: serving {old.get(name, 'none')}, wanted {new.get(name, 'none')}"
    return ""


class HeldWeights:
    """Mixed into a vLLM worker: loads a checkpoint, and compares what it computes with, with one on disk."""

    comparable: frozenset[str] | None = None
    """Modules whose weights stay as in the file; None until learned."""

    def end_with(self, owner: int) -> None:
        """End the engine's processes as soon as the process that owns the engine ends, even if it is killed."""
        engine_core = [os.getppid()] if os.getppid() != owner else []
        threading.Thread(target=_end_after, args=(os.pidfd_open(owner), engine_core), name="owner", daemon=True).start()

    def load_checkpoint(self, folder: str) -> None:
        """Load other weights in place. A tied output head's repacked copy, which vLLM leaves stale, is made anew."""
        self.reload_weights(weights_path=folder)  # type: ignore[attr-defined]
        modules: Iterable[Any] = self.model_runner.get_model().modules()  # type: ignore[attr-defined]
        for module in modules:
            if hasattr(module, "cpu_linear") and module.weight.numel() > 0:
                module.quant_method.process_weights_after_loading(module)

    def learn_comparable(self, folder: str, byte_budget: int = BYTE_BUDGET) -> int:
        """Note which modules equal the checkpoint that they were just loaded from; others are rearranged on loading."""
        states = _compare(self.model_runner.get_model(), Path(folder), byte_budget)  # type: ignore[attr-defined]
        self.comparable = frozenset(name for name, state in states.items() if state == "equal")
        return len(self.comparable)

    def compare_with_checkpoint(self, folder: str, byte_budget: int = BYTE_BUDGET) -> dict[str, Any]:
        """Counts of equal, different and incomparable modules; within the byte budget, spread over the whole model."""
        states = _compare(self.model_runner.get_model(), Path(folder), byte_budget)  # type: ignore[attr-defined]
        known = {name: state for name, state in states.items() if self.comparable is None or name in self.comparable}
        different = sorted(name for name, state in known.items() if state == "different")
        equal = sum(state == "equal" for state in known.values())
        unknown = len(states) - equal - len(different)
        return {"equal": equal, "different": different, "unknown": unknown, "modules": len(states)}


def _compare(model: "torch.nn.Module", folder: Path, byte_budget: int) -> dict[str, State]:
    """Whether each module that has a weight in the checkpoint computes with exactly that weight."""
    import torch
    from vllm.distributed import get_tensor_model_parallel_rank, get_tensor_model_parallel_world_size

    rank, ranks = get_tensor_model_parallel_rank(), get_tensor_model_parallel_world_size()
    packed: Mapping[str, Sequence[str]] = getattr(model, "packed_modules_mapping", {})
    states: dict[str, State] = {}
    with _Checkpoint(folder) as checkpoint, torch.no_grad():
        modules = list(_weighted_modules(model, packed, checkpoint))
        step = max(1, -(-sum(checkpoint.bytes_of(names) for _, _, names in modules) // byte_budget))
        for name, module, names in modules[::step]:
            held = _held_tensor(module)
            wanted = None if held is None else shard_of(held, [checkpoint.tensor(one) for one in names], rank, ranks)
            if held is None or wanted is None:
                states[name] = "unknown"
            else:
                same = torch.equal(held[: wanted.shape[0]], wanted.to(device=held.device, dtype=held.dtype))
                states[name] = "equal" if same else "different"
    return states


def _end_after(handle: int, engine_core: Sequence[int]) -> None:
    """Wait for a process to end, then end the engine's core, where it is a process of its own, and this worker."""
    select.select([handle], [], [])
    for process in (*engine_core, os.getpid()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


class _Checkpoint:
    """Random access to the tensors of a checkpoint by name."""

    def __init__(self, folder: Path) -> None:
        from safetensors import safe_open

        self._files = [safe_open(str(file), framework="pt") for file in weight_files(folder)]
        self._by_name: dict[str, Any] = {}
        self._shapes = tensor_shapes(folder)

    def __enter__(self) -> "_Checkpoint":
        """Open the files."""
        for file in self._files:
            file.__enter__()
            self._by_name |= dict.fromkeys(file.keys(), file)
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files."""
        for file in self._files:
            file.__exit__(None, None, None)

    def __contains__(self, name: str) -> bool:
        """Whether the checkpoint has a tensor of this name."""
        return name in self._by_name

    def bytes_of(self, names: Sequence[str]) -> int:
        """Size of these tensors at two bytes per number."""
        sizes = [2 for _ in names]
        for position, name in enumerate(names):
            for length in self._shapes[name]:
                sizes[position] *= length
        return sum(sizes)

    def tensor(self, name: str) -> "torch.Tensor":
        """One tensor, read from disk."""
        return self._by_name[name].get_tensor(name)


def _weighted_modules(
    model: "torch.nn.Module", packed: Mapping[str, Sequence[str]], checkpoint: _Checkpoint
) -> Iterator[tuple[str, "torch.nn.Module", list[str]]]:
    """Modules with a weight that the checkpoint has too: name, module, names of its tensors in the checkpoint."""
    first_of: dict[int, str] = {}
    for name, module in model.named_modules():
        weight = getattr(module, "weight", None)
        if weight is None:
            continue
        # A tied output head is stored under the embedding's name only.
        stored = first_of.setdefault(id(weight), name) if weight.numel() > 0 else name
        parent, _, last = stored.rpartition(".")
        parts = packed.get(last, (last,))
        names = [f"{parent}.{part}.weight" if parent else f"{part}.weight" for part in parts]
        if all(one in checkpoint for one in names):
            yield name, module, names


def _held_tensor(module: "torch.nn.Module") -> "torch.Tensor | None":
    """The weight that the module computes with; recovered through the identity matrix where it is repacked."""
    import torch

    weight: torch.Tensor = module.weight  # type: ignore[assignment]
    linear = getattr(module, "cpu_linear", None)
    if linear is None:
        return weight if weight.numel() > 0 else None
    sizes = ("input_size_per_partition", "input_size", "embedding_dim")
    width = next((int(getattr(module, size)) for size in sizes if hasattr(module, size)), None)
    if width is None:
        return None
    return linear(torch.eye(width, dtype=weight.dtype), weight, None).t()


def shard_of(held: "torch.Tensor", parts: list["torch.Tensor"], rank: int, ranks: int) -> "torch.Tensor | None":
    """What this rank should hold of a weight's parts: all, its rows or its columns; None if the shapes don't tell."""
    import torch

    if not held.is_floating_point() or held.element_size() < 2:
        return None
    whole = torch.cat(parts)
    padded = len(parts) == ranks == 1 and whole.shape[0] < held.shape[0]
    if whole.shape == held.shape or (padded and whole.shape[1:] == held.shape[1:]):
        return whole
    rows, columns = held.shape[0], held.shape[1:]
    if whole.shape == (rows * ranks, *columns) and all(part.shape[0] % ranks == 0 for part in parts):
        return torch.cat([part.chunk(ranks)[rank] for part in parts])
    if len(parts) == 1 and held.dim() == 2 and whole.shape == (rows, held.shape[1] * ranks):
        return whole.chunk(ranks, dim=1)[rank]
    return None
