"""Hands new weights over to whoever serves, and believes it only with proof.

Proof is data from every engine: the version in its served id, the digest of what it loaded, an empty prefix cache, and
an answer given by the new weights.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from training.checkpoint import read_checkpoint


class RedeployError(RuntimeError):
    """The new weights are not proven to be served; the text says what differs and what to do."""


class Deployer(Protocol):
    """Whoever serves the policy."""

    async def deploy(self, path: Path, version: str) -> Sequence[Mapping[str, Any]]:
        """Serve this folder under this version; one proof per engine.

        A proof has `model` (`name@version`), `version`, `weights_digest`, `held` (`equal`: modules compared equal with
        the folder), `cached_tokens_after` and `probe_text`.
        """
        ...


class Redeployed(msgspec.Struct, frozen=True, kw_only=True):
    """Weights that are proven to be served."""

    version: str
    weights_digest: str
    engines: int
    models: tuple[str, ...]
    """Served ids, sorted and unique."""


async def redeploy(deployer: Deployer, folder: Path, version: str, *, timeout_s: float) -> Redeployed:
    """Deploy a finished checkpoint and check every engine's proof; RedeployError if any is missing or wrong."""
    made = await asyncio.to_thread(read_checkpoint, folder, verify=True)
    try:
        async with asyncio.timeout(timeout_s):
            proofs = await deployer.deploy(folder, version)
    except TimeoutError as error:
        raise RedeployError(
            f"the engines did not take the weights of {folder} within {timeout_s:.0f} s; see their logs, then run the "
            "same command again"
        ) from error
    if not proofs:
        raise RedeployError(f"no engine reported that it serves {version}; check serving.policy and serving.engines")
    wrong = [
        text for number, proof in enumerate(proofs) for text in _faults(number, proof, version, made.weights_digest)
    ]
    if wrong:
        raise RedeployError(
            f"version {version} is not proven to be served: {'; '.join(wrong)}; restart the engines with {folder}, or "
            "run the same command again"
        )
    return Redeployed(
        version=version,
        weights_digest=made.weights_digest,
        engines=len(proofs),
        models=tuple(sorted({str(proof["model"]) for proof in proofs})),
    )


def _faults(number: int, proof: Mapping[str, Any], version: str, digest: str) -> list[str]:
    """What is wrong with one engine's proof, in words."""
    faults: list[str] = []
    if proof.get("version") != version or not str(proof.get("model", "")).endswith(f"@{version}"):
        faults.append(f"engine {number} serves {proof.get('model')!r}")
    if proof.get("weights_digest") != digest:
        faults.append(f"engine {number} loaded weights with digest {str(proof.get('weights_digest'))[:12]}…")
    held = proof.get("held")
    if held is not None and not held.get("equal"):
        faults.append(f"engine {number} could compare none of its weights with the folder")
    if proof.get("cached_tokens_after", 0) != 0:
        faults.append(f"engine {number} kept {proof['cached_tokens_after']} tokens of its old prefix cache")
    if "probe_text" not in proof:
        faults.append(f"engine {number} gave no answer after the change")
    return faults
