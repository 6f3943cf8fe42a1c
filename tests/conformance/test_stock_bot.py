"""The stock bot as a process, spoken to over the wire, its model a few lines of HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.scoring.db_hash import get_dict_hash
from pytest_voiceeval.wire.connection import Connection, Deadlines, connect
from pytest_voiceeval.wire.errors import (
    BotBusy,
    ConnectionLost,
    ProtocolBroken,
    RequestRefused,
)
from pytest_voiceeval.wire.rtvi import Envelope

Call = tuple[str, str]
Model = Callable[[list[dict[str, Any]]], "list[str | Call]"]
DEADLINES = Deadlines(connect=10, ready=10, request=10)


class FakeModel(ThreadingHTTPServer):
    """An OpenAI-compatible endpoint; a session's model maps messages to text and calls."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Completions)
        self.models: dict[str, Model] = {}
        self.requests: dict[str, list[Any]] = {}
        self.keys: set[str | None] = set()
        self.hold = threading.Event()  # a model that waits for it hangs until the end of the test

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/{{session}}/v1"


class _Completions(BaseHTTPRequestHandler):
    server: FakeModel

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        session = self.path.split("/")[1]
        self.server.keys.add(self.headers["authorization"])
        self.server.requests.setdefault(session, []).append(request)
        self.send_response(200)
        self.end_headers()
        for delta in deltas(self.server.models[session](request["messages"])):
            self._event(choices=[{"index": 0, "delta": delta}])
        usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
        self._event(choices=[], usage=usage)
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, **fields: Any) -> None:
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
        self.wfile.write(f"data: {json.dumps(chunk | fields)}\n\n".encode())

    def log_message(self, *_: Any) -> None: ...


def deltas(reply: list[str | Call]) -> Iterator[dict[str, Any]]:
    index = 0
    for part in reply:
        if isinstance(part, str):
            yield from ({"content": word} for word in part.split("|"))
            continue
        function = {"name": part[0], "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": f"call{index}", "function": function}]}
        yield {"tool_calls": [{"index": index, "function": {"arguments": part[1]}}]}
        index += 1


@dataclass
class Bot:
    process: subprocess.Popen[str]
    ready: dict[str, Any]
    log: Path

    def url(self, session: str) -> str:
        return str(self.ready["url"]).replace("{session}", session)


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


@pytest.fixture(scope="module")
def model() -> Iterator[FakeModel]:
    with FakeModel() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.hold.set()
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def data_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    (root / "db.json").write_text('{"flights": {"F1": {"seats": 3}}}')
    return root


@pytest.fixture(scope="module")
def bot(
    model: FakeModel, data_root: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bot]:
    options = ("--role", "agent", "--llm-url", model.url, "--model", "m1", "--seed", "7")
    folder = tmp_path_factory.mktemp("bot")
    with running_bot(folder, *options, EVAL_DATA_ROOT=str(data_root)) as bot:
        yield bot


@pytest.fixture
def session(request: pytest.FixtureRequest) -> str:
    return request.node.name.replace("[", "-").replace("]", "")


@asynccontextmanager
async def client(bot: Bot, session: str) -> AsyncIterator[Connection]:
    async with connect(bot.url(session), DEADLINES) as connection:
        yield connection


async def turn(connection: Connection, text: str, last: str = "bot-output") -> list[Envelope]:
    """Say something; the envelopes up to the given type."""
    await connection.send_text(text)
    seen = []
    async for event in connection.events():
        if isinstance(event.kind, Envelope):
            seen.append(event.kind)
            if event.kind.type == last:
                return seen
    raise AssertionError(f"no {last} came")


def of_type(seen: list[Envelope], kind: str) -> list[Any]:
    return [envelope.data for envelope in seen if envelope.type == kind]


def echo(messages: list[dict[str, Any]]) -> list[str | Call]:
    return [f"You said |{messages[-1]['content']}|."]


TOOLS = {"tools": '{"EndConversationTool": {}}'}


async def test_ready_line(bot: Bot) -> None:
    port = bot.ready["port"]
    assert bot.ready == {
        "event": "ready",
        "url": f"ws://127.0.0.1:{port}/ws/{{session}}",
        "port": port,
        "pid": bot.process.pid,
        "role": "agent",
    }


async def test_plain_turn(bot: Bot, model: FakeModel, session: str) -> None:
    model.models[session] = echo
    async with client(bot, session) as connection:
        await connection.request("update_system_prompt", {"prompt": "p"})
        seen = await turn(connection, "hello")
    kinds = [e.type for e in seen if e.type not in ("metrics", "bot-interrupted", "user-input")]
    assert kinds == [
        "user-llm-text",
        "bot-llm-started",
        *["bot-llm-text"] * 3,
        "bot-transcription",
        "bot-llm-stopped",
        "bot-output",
    ]
    assert "".join(d["text"] for d in of_type(seen, "bot-llm-text")) == "You said hello."
    assert [d["text"] for d in of_type(seen, "bot-output")] == ["You said hello."]
    (tokens,) = [d["tokens"] for d in of_type(seen, "metrics") if "tokens" in d]
    assert tokens == [{"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}]
    (request,) = model.requests[session]
    assert request["messages"] == [
        {"role": "system", "content": "p"},
        {"role": "user", "content": "hello"},
    ]
    assert (request["model"], request["seed"]) == ("m1", 7)
    assert not {"temperature", "top_p", "tools"} & request.keys()


async def test_tool_turn(bot: Bot, model: FakeModel, session: str) -> None:
    def calls(messages: list[dict[str, Any]]) -> list[str | Call]:
        if messages[-1]["role"] == "tool":
            return ["Bye."]
        return [("no_such_tool", '{"a": 1}'), ("end_conversation", "")]

    model.models[session] = calls
    async with client(bot, session) as connection:
        await connection.request("update_system_prompt", {"prompt": "p", **TOOLS})
        seen = await turn(connection, "go")
    in_progress = of_type(seen, "llm-function-call-in-progress")
    assert [(d["function_name"], d["arguments"]) for d in in_progress] == [
        ("no_such_tool", {"a": 1}),
        ("end_conversation", {}),
    ]
    stopped = {d["function_name"]: d for d in of_type(seen, "llm-function-call-stopped")}
    assert stopped["no_such_tool"]["result"]["error_type"] == "unknown_tool"
    assert stopped["no_such_tool"]["result"]["available_tools"] == ["end_conversation"]
    assert stopped["end_conversation"]["result"]["success"] is True
    assert len(of_type(seen, "llm-function-call-started")) == len(stopped) == 2
    assert of_type(seen, "server-message") == [{"text": "<exit>The task is finished.</exit>"}]
    # The model is asked once more after both results, not once after each.
    assert len(of_type(seen, "bot-llm-started")) == len(of_type(seen, "bot-llm-stopped")) == 2
    results = [m for m in model.requests[session][1]["messages"] if m["role"] == "tool"]
    assert [m["tool_call_id"] for m in results] == ["call0", "call1"]


async def test_a_session_outlives_its_connections(bot: Bot, model: FakeModel, session: str) -> None:
    model.models[session] = lambda messages: (
        [("end_conversation", "{}")] if messages[-1]["content"] == "end" else ["Yes."]
    )
    init = {"domain": "d", "shared_state_init": '{"db_path": "db.json", "actions": [{"x": 1}]}'}
    async with client(bot, session) as connection:
        await connection.request("reset")
        await connection.request("update_system_prompt", {"prompt": "p", **TOOLS})
        reply = await connection.request("apply_initialization", init)
        assert reply == {"success": True, "errors": []}
        assert await connection.request("configure_output", {"audio": False}) is True
    async with client(bot, session) as connection:
        await turn(connection, "hello")
    async with client(bot, session) as connection:
        seen = await turn(connection, "end", last="server-message")
        assert seen[-1].data == {"text": "<exit>The task is finished.</exit>"}
        history = await connection.request("get_context_history")
        summary = await connection.request("get_scenario_summary", {"include_db": True})
    messages = json.loads(history["context"])
    assert [m["role"] for m in messages[:4]] == ["system", "user", "assistant", "user"]
    assert messages[2]["content"] == "Yes."
    db = {"flights": {"F1": {"seats": 3}}}
    assert summary == {"actions": [{"x": 1}], "db_hash": get_dict_hash(db), "db": db}


async def test_sessions_do_not_mix(bot: Bot, model: FakeModel, session: str) -> None:
    async with client(bot, session) as one, client(bot, f"{session}-2") as two:
        await one.request("apply_initialization", {"shared_state_init": '{"db": {"x": 1}}'})
        assert (await one.request("get_scenario_summary"))["db_hash"]
        assert (await two.request("get_scenario_summary"))["db_hash"] is None


async def test_a_session_takes_one_client_at_a_time(bot: Bot, session: str) -> None:
    async with client(bot, session) as first:
        with pytest.raises(BotBusy, match="already has a connected client"):
            async with client(bot, session):
                pass
        assert await first.request("reset") is True


async def test_path_without_a_session(bot: Bot, model: FakeModel) -> None:
    model.models["default"] = echo
    url = bot.url("x").removesuffix("/x")
    async with connect(url, DEADLINES) as connection:
        await connection.request("apply_initialization", {"shared_state_init": '{"db": {"x": 1}}'})
    async with client(bot, "default") as connection:
        assert (await connection.request("get_scenario_summary"))["db_hash"]


@pytest.mark.parametrize(
    ("type_", "arguments", "cause"),
    [
        ("update_system_prompt", {"prompt": ""}, "`prompt` must be a text that is not empty"),
        (
            "update_system_prompt",
            {"prompt": "p", "tools": '{"Nope": {}}', "tool_domain": "default"},
            "tool 'Nope' of domain 'default': UnknownToolError: no tool 'Nope'",
        ),
        ("configure_output", {"audio": True}, "this bot has no voice"),
        ("get_scenario_summary", {}, "StateError"),
        ("nonsense", {}, "unknown message type: nonsense"),
    ],
)
async def test_refusals_tell_why(
    bot: Bot, session: str, type_: str, arguments: Any, cause: str
) -> None:
    async with client(bot, session) as connection:
        await connection.request(
            "apply_initialization", {"shared_state_init": '{"db": {"x": NaN}}'}
        )
        with pytest.raises(RequestRefused, match=cause):
            await connection.request(type_, arguments)


async def test_a_new_prompt_stops_the_reply_under_way(
    bot: Bot, model: FakeModel, session: str
) -> None:
    def hang(messages: list[dict[str, Any]]) -> list[str | Call]:
        model.hold.wait(20)
        return ["Too late."]

    model.models[session] = hang
    async with client(bot, session) as connection:
        await turn(connection, "hello", last="bot-llm-started")
        await connection.request("update_system_prompt", {"prompt": "new"})
        model.models[session] = echo
        await turn(connection, "again")
        history = await connection.request("get_context_history")
    assert [m["content"] for m in json.loads(history["context"])] == [
        "new",
        "again",
        "You said again.",
    ]


async def test_ends_at_sigterm_with_a_hung_model(
    model: FakeModel, session: str, tmp_path: Path
) -> None:
    model.models[session] = lambda _: ["x"] if model.hold.wait(20) else ["x"]
    with running_bot(tmp_path, "--role", "user", "--llm-url", model.url) as bot:
        assert bot.ready["role"] == "user"
        with pytest.raises(ConnectionLost):
            async with client(bot, session) as connection:
                await turn(connection, "hello", last="bot-llm-started")
                bot.process.terminate()
                start = time.monotonic()
                assert bot.process.wait(5) == 0
                assert time.monotonic() - start < 1.5
                await turn(connection, "hello")
        assert bot.process.stdout is not None
        assert bot.process.stdout.read() == "", "stdout holds the ready line only"


async def test_unreachable_model_is_an_error_event(session: str, tmp_path: Path) -> None:
    with running_bot(tmp_path, "--role", "agent", "--llm-url", "http://127.0.0.1:9/v1") as bot:
        async with client(bot, session) as connection:
            seen = await turn(connection, "hello", last="error")
    assert seen[-1].data == {"error": "Error during completion: Connection error.", "fatal": False}


async def test_fault_crashes(model: FakeModel, session: str, tmp_path: Path) -> None:
    model.models[session] = echo
    options = ("--role", "agent", "--llm-url", model.url, "--fault", "crashes")
    with running_bot(tmp_path, *options) as bot:
        with pytest.raises(ConnectionLost):
            async with client(bot, session) as connection:
                await turn(connection, "one")
                await turn(connection, "two")
                async for _ in connection.events():
                    pass
        assert bot.process.wait(5) == 13
        assert "simulated fault 'crashes'" in bot.log.read_text().splitlines()[-1]


async def test_fault_garbage(model: FakeModel, session: str, tmp_path: Path) -> None:
    model.models[session] = echo
    options = ("--role", "agent", "--llm-url", model.url, "--fault", "garbage")
    with running_bot(tmp_path, *options) as bot, pytest.raises(ProtocolBroken):
        async with client(bot, session) as connection:
            await turn(connection, "one")
            await turn(connection, "two")
            await turn(connection, "three")


async def test_configuration_file(model: FakeModel, session: str, tmp_path: Path) -> None:
    model.models[session] = lambda messages: [f"{messages[0]['role']} {messages[0]['content']}."]
    file = tmp_path / "bot.yaml"
    file.write_text(
        f"llm: {{base_url: '{model.url}', system_prompt: hi, system_role: developer}}\n"
        f"server: {{talk_first: true, log_file: '{tmp_path / 'own.log'}'}}\n"
    )
    options = ("--role", "agent", "--api-key-name", "MY_KEY", "--session-ttl", "0")
    env = {"SERVER_CONFIG_PATH": str(file), "MY_KEY": "k-123"}
    with running_bot(tmp_path, *options, **env) as bot:
        for _ in range(2):  # forgotten in between, so it talks first each time
            async with client(bot, session) as connection:
                async for event in connection.events():
                    if isinstance(event.kind, Envelope) and event.kind.type == "bot-output":
                        assert event.kind.data["text"] == "developer hi."
                        break
        assert "Pipecat" in (tmp_path / "own.log").read_text()
        assert "k-123" not in bot.log.read_text()
    assert "Bearer k-123" in model.keys


def test_the_key_of_another_provider_is_not_sent(bot: Bot, model: FakeModel) -> None:
    assert model.keys
    assert not any("not for this endpoint" in str(key) for key in model.keys)
