"""No test reaches another machine: what a stand-in for AWS misses must not pass for tested."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


def is_here(host: Any) -> bool:
    """Whether a name or address is this machine's own; none at all is."""
    name = host.decode() if isinstance(host, bytes) else host
    here = ("", "::1", "0.0.0.0", "localhost")
    return name is None or name in here or name.startswith("127.") or name.endswith(".localhost")


@contextmanager
def no_other_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """While the block runs other machines are as good as absent; asking one fails at its end.

    At the end, since much of what is tested answers whatever goes wrong, and never raises.
    """
    asked: list[Any] = []
    look_up = socket.getaddrinfo

    def looking_up(host: Any, *rest: Any, **named: Any) -> Any:
        if not is_here(host):
            asked.append(host)
            raise socket.gaierror(socket.EAI_NONAME, "no test looks this up")
        return look_up(host, *rest, **named)

    def guarded(connect: Any) -> Any:
        def connecting(self: socket.socket, address: Any) -> Any:
            if isinstance(address, tuple) and not is_here(address[0]):
                asked.append(address)
                raise ConnectionRefusedError("no test connects to it")
            return connect(self, address)

        return connecting

    monkeypatch.setattr(socket, "getaddrinfo", looking_up)
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, guarded(getattr(socket.socket, name)))
    yield
    assert not asked, f"a test reached for {asked}"
