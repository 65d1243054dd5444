"""Which model writes for a world: an OpenAI-compatible server, given on the command line or by a settings file.

Of a settings file only `serving.environment` is read, with the same keys as in a run.
"""

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import msgspec
import yaml

from sim.llm.openai_client import OpenAIClient, StructuredMode
from sim.llm.protocol import LLM
from sim.llm.resilient import Endpoint, Patience, Resilient
from sim.llm.scripted import Scripted

TIMEOUT_S = 600.0
MAX_OUTAGE_S = 600.0
"""How long a dead server is waited for; what is written so far stays, and the same command goes on."""


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The model that was asked for."""

    kind: str = "engine"
    base_url: str = ""
    model: str = ""
    key_env: str = ""
    structured: StructuredMode = "json_schema"
    requests_per_minute: int = 0
    tokens_per_minute: int = 0

    @property
    def label(self) -> str:
        """Its name in records; no address."""
        return self.model or self.kind


class _Serving(msgspec.Struct):
    environment: Chosen | None = None
    policy: Chosen | None = None


class _Settings(msgspec.Struct):
    serving: _Serving


def add_model_options(given: argparse.ArgumentParser) -> None:
    """The options that choose a model, and the seed."""
    given.add_argument("--base-url", default="", help="OpenAI-compatible server, such as http://127.0.0.1:8000/v1")
    given.add_argument("--model", default="", help="name of the model on that server")
    given.add_argument("--key-env", default="", help="NAME of the environment variable that holds the server's key")
    given.add_argument(
        "--structured",
        default="json_schema",
        choices=[mode for mode in get_args(StructuredMode) if mode != "structural_tag"],
        help="what the server can enforce (default json_schema)",
    )
    given.add_argument("--config", type=Path, help="settings file of a run whose serving.environment is asked instead")
    given.add_argument("--seed", type=int, default=1, help="seed of everything that is drawn (default 1)")


def model_of(asked: argparse.Namespace) -> Chosen:
    """The model that the options name; ValueError says what is missing."""
    if asked.config is not None:
        if asked.base_url or asked.model:
            raise ValueError("--config and --base-url exclude each other; give one of them")
        return _from_settings(asked.config)
    if not asked.base_url or not asked.model:
        raise ValueError(
            "a model needs both --base-url and --model, as --base-url http://127.0.0.1:8000/v1 --model NAME"
        )
    return Chosen(
        kind="openai", base_url=asked.base_url, model=asked.model, key_env=asked.key_env, structured=asked.structured
    )


def _from_settings(path: Path) -> Chosen:
    """The outside endpoint of a settings file."""
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        serving = msgspec.convert(content, _Settings).serving
    except OSError as error:
        raise ValueError(f"--config {path}: can't be read ({error.strerror}); name a settings file") from error
    except (yaml.YAMLError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise ValueError(f"--config {path}: no usable `serving` section ({error}); see configs/") from error
    chosen = serving.environment or serving.policy
    if chosen is None or chosen.kind not in ("openai", "scripted"):
        raise ValueError(
            f"--config {path}: serving.environment is an engine that lives with its run; start it by itself "
            "(vllm serve MODEL) and give --base-url http://127.0.0.1:8000/v1 --model MODEL"
        )
    return chosen


@asynccontextmanager
async def opened(chosen: Chosen, language: str) -> AsyncIterator[LLM]:
    """The model while it is needed."""
    if chosen.kind == "scripted":
        yield Scripted(language=language)
        return
    client = OpenAIClient(
        base_url=chosen.base_url,
        model=chosen.model,
        key_env=chosen.key_env,
        structured=chosen.structured,
        timeout_s=TIMEOUT_S,
    )
    patience = Patience(
        timeout_s=TIMEOUT_S,
        max_outage_s=MAX_OUTAGE_S,
        requests_per_minute=chosen.requests_per_minute,
        tokens_per_minute=chosen.tokens_per_minute,
    )
    try:
        yield Resilient(Endpoint("the model", client, patience=patience, probe=client.probe))
    finally:
        await client.aclose()
