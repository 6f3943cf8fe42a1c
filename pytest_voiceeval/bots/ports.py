"""Free ports for bots that cannot be handed a bound socket."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "127.0.0.1"
TRIES = 50


class NoFreePortError(OSError):
    """This machine gave no port that is free on loopback."""


@contextmanager
def reserved_port() -> Iterator[int]:
    """Give a free TCP port on loopback that no other process of ours picks meanwhile.

    The bot must be able to bind the port, so it cannot be held. Instead the UDP port of the same
    number is held while the context lasts: every process that picks ports this way avoids it, and
    the system gives it back should we die.

    Raises:
        NoFreePortError: none was found.
    """
    for _ in range(TRIES):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
            port = _free_port(holder)
            if port is not None:
                yield port
                return
    msg = f"no free TCP port on {HOST} in {TRIES} tries"
    raise NoFreePortError(msg)


def _free_port(holder: socket.socket) -> int | None:
    """Let the system pick a TCP port and take its UDP namesake; None if that one is taken."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        try:
            holder.bind((HOST, port))
        except OSError:
            return None
        return port
