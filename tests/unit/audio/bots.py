"""Scripted bots with a voice, on real sockets: they speak tones, and hear by energy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import numpy as np
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from pytest_voiceeval.wire import rtvi
from pytest_voiceeval.wire.frames import AudioFrame, InterruptionFrame, MessageFrame, decode, encode
from pytest_voiceeval.wire.rtvi import Envelope

Script = Callable[["SoundBot"], Awaitable[None]]
LOUD = 1000


def tone(seconds: float, rate: int = 24_000, hertz: float = 440.0) -> np.ndarray:
    """A tone with the full level from its first to its last sample."""
    phase = 2 * np.pi * hertz * (np.arange(round(seconds * rate)) + 0.5) / rate
    wave: np.ndarray = (12_000 * np.where(np.sin(phase) >= 0, 1, -1)).astype("<i2")
    return wave


class SoundBot:
    """A bot whose behaviour is a coroutine, started by the kickoff or by the first sound it gets.

    Attributes:
        frames: Audio frames it received: when, and what.
        requests: Names of the requests it got, on all connections.
        texts: What was sent to it as text.
    """

    def __init__(self, script: Script, *, waits_for_kickoff: bool = False, **answers: Any) -> None:
        self.script = script
        self.waits = waits_for_kickoff
        self.answers: dict[str, Any] = {
            "reset": True,
            "update_system_prompt": True,
            "apply_initialization": {"success": True, "errors": []},
            "configure_output": True,
            "get_context_history": {"context": "[]"},
            "get_scenario_summary": {"actions": [], "db_hash": None},
            **answers,
        }
        self.ready_data: Any = {"version": "1.1.0"}
        self.frames: list[tuple[float, AudioFrame]] = []
        self.requests: list[str] = []
        self.texts: list[str] = []
        self.connections = 0
        self.url = ""
        self._socket: ServerConnection | None = None
        self._talking: asyncio.Task[None] | None = None
        self._last_loud = 0.0
        self._heard = asyncio.Event()

    # -- what scripts use

    async def send(self, *messages: Any) -> None:
        assert self._socket is not None
        for message in messages:
            await self._socket.send(wire_form(message))

    async def play(
        self,
        samples: np.ndarray,
        *,
        rate: int = 24_000,
        channels: int = 1,
        frame: float = 0.04,
        at: float | None = None,
    ) -> None:
        """Send samples in real time, from now or from a moment on; channels are interleaved."""
        loop = asyncio.get_running_loop()
        began = loop.time() if at is None else at
        size = max(1, round(frame * rate)) * channels
        for number, start in enumerate(range(0, len(samples), size)):
            await asyncio.sleep(began + number * frame - loop.time())
            await self.send(AudioFrame(samples[start : start + size].tobytes(), rate, channels))
        await asyncio.sleep(began + len(samples) / channels / rate - loop.time())

    async def say(self, text: str, seconds: float = 0.4, at: float | None = None) -> None:
        """Speak, with the events a Pipecat bot sends around it."""
        words = {"text": text}
        await self.send("bot-llm-started", ("bot-llm-text", words), "bot-llm-stopped")
        if at is not None:
            await asyncio.sleep(at - asyncio.get_running_loop().time())
        await self.send("bot-started-speaking")
        await self.play(tone(seconds), at=at)
        await self.send(("bot-tts-text", words), "bot-stopped-speaking")

    async def exit(self) -> None:
        await self.send(("server-message", {"text": "<exit>The task is finished.</exit>"}))

    async def interrupted(self) -> None:
        await self.send(InterruptionFrame(), "bot-interrupted")

    async def hear(self, quiet: float = 0.25) -> float:
        """Wait for speech and for its end; return the time of its last sample."""
        self._heard.clear()
        await self._heard.wait()
        loop = asyncio.get_running_loop()
        while loop.time() - self._last_loud < quiet:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return self._last_loud

    async def hear_begin(self) -> float:
        """Wait for the first sound of speech; return when its frame came."""
        self._heard.clear()
        await self._heard.wait()
        return asyncio.get_running_loop().time()

    def drop(self) -> None:
        assert self._socket is not None
        self._socket.transport.abort()

    async def hang_up(self, code: int = 1000) -> None:
        assert self._socket is not None
        await self._socket.close(code)

    # -- the server

    async def serve_client(self, socket: ServerConnection) -> None:
        if self._socket is not None:
            await socket.close(1013, "Server already has a connected client")
            return
        self._socket = socket
        self.connections += 1
        try:
            async for data in socket:
                assert isinstance(data, bytes)
                await self._receive(decode(data))
        except ConnectionClosed:
            pass
        finally:
            self._socket = None
            if self._talking is not None:
                self._talking.cancel()
                await asyncio.wait({self._talking})

    async def _receive(self, frame: Any) -> None:
        if isinstance(frame, AudioFrame):
            self._listen(frame)
            return
        assert isinstance(frame, MessageFrame)
        message = rtvi.parse(frame.data)
        if message.type == "client-ready":
            await self.send(Envelope("bot-ready", self.ready_data, message.id))
        elif message.type == "send-text":
            self.texts.append(message.data["content"])
            self._start()
        else:
            self.requests.append(message.data["t"])
            data = {"t": message.data["t"], "d": self.answers[message.data["t"]]}
            await self.send(Envelope("server-response", data, message.id))

    def _listen(self, frame: AudioFrame) -> None:
        now = asyncio.get_running_loop().time()
        self.frames.append((now, frame))
        if not self.waits:
            self._start()
        loud = np.flatnonzero(np.abs(np.frombuffer(frame.audio, "<i2").astype(int)) > LOUD)
        if loud.size:
            self._last_loud = now + int(loud[-1] + 1) / frame.sample_rate
            self._heard.set()

    def _start(self) -> None:
        if self._talking is None:
            self._talking = asyncio.create_task(self._run())

    async def _run(self) -> None:
        with suppress(ConnectionClosed, AssertionError):
            await self.script(self)


def wire_form(message: Any) -> bytes:
    if isinstance(message, bytes):
        return message
    if isinstance(message, str):
        message = Envelope(message)
    elif isinstance(message, tuple):
        message = Envelope(*message)
    if isinstance(message, Envelope):
        message = MessageFrame(rtvi.dump(message))
    return encode(message)


@asynccontextmanager
async def serving(bot: SoundBot) -> AsyncIterator[SoundBot]:
    async with serve(bot.serve_client, "127.0.0.1", 0, close_timeout=1) as server:
        bot.url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        yield bot


async def silent(bot: SoundBot) -> None:
    """Say nothing at all."""


def answering(turns: int, delay: float, seconds: float = 0.4) -> Script:
    """An agent that greets, then answers each turn a known time after it, and leaves."""

    async def script(bot: SoundBot) -> None:
        await bot.say("Good day.", seconds)
        for turn in range(turns):
            heard = await bot.hear()
            await bot.say(f"Answer {turn}.", seconds, at=heard + delay)
        await bot.exit()

    return script


def asking(turns: int, delay: float = 0.3, seconds: float = 0.5) -> Script:
    """A caller that answers each turn of the agent."""

    async def script(bot: SoundBot) -> None:
        for turn in range(turns):
            heard = await bot.hear()
            await bot.say(f"Question {turn} please.", seconds, at=heard + delay)

    return script
