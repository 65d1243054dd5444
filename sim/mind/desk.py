"""Everything that a running unit may use, put together once per host."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sim.core.clock import Clock
from sim.core.keys import Scope
from sim.settings import SimSettings

if TYPE_CHECKING:
    from sim.context.render import Renderer
    from sim.llm.structured import Structured
    from sim.world.schema import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Settings, world, clock, model and renderer of one simulated world; shared by all units of a host."""

    settings: SimSettings
    world: "World"
    clock: Clock
    scope: Scope
    model: "Structured"
    render: "Renderer"
    count: Callable[[str], int]
    """Number of tokens of a text, by the model's own tokenizer (cached)."""
    names: tuple[str, ...]
    """The cast, sorted."""
