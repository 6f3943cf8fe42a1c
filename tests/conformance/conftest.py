"""A scripted agent: a WebSocket server that speaks our frames and misbehaves as a test asks it to."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from pytest_voiceeval.wire import rtvi
from pytest_voiceeval.wire.frames import Frame, MessageFrame, decode, encode
from pytest_voiceeval.wire.rtvi import Envelope


class Visit:
    """One client's connection, as the agent sees it."""

    def __init__(self, websocket: ServerConnection, number: int) -> None:
        self.websocket = websocket
        self.number = number

    async def receive(self) -> Envelope | Frame:
        data = await self.websocket.recv()
        assert isinstance(data, bytes)
        frame = decode(data)
        return rtvi.parse(frame.data) if isinstance(frame, MessageFrame) else frame

    async def expect(self, kind: str) -> Envelope:
        """Return the next message of a type, skipping everything else."""
        while True:
            message = await self.receive()
            if isinstance(message, Envelope) and message.type == kind:
                return message

    async def send(self, *messages: Envelope | Frame | bytes | str) -> None:
        for message in messages:
            if isinstance(message, Envelope):
                await self.websocket.send(encode(MessageFrame(rtvi.dump(message))))
            else:
                raw = message if isinstance(message, bytes | str) else encode(message)
                await self.websocket.send(raw)

    async def ready(self) -> Envelope:
        """Do the handshake; return the client's ``client-ready``."""
        hello = await self.expect("client-ready")
        await self.send(Envelope("bot-ready", {"version": "1.1.0"}, hello.id))
        return hello

    async def answer(self, request: Envelope, result: Any) -> None:
        data = {"t": request.data["t"], "d": result}
        await self.send(Envelope("server-response", data, request.id))

    async def stay(self) -> None:
        """Keep the connection until the client closes it."""
        await self.websocket.wait_closed()

    def break_off(self) -> None:
        """Reset the TCP connection, as a killed process does."""
        linger = struct.pack("ii", 1, 0)
        self.websocket.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, linger
        )
        self.websocket.transport.abort()


Script = Callable[[Visit], Awaitable[None]]


@dataclass
class FakeAgent:
    """A running scripted agent.

    Attributes:
        url: Where it listens.
        visits: Connections it accepted.
        close_codes: The code of each connection that ended.
    """

    url: str = ""
    visits: int = 0
    close_codes: list[int | None] = field(default_factory=list)

    @property
    def open_visits(self) -> int:
        return self.visits - len(self.close_codes)


class Serve(Protocol):
    """What the fixture ``serve_agent`` gives."""

    def __call__(self, script: Script, **options: Any) -> Any: ...


@asynccontextmanager
async def _serve(script: Script, **options: Any) -> AsyncIterator[FakeAgent]:
    agent = FakeAgent()
    faults: list[BaseException] = []

    async def visit(websocket: ServerConnection) -> None:
        agent.visits += 1
        try:
            await script(Visit(websocket, agent.visits))
        except ConnectionClosed:
            pass
        except BaseException as exc:
            faults.append(exc)
            raise
        finally:
            await websocket.close()
            agent.close_codes.append(websocket.close_code)

    host = options.pop("host", "127.0.0.1")
    async with serve(visit, host, 0, **options) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        agent.url = f"ws://[{host}]:{port}" if ":" in host else f"ws://{host}:{port}"
        yield agent
        async with asyncio.timeout(5):
            while agent.open_visits:
                await asyncio.sleep(0.005)
    for fault in faults:
        raise fault


@pytest.fixture
def serve_agent() -> Serve:
    """``async with serve_agent(script) as agent``: the script runs once a connection.

    A script's own failure fails the test, and so does a client that stays connected.
    """
    return _serve
