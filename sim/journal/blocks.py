"""Prompt parts stored once: named by the first 128 bits of their SHA-256, compressed where that helps."""

import zlib
from collections import OrderedDict
from collections.abc import Iterable

from sim.core.keys import digest_of

_RAW, _ZLIB = b"\x00", b"\x01"
_SHORT = 64


def digest(text: str) -> bytes:
    """The address of a text: 16 bytes."""
    return bytes.fromhex(digest_of(encode_text(text)))


def encode_text(text: str) -> bytes:
    """UTF-8; half surrogate pairs pass, since the record must hold whatever was said."""
    return text.encode("utf-8", "surrogatepass")


def decode_text(data: bytes) -> str:
    """The text of encode_text."""
    return data.decode("utf-8", "surrogatepass")


def pack(data: bytes) -> bytes:
    """Compressed with a mark, or plain where compression gains nothing."""
    if len(data) > _SHORT:
        small = zlib.compress(data, 6)
        if len(small) < len(data):
            return _ZLIB + small
    return _RAW + data


def unpack(packed: bytes) -> bytes:
    """What was packed; zlib.error if it is damaged."""
    return zlib.decompress(packed[1:]) if packed[:1] == _ZLIB else packed[1:]


class KnownBlocks:
    """Addresses that are certainly stored, so that their texts need not be sent again; the least used go first."""

    def __init__(self, capacity: int = 100_000) -> None:
        """Remember at most so many."""
        self._capacity = capacity
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def __contains__(self, address: bytes) -> bool:
        """Whether the block is stored for certain."""
        if address not in self._known:
            return False
        self._known.move_to_end(address)
        return True

    def learn(self, addresses: Iterable[bytes]) -> None:
        """These are stored now (call it only once that is durable)."""
        for address in addresses:
            self._known[address] = None
            self._known.move_to_end(address)
        while len(self._known) > self._capacity:
            self._known.popitem(last=False)
