"""A scripted agent: a WebSocket server that speaks our frames and misbehaves as a test wants."""

from __future__ import annotations

import asyncio
import select
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
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
        idle: Set while no client is connected.
    """

    url: str = ""
    visits: int = 0
    close_codes: list[int | None] = field(default_factory=list)
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def open_visits(self) -> int:
        return self.visits - len(self.close_codes)


class Serve(Protocol):
    """What the fixture ``serve_agent`` gives."""

    def __call__(self, script: Script, **options: Any) -> Any: ...


@asynccontextmanager
async def _serve(script: Script, **options: Any) -> AsyncIterator[FakeAgent]:
    agent = FakeAgent()
    agent.idle.set()
    faults: list[BaseException] = []

    async def visit(websocket: ServerConnection) -> None:
        agent.visits += 1
        agent.idle.clear()
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
            if not agent.open_visits:
                agent.idle.set()

    host = options.pop("host", "127.0.0.1")
    async with serve(visit, host, 0, **options) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        agent.url = f"ws://[{host}]:{port}" if ":" in host else f"ws://{host}:{port}"
        yield agent
        async with asyncio.timeout(5):
            await agent.idle.wait()
    for fault in faults:
        raise fault


@pytest.fixture
def serve_agent() -> Serve:
    """``async with serve_agent(script) as agent``: the script runs once a connection.

    A script's own failure fails the test, and so does a client that stays connected.
    """
    return _serve


class Child:
    """A script of this folder, running in a process of its own; ends when its stdin closes."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log

    def write(self, line: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def line(self) -> str:
        """Return its next line of output; fail with its log if there is none in a minute."""
        assert self._process.stdout
        readable, _, _ = select.select([self._process.stdout], [], [], 60)
        line = self._process.stdout.readline() if readable else ""
        assert line, f"the child said nothing; its log ends:\n{self._log.read_text()[-3000:]}"
        return line.strip()


class StartChild(Protocol):
    """What the fixture ``start_child`` gives."""

    def __call__(self, script: str) -> AbstractContextManager[Child]: ...


@pytest.fixture(scope="session")
def start_child(tmp_path_factory: pytest.TempPathFactory) -> StartChild:
    """``with start_child("script.py") as child``: Pipecat stays out of the tests' own process."""

    @contextmanager
    def start(script: str) -> Iterator[Child]:
        path = Path(__file__).with_name(script)
        log = tmp_path_factory.mktemp("child") / f"{script}.log"
        with (
            log.open("w") as stderr,
            subprocess.Popen(
                [sys.executable, str(path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            ) as process,
        ):
            try:
                yield Child(process, log)
            finally:
                assert process.stdin
                with suppress(BrokenPipeError):
                    process.stdin.close()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()

    return start
