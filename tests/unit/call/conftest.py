"""A scripted bot on a real socket, a scenario without a domain, and short limits."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from pytest_voiceeval.call.caller import HangUp, Say
from pytest_voiceeval.call.limits import CallLimits
from pytest_voiceeval.call.result import Conversation, Utterance
from pytest_voiceeval.call.session import AgentLink, CallPlan, run_call
from pytest_voiceeval.wire import rtvi
from pytest_voiceeval.wire.frames import AudioFrame, MessageFrame, decode, encode
from pytest_voiceeval.wire.rtvi import Envelope

Reply = Callable[["FakeBot", str], Awaitable[None]]
NO_REPLY = object()


class FakeBot:
    """Answers the set-up and the read-outs from a table and each message from a list of replies.

    Attributes:
        replies: What to do with the first, second... message; the last one is repeated.
        answers: Result of each request; an exception is an ``error-response``, NO_REPLY is silence,
            a callable gets the arguments.
        received: Every request and message, in order, with the number of its connection.
        said: The texts of all messages.
    """

    def __init__(self, *replies: Reply, **answers: Any) -> None:
        self.replies = list(replies)
        self.answers: dict[str, Any] = {
            "reset": True,
            "update_system_prompt": True,
            "apply_initialization": {"success": True, "errors": []},
            "configure_output": True,
            "get_context_history": {"context": "[]"},
            "get_scenario_summary": {"actions": [], "db_hash": None},
            **answers,
        }
        self.received: list[tuple[int, str, Any]] = []
        self.said: list[str] = []
        self.connections = 0
        self.open = 0
        self.url = ""
        self.ready_data: Any = {"version": "1.1.0"}
        self.on_connect: Callable[[FakeBot, int], Awaitable[None]] | None = None
        self.refuse_connection: int | None = None
        self.refuse_forever = False
        self._socket: ServerConnection | None = None
        self._talking: set[asyncio.Task[None]] = set()

    # -- what replies use

    async def send(self, *messages: Any) -> None:
        """Send envelopes, ``(type, data)`` pairs, bare types, audio frames or raw bytes."""
        assert self._socket is not None
        for message in messages:
            await self._socket.send(_wire_form(message))

    async def speak(self, text: str) -> None:
        """One plain reply: a model run with its words."""
        await self.send("bot-interrupted", "bot-llm-started")
        words = re.findall(r"\s*\S+", text)
        await self.send(*(("bot-llm-text", {"text": word}) for word in words))
        await self.send("bot-llm-stopped")

    async def exit(self) -> None:
        await self.send(("server-message", {"text": "<exit>The task is finished.</exit>"}))

    async def hang_up(self, code: int = 1000) -> None:
        assert self._socket is not None
        await self._socket.close(code)

    def drop(self) -> None:
        """Close the socket without a closing handshake, as a dying process does."""
        assert self._socket is not None
        self._socket.transport.abort()

    # -- the server

    async def serve_client(self, socket: ServerConnection) -> None:
        self.connections += 1
        number = self.connections
        first = self.refuse_connection or number + 1
        if number == first or (self.refuse_forever and number > first):
            await socket.close(1013, "busy")
            return
        self._socket, self.open = socket, self.open + 1
        try:
            async for data in socket:
                assert isinstance(data, bytes)
                frame = decode(data)
                assert isinstance(frame, MessageFrame)
                await self._receive(number, rtvi.parse(frame.data))
        except ConnectionClosed:
            pass
        finally:
            self.open -= 1
            for task in self._talking:
                task.cancel()
            await asyncio.gather(*self._talking, return_exceptions=True)

    async def _receive(self, number: int, message: Envelope) -> None:
        if message.type == "client-ready":
            await self.send(Envelope("bot-ready", self.ready_data, message.id))
            if self.on_connect:
                await self.on_connect(self, number)
        elif message.type == "send-text":
            self.received.append((number, "send-text", message.data))
            self.said.append(message.data["content"])
            self._start(self.replies[min(len(self.said), len(self.replies)) - 1], message)
        else:
            name, arguments = message.data["t"], message.data["d"]
            self.received.append((number, name, arguments))
            await self._answer(message, name, arguments)

    def _start(self, reply: Reply, message: Envelope) -> None:
        async def run() -> None:
            with suppress(ConnectionClosed):
                await reply(self, message.data["content"])

        task = asyncio.create_task(run())
        self._talking.add(task)
        task.add_done_callback(self._talking.discard)

    async def _answer(self, message: Envelope, name: str, arguments: Any) -> None:
        result = self.answers.get(name, LookupError(f"unknown message type: {name}"))
        if callable(result):
            result = result(arguments)
        if result is NO_REPLY:
            return
        if isinstance(result, Exception):
            await self.send(Envelope("error-response", {"error": str(result)}, message.id))
        else:
            data = {"t": name, "d": result}
            # written by hand: a bot may send NaN, which our own writer refuses
            text = json.dumps(
                {"label": "rtvi-ai", "type": "server-response", "id": message.id, "data": data}
            )
            await self.send(encode(MessageFrame(text)))

    def requests(self, *, connection: int | None = None) -> list[str]:
        return [name for number, name, _ in self.received if connection in {None, number}]

    def arguments(self, name: str) -> Any:
        """Arguments of the last request of that name."""
        return [data for _, found, data in self.received if found == name][-1]


def _wire_form(message: Any) -> bytes:
    if isinstance(message, bytes):
        return message
    if isinstance(message, AudioFrame):
        return encode(message)
    if isinstance(message, str):
        message = Envelope(message)
    elif isinstance(message, tuple):
        message = Envelope(*message)
    return encode(MessageFrame(rtvi.dump(message)))


def saying(text: str) -> Reply:
    async def reply(bot: FakeBot, heard: str) -> None:
        await bot.speak(text)

    return reply


def leaving(text: str = "Goodbye.") -> Reply:
    async def reply(bot: FakeBot, heard: str) -> None:
        await bot.speak(text)
        await bot.exit()

    return reply


@asynccontextmanager
async def serving(bot: FakeBot) -> AsyncIterator[FakeBot]:
    async with serve(bot.serve_client, "127.0.0.1", 0, close_timeout=1) as server:
        port = server.sockets[0].getsockname()[1]
        bot.url = f"ws://127.0.0.1:{port}/"
        yield bot


@dataclass
class FakeScenario:
    """Just what a call asks of a scenario."""

    name: str = "shop__return"
    domain: str = "shop"
    max_duration: float | None = None
    initialization_actions: Sequence[dict[str, Any]] | None = None
    expected_scenario_db: Any = None
    expected_user_db: Any = None
    db_state_assertions: Any = None
    reference_answer: Any = None
    noise_config: Any = None
    state: dict[str, Any] = field(default_factory=dict)

    def get_agent_prompt(self) -> str:
        return "You are the agent."

    def get_user_prompt(self) -> str:
        return "You are the caller."

    def get_agent_tools(self) -> str:
        return '{"EndConversationTool": {}}'

    def get_user_tools(self) -> str:
        return "{}"

    def setup_shared_state(self, state: dict[str, Any], side: str) -> None:
        state.update(self.state, side=side)


class Lines:
    """A caller with given answers; an exception among them is raised."""

    def __init__(self, *answers: Any, think: float = 0.0) -> None:
        self.answers = list(answers)
        self.think = think
        self.heard: list[tuple[Utterance, ...]] = []
        self.log: list[str] = []

    async def start(self) -> None:
        self.log.append("start")

    async def reply(self, transcript: Sequence[Utterance]) -> Say | HangUp:
        self.heard.append(tuple(transcript))
        await asyncio.sleep(self.think)
        answer = self.answers.pop(0) if self.answers else HangUp("nothing left to say")
        if isinstance(answer, Exception):
            raise answer
        return Say(answer) if isinstance(answer, str) else answer

    async def close(self) -> None:
        self.log.append("close")


SHORT = CallLimits(
    ready=1.0,
    connect=2.0,
    request=0.5,
    optional_request=0.2,
    turn_silence=0.5,
    caller=0.5,
    last_reply=0.5,
    speech_onset=0.05,
    speech_start=0.3,
    speech_gap=0.1,
    tool_settle=0.15,
    tool_wait=0.4,
    exit_settle=0.05,
    exit_words=1.0,
    pull=0.4,
    process_exit=0.3,
    max_duration=20.0,
)

Serving = Callable[[FakeBot], AbstractAsyncContextManager[FakeBot]]


@pytest.fixture
def kit() -> Any:
    """The names above, for tests of this folder."""

    class Kit:
        Bot = FakeBot
        Scenario = FakeScenario
        Lines = Lines
        no_reply = NO_REPLY
        limits = SHORT
        saying = staticmethod(saying)
        leaving = staticmethod(leaving)
        serving = staticmethod(serving)

        @staticmethod
        async def hold(bot: FakeBot, caller: Any = None, **plan: Any) -> Conversation:
            """One call against a bot that is being served."""
            scenario = plan.pop("scenario", None) or FakeScenario()
            probe = plan.pop("process_exit", None)
            return await run_call(
                CallPlan(
                    scenario=scenario,
                    agent=AgentLink(bot.url, probe),
                    caller=caller or Lines(),
                    limits=plan.pop("limits", SHORT),
                    **plan,
                )
            )

    return Kit
