"""Which model plays whom, where several live in one society (SPEC section 2, Whose model). Pure."""

import random
from collections.abc import Mapping, Sequence

from pipeline.settings import RunSettings


def played_by_others(settings: RunSettings, names: Sequence[str], world: str) -> dict[str, str]:
    """Agents of one world whom the settings give to a model of `serving.others` → its name."""
    shares = {name: other.share for name, other in settings.serving.others.items()}
    return players(names, shares, world=world, seed=settings.seed)


def players(names: Sequence[str], share_by_model: Mapping[str, float], *, world: str, seed: int) -> dict[str, str]:
    """Agents who are not played by the policy → name of the model that plays them.

    Each model gets its share of the cast, rounded so that the sum of shares is kept. Seed and world alone decide who
    it is.
    """
    drawn = sorted(names)
    random.Random(f"players {seed} {world}").shuffle(drawn)
    played: dict[str, str] = {}
    reached, first = 0.0, 0
    for model in sorted(share_by_model):
        reached += share_by_model[model]
        last = int(reached * len(drawn) + 0.5)
        played |= dict.fromkeys(drawn[first:last], model)
        first = last
    return dict(sorted(played.items()))
