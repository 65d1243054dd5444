"""What every test of the default tier gets: no network beyond this machine, and a desk with the scripted model."""

import ipaddress
import os
import socket
from typing import Any

import pytest
from hypothesis import settings

from sim.llm.scripted import Scripted
from sim.mind.desk import Desk
from tests.context.desks import a_desk

# No time limit for single examples: machines differ, and no test asserts a time. In CI the examples are the same ones.
settings.register_profile("lifeloop", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("lifeloop")

_OPEN_TIERS = ("ray", "engine", "gpu")


def _is_here(family: int, address: Any) -> bool:
    """Whether an address is on this machine."""
    if family not in (socket.AF_INET, socket.AF_INET6):
        return True
    host = str(address[0])
    return host == "localhost" or ((host[:1].isdigit() or ":" in host) and ipaddress.ip_address(host).is_loopback)


@pytest.fixture(autouse=True)
def closed_sockets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection to another machine, so that no test depends on one."""
    if any(request.node.get_closest_marker(tier) for tier in _OPEN_TIERS):
        return
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def guarded(method: Any) -> Any:
        def call(self: socket.socket, address: Any) -> Any:
            if not _is_here(self.family, address):
                raise OSError(f"the default tier has no network: {address} is another machine")
            return method(self, address)

        return call

    monkeypatch.setattr(socket.socket, "connect", guarded(connect))
    monkeypatch.setattr(socket.socket, "connect_ex", guarded(connect_ex))


@pytest.fixture
def desk() -> Desk:
    """A desk of a small world whose model is the scripted one."""
    return a_desk(Scripted())
