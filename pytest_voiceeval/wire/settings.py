"""What a connection may take: deadlines in seconds, sizes in bytes, keepalive."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

MIB = 2**20


@dataclass(frozen=True)
class Deadlines:
    """The longest waits, in seconds; the one that ran out is named in the error.

    Attributes:
        connect: Opening the WebSocket, and with ``busy_retry`` all tries together.
        ready: From ``client-ready`` to ``bot-ready``, each try.
        request: A request that names no deadline of its own.
        send: The bot taking one message of ours from its socket.
        close: The closing handshake; afterwards the socket is dropped.

    Raises:
        ValueError: A deadline is not a positive, finite number.
    """

    connect: float = 10.0
    ready: float = 10.0
    request: float = 15.0
    send: float = 10.0
    close: float = 5.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (value > 0 and math.isfinite(value)):
                raise ValueError(f"the {field.name} deadline must be above 0 s, got {value!r}")


@dataclass(frozen=True)
class WireOptions:
    """Limits and switches that only unusual bots need.

    Attributes:
        max_incoming: Bytes of one message from the bot. 64 MiB holds any database a bot sends.
        max_outgoing: Bytes of one encoded frame to the bot. Servers built on ``websockets`` close
            with 1009 above 1 MiB; raise it for a bot known to take more.
        max_backlog: Bytes of events that wait for :meth:`Connection.events` (500 more are counted
            for each). Events are never dropped, so this bounds the memory; 256 MiB is over an hour
            of 24 kHz speech.
        ping_interval: Seconds between keepalive pings, None for none.
        ping_timeout: Seconds to wait for a pong, None to wait for ever: a bot whose loop is blocked
            by a model is slow, not gone, and every wait has a deadline of its own.
        use_proxy: True to honour ``HTTP_PROXY`` and its kin. Bots are mostly local, where a proxy
            is in the way.
    """

    max_incoming: int = 64 * MIB
    max_outgoing: int = MIB
    max_backlog: int = 256 * MIB
    ping_interval: float | None = 20.0
    ping_timeout: float | None = None
    use_proxy: bool = False
