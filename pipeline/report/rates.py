"""Counters that are polled, and what they say about the last minute: calls and tokens per second, time left. Pure."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

COUNTERS = ("calls", "prompt_tokens", "output_tokens", "cached_tokens")
WINDOW_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Model calls so far, as the journals count them."""

    calls: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    failed: Mapping[str, int] = field(default_factory=dict[str, int])
    """Failed answers by kind."""

    @property
    def cached_share(self) -> float:
        """Share of the prompt tokens that came from a prefix cache."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0


def counts_of(snapshots: Iterable[Mapping[str, Any]]) -> Counts:
    """The sum of several journals' counters; what one does not count is 0."""
    totals: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for snapshot in snapshots:
        totals.update({name: int(snapshot.get(name, 0)) for name in COUNTERS})
        failed.update({str(kind): int(number) for kind, number in dict(snapshot.get("failed", {})).items()})
    return Counts(
        **{name: totals[name] for name in COUNTERS},
        failed={kind: failed[kind] for kind in sorted(failed) if failed[kind]},
    )


class Rate:
    """How fast a growing number grows, over the last minute."""

    def __init__(self, window_s: float = WINDOW_S) -> None:
        """Nothing seen yet."""
        self._window_s = window_s
        self._seen: deque[tuple[float, float]] = deque()

    def see(self, now: float, value: float) -> None:
        """The number at a moment; one that shrank belongs to a new counter."""
        if self._seen and value < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, value))
        while len(self._seen) > 2 and self._seen[1][0] <= now - self._window_s:
            self._seen.popleft()

    def per_second(self) -> float | None:
        """Growth per second; None while there is too little to say so."""
        if len(self._seen) < 2:
            return None
        (start, before), (end, after) = self._seen[0], self._seen[-1]
        return (after - before) / (end - start) if end > start else None
