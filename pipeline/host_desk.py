"""What an agent host works with: the world, the model stack, the journal; put together from a message that travels."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pipeline.casting import played_by_others
from pipeline.journal_actor import ActorJournal
from pipeline.model_stack import journaled_models, structured
from pipeline.settings import RunSettings
from sim.context.render import Renderer
from sim.core.keys import Scope
from sim.lifetime import STAGES, clock_of
from sim.llm.latency import count_pieces
from sim.mind.desk import Desk
from sim.workshop import Workshop
from sim.world.schema import World


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSpec:
    """Everything that a host is told."""

    settings: RunSettings
    world: World
    """With the cast of this run."""
    scope: Scope
    years_before: int
    journal: Any
    """Handle of the world's journal actor."""
    has_past: bool
    """Whether the journal held anything before this process."""
    links: Any
    """Ways to the engine pools by name."""
    version: str
    """Version of the policy's weights."""
    tokenizer: str
    """Model folder whose tokenizer counts; "" for the scripted model's count."""


def open_workshop(spec: HostSpec) -> tuple[Workshop, ActorJournal]:
    """The workshop of a host and its journal client."""
    journal = ActorJournal(spec.journal, has_past=spec.has_past)
    count = counter_of(spec.tokenizer)
    names = tuple(sorted(character.name for character in spec.world.characters))
    replies = journaled_models(
        spec.settings,
        spec.links,
        journal,
        version=spec.version,
        language=spec.world.language,
        count=count,
        played=played_by_others(spec.settings, names, spec.scope.world),
    )
    desk = Desk(
        settings=spec.settings.sim,
        world=spec.world,
        clock=clock_of(spec.settings.sim.time, spec.world.start_year, years_before=spec.years_before),
        scope=spec.scope,
        model=structured(spec.settings, replies),
        render=Renderer(spec.world.language),
        count=count,
        names=names,
    )
    return Workshop(desk, STAGES, replies), journal


def counter_of(tokenizer: str) -> Callable[[str], int]:
    """Counts a text's tokens by a model's tokenizer, or roughly where there is none."""
    if not tokenizer:
        return lru_cache(maxsize=8192)(count_pieces)
    from training.tokens import counter, load_tokenizer

    return counter(load_tokenizer(tokenizer))
