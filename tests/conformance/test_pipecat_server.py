"""The connection against a real Pipecat server, which runs in a child process."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from pytest_voiceeval.wire.connection import Deadlines, WireOptions, connect
from pytest_voiceeval.wire.errors import (
    BotBusy,
    ConnectionLost,
    MessageTooLarge,
    RequestRefused,
    RequestTimeout,
)
from pytest_voiceeval.wire.frames import AudioFrame, InterruptionFrame, MessageFrame, encode
from pytest_voiceeval.wire.rtvi import Envelope, client_message, dump

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_voiceeval.wire.connection import Connection
    from tests.conformance.conftest import StartChild


@pytest.fixture(scope="module")
def urls(start_child: StartChild) -> Iterator[dict[str, str]]:
    with start_child("pipecat_bot.py") as child:
        yield json.loads(child.line())


@pytest.fixture(params=["single", "many"])
def url(urls: dict[str, str], request: pytest.FixtureRequest) -> str:
    """The bot's address: on Pipecat's own server, and under FastAPI."""
    return urls[request.param]


@pytest.fixture
def single(urls: dict[str, str]) -> str:
    return urls["single"]


async def events_until(conn: Connection, last: str) -> list[object]:
    """Return what comes up to and with the first message of a type."""
    kinds: list[object] = []
    async with asyncio.timeout(10):
        async for event in conn.events():
            kinds.append(event.kind)
            if isinstance(event.kind, Envelope) and event.kind.type == last:
                break
    return kinds


async def test_handshake(url: str) -> None:
    async with connect(url) as conn:
        assert conn.ready.data["version"] == "1.1.0"  # a 1.x client is served as one
        assert conn.ready.data["about"]["library"] == "pipecat-ai"
        assert conn.warnings == []


async def test_requests(url: str) -> None:
    async with connect(url, peer="agent") as conn:
        assert await conn.request("echo", {"a": [1, None, "é"]}) == {"a": [1, None, "é"]}
        assert await conn.request("none") is None
        with pytest.raises(RequestRefused) as caught:
            await conn.request("nope")
        assert caught.value.error == "unknown message type: nope"
        events = await events_until(conn, "server-message")
        assert events[-1] == Envelope(
            "server-message", {"type": "action-applied", "for": {"a": [1, None, "é"]}}
        )
        assert conn.warnings == []


async def test_replies_in_another_order(url: str) -> None:
    async with connect(url) as conn:
        slow = asyncio.create_task(conn.request("slow", {"seconds": 0.2}))
        await asyncio.sleep(0.05)
        assert await conn.request("echo", {"n": 2}) == {"n": 2}
        assert not slow.done()
        assert await slow == "slow"


async def test_late_reply(url: str) -> None:
    async with connect(url) as conn:
        with pytest.raises(RequestTimeout, match=r"'slow' within 0\.05 s"):
            await conn.request("slow", {"seconds": 0.15}, deadline=0.05)
        assert await conn.request("slow", {"seconds": 0.3}) == "slow"
        assert len(conn.warnings) == 1
        assert conn.warnings[0].startswith("late reply to 'slow'")


async def test_text_turn_with_speech(url: str) -> None:
    async with connect(url) as conn:
        await conn.send_text("Hello", audio_response=True)
        kinds = await events_until(conn, "bot-stopped-speaking")
        assert any(isinstance(kind, InterruptionFrame) for kind in kinds)
        sound = [kind for kind in kinds if isinstance(kind, AudioFrame)]
        assert {(frame.sample_rate, frame.num_channels) for frame in sound} == {(24000, 1)}
        assert b"".join(frame.audio for frame in sound).startswith(b"\1\0" * 2400)
        types = [kind.type for kind in kinds if isinstance(kind, Envelope)]
        assert types.index("bot-llm-started") < types.index("bot-llm-stopped")
        assert Envelope("bot-llm-text", {"text": "You said Hello."}) in kinds
        assert conn.warnings == []


async def test_audio_to_the_bot(url: str) -> None:
    async with connect(url) as conn:
        await conn.send_audio(AudioFrame(bytes(640), 16000, 1))
        assert (await events_until(conn, "server-message"))[-1] == Envelope(
            "server-message", {"heard": [640, 16000, 1]}
        )


async def test_second_client_of_a_single_client_bot(single: str) -> None:
    async with connect(single) as first:
        with pytest.raises(BotBusy, match="Server already has a connected client"):
            async with connect(single):
                pass
        assert await first.request("echo", {"n": 1}) == {"n": 1}


async def test_waiting_for_a_single_client_bot(single: str) -> None:
    async def hold(taken: asyncio.Event) -> None:
        async with connect(single):
            taken.set()
            await asyncio.sleep(0.3)

    async with asyncio.TaskGroup() as group:
        taken = asyncio.Event()
        group.create_task(hold(taken))
        await taken.wait()
        async with connect(single, busy_retry=True) as conn:
            assert await conn.request("echo", {"n": 1}) == {"n": 1}


async def test_reconnecting_at_once(url: str) -> None:
    for number in range(5):
        async with connect(url) as conn:
            assert await conn.request("echo", {"n": number}) == {"n": number}


def padded_to(size: int) -> dict[str, str]:
    """Return arguments that make a request of type ``size`` that many bytes on the wire."""
    probe = "x" * (size - 500)
    frame = encode(MessageFrame(dump(client_message("size", {"text": probe}))))
    return {"text": probe + "x" * (size - len(frame))}


async def test_one_mebibyte_passes_and_no_byte_more(single: str) -> None:
    limit = WireOptions().max_outgoing
    fits = padded_to(limit)
    async with connect(single) as conn:
        assert await conn.request("size", fits) == len(fits["text"])
        with pytest.raises(MessageTooLarge, match="'size' was not sent"):
            await conn.request("size", {"text": fits["text"] + "x"})
        assert await conn.request("echo", {"n": 1}) == {"n": 1}
    # The bot's own limit is where ours is: with ours raised, it closes.
    async with connect(single, options=WireOptions(max_outgoing=2 * limit)) as conn:
        with pytest.raises(ConnectionLost, match=r"1009 .* above the bot's own limit"):
            await conn.request("size", padded_to(limit + 1))


async def test_big_reply(url: str) -> None:
    async with connect(url, Deadlines(request=30)) as conn:
        reply = await conn.request("big", {"size": 3_000_000})
        assert len(reply["text"]) == 3_000_000
