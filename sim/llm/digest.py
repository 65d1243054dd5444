"""The name of a prompt as the server saw it: a digest of its token ids, compared when training renders it again."""

import hashlib
import struct
from collections.abc import Sequence


def prompt_digest(ids: Sequence[int]) -> str:
    """First 32 hex digits of the SHA-256 over the ids as little-endian 32-bit numbers."""
    return hashlib.sha256(struct.pack(f"<{len(ids)}I", *ids)).hexdigest()[:32]
