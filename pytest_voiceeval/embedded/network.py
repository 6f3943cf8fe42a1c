"""A network in memory: what one party of an event loop writes, another reads, in that order."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Factory = Callable[[], asyncio.Protocol]

HOST = "127.0.0.1"
Address = tuple[str, int]


class Listener:
    """Stands for a socket that listens, as far as a server looks at it.

    Args:
        port: Where it listens.
    """

    def __init__(self, port: int) -> None:
        self.port = port

    def getsockname(self) -> Address:
        """Host and port."""
        return (HOST, self.port)

    def close(self) -> None:
        """Do nothing: nothing is held."""


class Network:
    """Servers by port, and connections to them; nothing leaves the process.

    Args:
        loop: Where all of it happens.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._servers: dict[int, Factory] = {}
        self._connections = 0
        self._idle, self._other_end = os.pipe()

    def close(self) -> None:
        """Give back what stood for sockets."""
        os.close(self._idle)
        os.close(self._other_end)

    def serve(self, factory: Factory, listener: Listener) -> Server:
        """Take connections.

        Raises:
            OSError: Its port is taken.
        """
        if listener.port in self._servers:
            raise OSError(errno.EADDRINUSE, f"port {listener.port} is taken")
        self._servers[listener.port] = factory
        return Server(self, listener)

    def leave(self, port: int) -> None:
        """Take no more connections to a port."""
        self._servers.pop(port, None)

    def serves(self, port: int) -> bool:
        """Whether somebody listens there."""
        return port in self._servers

    def connect(
        self, factory: Factory, host: str | None, port: int | None
    ) -> tuple[Pipe, asyncio.Protocol]:
        """Open a connection.

        Raises:
            ConnectionRefusedError: Nobody listens there; any other host is nobody.
        """
        accept = self._servers.get(port or 0) if host in {HOST, "localhost"} else None
        if accept is None:
            raise ConnectionRefusedError(
                errno.ECONNREFUSED, f"nobody listens at {host}:{port} on the virtual clock"
            )
        self._connections += 1
        near_end, far_end = (HOST, 50_000 + self._connections), (HOST, port or 0)
        client, server = factory(), accept()
        near = Pipe(self._loop, client, Peephole(self._idle, near_end, far_end))
        far = Pipe(self._loop, server, Peephole(self._idle, far_end, near_end))
        near.other, far.other = far, near
        server.connection_made(far)
        client.connection_made(near)
        return near, client


class Server(asyncio.AbstractServer):
    """What `create_server` returns."""

    def __init__(self, network: Network, listener: Listener) -> None:
        self._network = network
        self.sockets = (listener,)

    def close(self) -> None:
        """Take no more connections; those there are stay."""
        self._network.leave(self.sockets[0].port)

    async def wait_closed(self) -> None:
        """Return: there is nothing to wait for."""

    def is_serving(self) -> bool:
        """Whether it takes connections."""
        return self._network.serves(self.sockets[0].port)

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """The loop it lives in."""
        return asyncio.get_running_loop()

    async def start_serving(self) -> None:
        """Return: it does from the beginning."""

    async def serve_forever(self) -> None:
        """Return when cancelled."""
        await self.get_loop().create_future()


class Peephole:
    """Stands for the socket of a connection, as far as libraries look at it.

    Args:
        idle: A file descriptor on which nothing ever arrives.
        here: Address of this end.
        there: Address of the other end.
    """

    family = socket.AF_INET

    def __init__(self, idle: int, here: Address, there: Address) -> None:
        self.pipe: Pipe | None = None
        self._idle = idle
        self._here = here
        self._there = there

    def getsockname(self) -> Address:
        """Address of this end."""
        return self._here

    def getpeername(self) -> Address:
        """Address of the other end."""
        return self._there

    def setsockopt(self, *_option: Any) -> None:
        """Take an option; none matters."""

    def fileno(self) -> int:
        """One that is not readable; -1, which counts as readable, if something has arrived."""
        return -1 if self.pipe is None or self.pipe.readable else self._idle


class Pipe(asyncio.Transport):
    """One end of a connection. It never asks its writer to wait: the other end is right here.

    Args:
        loop: Delivers.
        protocol: Is delivered to.
        hole: Its socket, for those who ask.

    Attributes:
        other: The other end.
    """

    other: Pipe

    def __init__(
        self, loop: asyncio.AbstractEventLoop, protocol: asyncio.Protocol, hole: Peephole
    ) -> None:
        names = {"sockname": hole.getsockname(), "peername": hole.getpeername()}
        super().__init__({**names, "socket": hole})
        hole.pipe = self
        self._loop = loop
        self._protocol = protocol
        self._arrived: deque[bytes | None] = deque()  # None: the other end writes no more
        self._due = False
        self._paused = False
        self._closing = False
        self._ended = False

    # -- what the protocol at this end asks for

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Send."""
        if data and not (self._closing or self._ended):
            self.other.take(bytes(data))

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview[Any]]) -> None:
        """Send."""
        self.write(b"".join(list_of_data))

    def write_eof(self) -> None:
        """Send no more."""
        if not (self._closing or self._ended):
            self._ended = True
            self.other.take(None)

    def can_write_eof(self) -> bool:
        """It can."""
        return True

    def get_write_buffer_size(self) -> int:
        """Nothing waits at this end."""
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Take limits; none matters."""

    def pause_reading(self) -> None:
        """Keep what arrives."""
        self._paused = True

    def resume_reading(self) -> None:
        """Deliver again."""
        self._paused = False
        self._soon()

    def is_reading(self) -> bool:
        """Whether what arrives is delivered."""
        return not (self._paused or self._closing)

    def is_closing(self) -> bool:
        """Whether this end is closed, or about to be."""
        return self._closing

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Deliver to another one from now on: an upgrade."""
        assert isinstance(protocol, asyncio.Protocol)  # noqa: S101 - nobody here has buffers
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Who is delivered to."""
        return self._protocol

    def close(self) -> None:
        """End both directions; what was written arrives."""
        if self._closing:
            return
        self._closing = True
        if not self._ended:
            self.other.take(None)
        self._loop.call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        """The same: nothing waits to be written."""
        self.close()

    # -- what arrives from the other end

    @property
    def readable(self) -> bool:
        """Whether something has arrived that was not read, an end for example."""
        return bool(self._arrived) or self._closing

    def take(self, data: bytes | None) -> None:
        """Take what the other end sent."""
        self._arrived.append(data)
        self._soon()

    def _soon(self) -> None:
        if self._arrived and not (self._due or self._paused):
            self._due = True
            self._loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        self._due = False
        if self._paused or self._closing or not self._arrived:
            return
        data = self._arrived.popleft()
        if data is None:
            if not self._protocol.eof_received():
                self.close()
            return
        self._protocol.data_received(data)
        self._soon()
