"""Stock bots as processes, spoken to over the wire, their model a few lines of HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.wire.connection import Connection, Deadlines, connect
from pytest_voiceeval.wire.rtvi import Envelope

Reply = list[str | tuple[str, str]]
Model = Callable[[list[dict[str, Any]]], Reply]
TURN_DEADLINE = 10.0
DEADLINES = Deadlines(connect=10, ready=10, request=10)


class FakeModel(ThreadingHTTPServer):
    """An OpenAI-compatible endpoint; a session's model maps messages to text and calls."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Completions)
        self.models: dict[str, Model] = {}
        self.requests: dict[str, list[Any]] = {}
        self.keys: set[str | None] = set()
        self._end = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/{{session}}/v1"

    def hang(self, messages: list[dict[str, Any]]) -> Reply:
        """A model that answers when nobody waits any more."""
        self._end.wait(30)
        return ["Too late."]

    def release(self) -> None:
        self._end.set()


class _Completions(BaseHTTPRequestHandler):
    server: FakeModel

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        session = self.path.split("/")[1]
        self.server.keys.add(self.headers["authorization"])
        self.server.requests.setdefault(session, []).append(request)
        self.send_response(200)
        self.end_headers()
        reply = self.server.models[session](request["messages"])
        for delta in deltas(reply):
            self._event(choices=[{"index": 0, "delta": delta}])
        reason = "stop" if all(isinstance(part, str) for part in reply) else "tool_calls"
        self._event(choices=[{"index": 0, "delta": {}, "finish_reason": reason}])
        usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
        self._event(choices=[], usage=usage)
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, **fields: Any) -> None:
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
        self.wfile.write(f"data: {json.dumps(chunk | fields)}\n\n".encode())

    def handle(self) -> None:
        with suppress(ConnectionError):  # the bot hung up on a model that hangs
            super().handle()

    def log_message(self, *_: Any) -> None: ...


def deltas(reply: Reply) -> Iterator[dict[str, Any]]:
    """The chunks of a reply: text at its bars, each call in two pieces."""
    index = 0
    for part in reply:
        if isinstance(part, str):
            yield from ({"content": piece} for piece in part.split("|"))
            continue
        function = {"name": part[0], "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": f"call{index}", "function": function}]}
        yield {"tool_calls": [{"index": index, "function": {"arguments": part[1]}}]}
        index += 1


class Seen(list[Envelope]):
    """The messages of one turn."""

    def of_type(self, kind: str) -> list[Any]:
        return [envelope.data for envelope in self if envelope.type == kind]

    @property
    def text(self) -> str:
        """What the model said."""
        return "".join(data["text"] for data in self.of_type("bot-llm-text"))


class Talk:
    """A connection to a bot, ready to talk."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.request = connection.request

    async def turn(self, text: str, last: str | None = None) -> Seen:
        """Say something; return the messages up to the given type, or to the answer's end."""
        await self.connection.send_text(text)
        return await (self.until(last) if last else self.answer())

    async def answer(self) -> Seen:
        """The messages up to the end of a reply that calls no tool.

        What follows depends on the version: before 1.13 a bot without a voice has no `bot-output`.
        """
        seen = Seen()
        while True:
            reply = await self.until("bot-llm-stopped")
            seen += reply
            # a reply that was cut off before may end now
            if reply.of_type("bot-llm-started") and not reply.of_type("llm-function-call-started"):
                return seen

    async def history(self, last: str) -> list[dict[str, Any]]:
        """The context once it ends with this text; a reply is noted down a moment after its end."""
        async with asyncio.timeout(TURN_DEADLINE):
            while True:
                answer = await self.request("get_context_history")
                messages: list[dict[str, Any]] = json.loads(answer["context"])
                if messages[-1]["content"] == last:
                    return messages
                await asyncio.sleep(0.01)

    async def until(self, last: str) -> Seen:
        seen = Seen()
        try:
            async with asyncio.timeout(TURN_DEADLINE):
                async for event in self.connection.events():
                    if isinstance(event.kind, Envelope):
                        seen.append(event.kind)
                        if event.kind.type == last:
                            return seen
        except TimeoutError:
            pass
        raise AssertionError(f"no {last} in {seen}")


@asynccontextmanager
async def talking_to(url: str) -> AsyncIterator[Talk]:
    async with connect(url, DEADLINES) as connection:
        yield Talk(connection)


@dataclass
class Bot:
    """A running bot: what its ready line says, and where its log is."""

    process: subprocess.Popen[str]
    ready: dict[str, Any]
    log: Path

    def talk(self, session: str | None) -> AbstractAsyncContextManager[Talk]:
        """Connect to a session; None is the path without one."""
        url = self.ready["url"]
        plain = url.removesuffix("/{session}")
        return talking_to(url.replace("{session}", session) if session else plain)


@contextmanager
def running_bot(folder: Path, *options: str, **env: str) -> Iterator[Bot]:
    log = folder / "bot.log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest_voiceeval.bots.stock", *options],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=os.environ | {"OPENAI_API_KEY": "not for this endpoint"} | env,
        )
    assert process.stdout is not None
    with process, process.stdout:
        try:
            line = process.stdout.readline()
            assert line, log.read_text()
            yield Bot(process, json.loads(line), log)
        finally:
            process.terminate()
            process.wait(5)


@pytest.fixture(scope="session")
def model() -> Iterator[FakeModel]:
    with FakeModel() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.release()
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def data_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    (root / "db.json").write_text('{"flights": {"F1": {"seats": 3}}}')
    return root


@pytest.fixture(scope="session")
def bot(
    model: FakeModel, data_root: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bot]:
    """One bot for all tests that need no special one; each test has a session of its own."""
    options = ("--role", "agent", "--llm-url", model.url, "--model", "m1", "--seed", "7")
    folder = tmp_path_factory.mktemp("bot")
    with running_bot(folder, *options, EVAL_DATA_ROOT=str(data_root)) as running:
        yield running


StartBot = Callable[..., AbstractContextManager[Bot]]


@pytest.fixture
def start_bot(tmp_path: Path) -> StartBot:
    """Start a bot with options and environment of its own."""
    return lambda *options, **env: running_bot(tmp_path, *options, **env)


@pytest.fixture
def talk_to() -> Callable[[str], AbstractAsyncContextManager[Talk]]:
    """Connect to any bot, by its address."""
    return talking_to


@pytest.fixture
def session(request: pytest.FixtureRequest) -> str:
    return re.sub(r"\W+", "-", request.node.name)[:150]


@pytest.fixture
def echo() -> Model:
    return lambda messages: [f"You said |{messages[-1]['content']}|."]
