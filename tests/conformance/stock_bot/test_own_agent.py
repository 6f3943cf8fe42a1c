"""The example bot, for one client at a time: as it is, and with a voice."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.wire.errors import BotBusy, ConnectFailed
from pytest_voiceeval.wire.frames import AudioFrame
from pytest_voiceeval.wire.rtvi import Envelope

if TYPE_CHECKING:
    from tests.conformance.stock_bot.conftest import FakeModel, Reply, Talk

    TalkTo = Callable[[str], AbstractAsyncContextManager[Talk]]
    Run = Callable[[Path, str], AbstractAsyncContextManager[str]]

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "own_agent" / "bot.py"
PROMPT = {"prompt": "p", "tools": '{"EndConversationTool": {}, "SendRTVIMessageTool": {}}'}
START_DEADLINE = 20.0

VOICE = """
from pipecat.frames.frames import TTSAudioRawFrame
from pipecat.services.tts_service import TTSService

class Voice(TTSService):
    async def run_tts(self, text, context_id):
        yield TTSAudioRawFrame(b"\\1\\0" * 2400, 24000, 1, context_id=context_id)
"""


@pytest.fixture
def speaking_bot(tmp_path: Path) -> Path:
    """The example with a TTS service in the place its comment names."""
    voice = "Voice(push_start_frame=True, push_stop_frames=True, sample_rate=24000)"
    replacements = {
        "llm, transport.output()": f"llm, {voice}, transport.output()",
        "ProtobufFrameSerializer()": "ProtobufFrameSerializer(), audio_out_enabled=True",
        "async def run_bot": f"{VOICE}\nasync def run_bot",
    }
    source = EXAMPLE.read_text()
    for old, new in replacements.items():
        assert source.count(old) == 1
        source = source.replace(old, new)
    file = tmp_path / "bot.py"
    file.write_text(source)
    return file


@pytest.fixture
def run(tmp_path: Path, talk_to: TalkTo) -> Run:
    """Run a bot program with a model; gives its address."""

    @asynccontextmanager
    async def running(program: Path, model_url: str) -> AsyncIterator[str]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, str(program), "--port", str(port), "--llm-url", model_url]
        log = tmp_path / "own.log"
        with log.open("w") as stderr:
            process = await asyncio.create_subprocess_exec(*command, stderr=stderr)
        url = f"ws://127.0.0.1:{port}"
        try:
            async with asyncio.timeout(START_DEADLINE):
                while not await answers(url, talk_to):
                    assert process.returncode is None, log.read_text()
                    await asyncio.sleep(0.1)
            yield url
        finally:
            if process.returncode is None:
                process.terminate()
            assert await process.wait() == 0, log.read_text()

    return running


async def answers(url: str, talk_to: TalkTo) -> bool:
    try:
        async with talk_to(url):
            return True
    except ConnectFailed:
        return False


def end_the_call(messages: list[dict[str, Any]]) -> Reply:
    if messages[-1]["role"] == "tool":
        return ["Goodbye then."]
    if messages[-1]["content"] == "end":
        return ["One moment.", ("end_conversation", "{}")]
    return ["Hello."]


async def test_serves_a_call(model: FakeModel, session: str, talk_to: TalkTo, run: Run) -> None:
    model.models[session] = end_the_call
    async with run(EXAMPLE, model.url.replace("{session}", session)) as url:
        async with talk_to(url) as talk:
            assert await talk.request("reset") is True
            assert await talk.request("update_system_prompt", PROMPT) is True
            init = {"shared_state_init": '{"db": {"x": 1}}'}
            reply = await talk.request("apply_initialization", init)
            assert reply == {"success": True, "errors": []}
            with pytest.raises(BotBusy):
                await talk_to(url).__aenter__()
        async with talk_to(url) as talk:
            await talk.turn("hello", last="bot-llm-stopped")
            seen = await talk.turn("end", last="llm-function-call-stopped")
            history = await talk.request("get_context_history")
            summary = await talk.request("get_scenario_summary", {"include_db": True})
        assert seen.of_type("server-message") == [{"text": "<exit>The task is finished.</exit>"}]
        assert seen[-1].data["function_name"] == "end_conversation"
        assert [m["role"] for m in json.loads(history["context"])][:3] == [
            "system",
            "user",
            "assistant",
        ]
        assert summary["db"] == {"x": 1}


async def audio_of_turn(talk: Talk, text: str) -> tuple[int, list[str]]:
    """Say something and listen for a while: audio frames, and the texts of the model."""
    await talk.connection.send_text(text)
    frames, texts = 0, []
    try:
        async with asyncio.timeout(1.5):
            async for event in talk.connection.events():
                frames += isinstance(event.kind, AudioFrame)
                if isinstance(event.kind, Envelope) and event.kind.type == "bot-llm-text":
                    texts.append(event.kind.data["text"])
    except TimeoutError:
        return frames, texts
    raise AssertionError("the connection ended")


def notify(messages: list[dict[str, Any]]) -> Reply:
    if messages[-1]["role"] == "tool":
        return ["Noted then."]
    return ["One moment.", ("send_rtvi_message", '{"message": "hi"}')]


async def test_silence_holds_after_a_tool_call(
    model: FakeModel, session: str, talk_to: TalkTo, run: Run, speaking_bot: Path
) -> None:
    model.models[session] = notify
    address = model.url.replace("{session}", session)
    async with run(speaking_bot, address) as url, talk_to(url) as talk:
        await talk.request("update_system_prompt", PROMPT)
        frames, _ = await audio_of_turn(talk, "end")
        assert frames > 0, "without the setting the reply after the tool call is spoken"
        assert await talk.request("configure_output", {"audio": False}) is True
        frames, texts = await audio_of_turn(talk, "end")
        assert frames == 0
        assert texts == ["One moment.", "Noted then."]
