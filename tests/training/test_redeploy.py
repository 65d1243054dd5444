"""New weights count as served only when every engine proves it."""

import asyncio
import shutil

import pytest

from training.checkpoint import CheckpointError, copy_tokenizer, write_checkpoint
from training.redeploy import RedeployError, redeploy
from training.tiny_model import make_tiny_model


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    tiny = make_tiny_model(root / "tiny", seed=1)

    def write(folder):
        shutil.copy(tiny / "config.json", folder)
        shutil.copy(tiny / "model.safetensors", folder)
        copy_tokenizer(tiny, folder)

    made = write_checkpoint(root / "checkpoint", write, dtype="float32", facts={"title": "t"})
    return root / "checkpoint", made.weights_digest


class Engines:
    """A deployer whose engines prove what they are told to prove."""

    def __init__(self, *proofs, seconds=0.0):
        self.proofs = proofs
        self.seconds = seconds

    async def deploy(self, path, version):
        await asyncio.sleep(self.seconds)
        return self.proofs


def a_proof(digest, **fields):
    proof = {
        "model": "policy@r1",
        "version": "r1",
        "weights_digest": digest,
        "held": {"equal": 12, "unknown": 0, "modules": 12},
        "probe_text": "",
        "cached_tokens_after": 0,
    }
    return {**proof, **fields}


def run(engines, folder, version="r1", timeout_s=5.0):
    return asyncio.run(redeploy(engines, folder, version, timeout_s=timeout_s))


def test_proven_weights_are_reported(checkpoint):
    folder, digest = checkpoint
    result = run(Engines(a_proof(digest), a_proof(digest)), folder)
    assert (result.version, result.weights_digest, result.engines, result.models) == ("r1", digest, 2, ("policy@r1",))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"version": "base"}, "engine 1 serves"),
        ({"model": "policy@base"}, "engine 1 serves 'policy@base'"),
        ({"weights_digest": "0" * 64}, "engine 1 loaded weights with digest 000000000000"),
        ({"held": {"equal": 0}}, "engine 1 could compare none"),
        ({"cached_tokens_after": 640}, "engine 1 kept 640 tokens"),
    ],
)
def test_one_engine_without_proof_is_an_error(checkpoint, fields, said):
    folder, digest = checkpoint
    with pytest.raises(RedeployError, match=said):
        run(Engines(a_proof(digest), a_proof(digest, **fields)), folder)


def test_an_engine_that_gave_no_answer_is_an_error(checkpoint):
    folder, digest = checkpoint
    proof = a_proof(digest)
    del proof["probe_text"]
    with pytest.raises(RedeployError, match="gave no answer"):
        run(Engines(proof), folder)


def test_no_engine_at_all_is_an_error(checkpoint):
    with pytest.raises(RedeployError, match="no engine reported"):
        run(Engines(), checkpoint[0])


def test_waiting_has_an_end(checkpoint):
    with pytest.raises(RedeployError, match="did not take the weights"):
        run(Engines(seconds=30.0), checkpoint[0], timeout_s=0.05)


def test_what_is_no_checkpoint_is_never_deployed(tmp_path):
    with pytest.raises(CheckpointError, match="no finished checkpoint"):
        run(Engines(), tmp_path)
