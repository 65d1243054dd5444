"""Which replica serves which caller (pure): the same caller goes to the same replica, where its prefix is cached.

Rendezvous hashing: when a replica comes or goes, only the callers that it gains or had move.
"""

import hashlib
from collections.abc import Sequence


def replica_for(affinity: str, replicas: Sequence[str]) -> str:
    """The replica of an agent's name or an environment call's key; the order of the replicas doesn't matter."""
    if not replicas:
        raise ValueError("no replica is left to route to; wait for a restart")
    return max(replicas, key=lambda replica: (_weight(affinity, replica), replica))


def _weight(affinity: str, replica: str) -> bytes:
    return hashlib.sha256(f"{affinity}\x1f{replica}".encode()).digest()
