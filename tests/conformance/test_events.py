"""Events: never lost, in order, and tolerant of odd messages."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from pytest_voiceeval.wire.connection import Deadlines, Event, WireOptions, connect
from pytest_voiceeval.wire.errors import ConnectionLost, ProtocolBroken
from pytest_voiceeval.wire.frames import (
    AudioFrame,
    Frame,
    InterruptionFrame,
    MessageFrame,
    TextFrame,
    TranscriptionFrame,
)
from pytest_voiceeval.wire.rtvi import Envelope

if TYPE_CHECKING:
    from pytest_voiceeval.wire.connection import Connection
    from tests.conformance.conftest import Serve, Visit

SOUND = AudioFrame(bytes(1920), 24000, 1, id=7, name="TTSAudioRawFrame#7")
WORDS = Envelope("bot-tts-text", {"text": "hi"})


async def collect(conn: Connection, into: list[Event]) -> None:
    async for event in conn.events():
        into.append(event)


async def stay(visit: Visit) -> None:
    await visit.ready()
    await visit.stay()


async def test_all_kinds_in_order_with_their_time(serve_agent: Serve) -> None:
    sent: list[Frame | Envelope] = [SOUND, InterruptionFrame(3, "I#3"), WORDS, SOUND]

    async def script(visit: Visit) -> None:
        await visit.ready()
        await visit.send(*sent)
        await visit.websocket.close(1000)

    start = time.monotonic()
    async with serve_agent(script) as agent, connect(agent.url) as conn:
        events: list[Event] = []
        with pytest.raises(ConnectionLost) as caught:
            await collect(conn, events)
        assert [event.kind for event in events] == sent
        times = [event.at for event in events]
        assert start < times[0] <= times[-1] <= time.monotonic()
        assert times == sorted(times)
        assert (caught.value.code, caught.value.by_peer) == (1000, True)
        assert "the bot closed the connection: 1000 (normal closure)" in str(caught.value)
        with pytest.raises(ConnectionLost) as again:  # a second look says the same
            await anext(conn.events())
        assert again.value is not caught.value


async def test_events_wait_while_requests_go_on(serve_agent: Serve) -> None:
    async def script(visit: Visit) -> None:
        await visit.ready()
        for number in range(20):
            request = await visit.expect("client-message")
            await visit.send(SOUND, Envelope("server-message", {"n": number}))
            await visit.answer(request, number)
        await visit.websocket.close(1001)

    async with serve_agent(script) as agent, connect(agent.url) as conn:
        assert [await conn.request("x") for _ in range(20)] == list(range(20))
        seen: list[Event] = []
        with pytest.raises(ConnectionLost, match="1001"):
            await collect(conn, seen)
        assert len(seen) == 40
        numbers = [event.kind.data["n"] for event in seen if isinstance(event.kind, Envelope)]
        assert numbers == list(range(20))


async def test_iteration_survives_timeouts_and_breaks(serve_agent: Serve) -> None:
    go_on = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.ready()
        for number in range(3):
            await visit.send(Envelope("server-message", number))
        await go_on.wait()
        await visit.send(Envelope("server-message", 3))
        await visit.stay()

    async with serve_agent(script) as agent, connect(agent.url) as conn:
        async for event in conn.events():
            assert event.kind == Envelope("server-message", 0)
            break
        events = conn.events()
        seen = [(await anext(events)).kind for _ in range(2)]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await anext(events)
        go_on.set()
        seen.append((await anext(events)).kind)
        assert seen == [Envelope("server-message", number) for number in (1, 2, 3)]


async def test_close_ends_iteration_without_an_error(serve_agent: Serve) -> None:
    async with serve_agent(stay) as agent:
        async with connect(agent.url) as conn:
            seen: list[Event] = []
            reading = asyncio.create_task(collect(conn, seen))
            await asyncio.sleep(0.02)
            await conn.close()
            await reading
            await conn.close()
        await collect(conn, seen)
        assert seen == []
    assert agent.close_codes == [1000]


async def test_full_backlog_is_an_error_not_a_loss(serve_agent: Serve) -> None:
    async def script(visit: Visit) -> None:
        await visit.ready()
        for _ in range(100):
            await visit.send(SOUND)
        await visit.stay()

    options = WireOptions(max_backlog=20_000)
    start = time.monotonic()
    async with serve_agent(script) as agent, connect(agent.url, options=options) as conn:
        with pytest.raises(ProtocolBroken, match=r"events of \d+ bytes wait"):
            await conn.request("x", deadline=5)
        seen: list[Event] = []
        with pytest.raises(ProtocolBroken, match=r"the limit is 20000 bytes \(max_backlog\)"):
            await collect(conn, seen)
        assert [event.kind for event in seen] == [SOUND] * 8
        assert not conn.peer_closed
    assert agent.close_codes == [1002]
    assert time.monotonic() - start < Deadlines().close  # the rest is not in the way of closing


# Odd messages


async def test_one_bad_message_between_good_ones(serve_agent: Serve) -> None:
    bad: list[bytes | str | Frame] = [
        b"\xff",
        '{"event": "media"}',
        MessageFrame("{not json"),
        MessageFrame("[1]"),
    ]

    async def script(visit: Visit) -> None:
        await visit.ready()
        for message in bad:
            await visit.send(message, SOUND)
        await visit.send(b"", b"\x00", SOUND)
        request = await visit.expect("client-message")
        await visit.answer(request, "fine")
        await visit.stay()

    async with serve_agent(script) as agent, connect(agent.url) as conn:
        assert await conn.request("x") == "fine"
        events = conn.events()
        assert [(await anext(events)).kind for _ in range(5)] == [SOUND] * 5
        assert len(conn.warnings) == 6
        assert all(text.startswith("bad message skipped: ") for text in conn.warnings)
        assert 'text message, expected binary: \'{"event": "media"}\'' in conn.warnings[1]
        assert "message is not JSON" in conn.warnings[2]


@pytest.mark.parametrize(
    "bad", [b"\xff", '{"event": "media"}', MessageFrame("{}[")], ids=["bytes", "text", "json"]
)
async def test_three_bad_messages_in_a_row(
    serve_agent: Serve, bad: bytes | str | MessageFrame
) -> None:
    async def script(visit: Visit) -> None:
        await visit.ready()
        await visit.send(SOUND, bad, bad, bad)
        await visit.stay()

    async with serve_agent(script) as agent, connect(agent.url, peer="agent") as conn:
        with pytest.raises(ProtocolBroken, match="3 bad messages in a row; the last: "):
            await conn.request("x", deadline=60)
        events = conn.events()
        assert (await anext(events)).kind == SOUND
        with pytest.raises(ProtocolBroken, match=f"^agent at {agent.url}: "):
            await anext(events)
        assert len(conn.warnings) == 2
    assert agent.close_codes == [1002]


async def test_unknown_types_labels_and_frames_are_warnings(serve_agent: Serve) -> None:
    news = Envelope("bot-mood", {"mood": "good"})

    async def script(visit: Visit) -> None:
        await visit.ready()
        for _ in range(3):
            await visit.send(news, MessageFrame('{"label": "other", "type": "x"}'))
            await visit.send(TextFrame("hi"), TranscriptionFrame("hi", "u", "t"))
        await visit.send(SOUND)
        await visit.stay()

    async with serve_agent(script) as agent, connect(agent.url) as conn:
        events = conn.events()
        assert [(await anext(events)).kind for _ in range(4)] == [news, news, news, SOUND]
        assert conn.warnings == [
            "RTVI message of unknown type 'bot-mood'",
            "message skipped: message is labelled 'other', not 'rtvi-ai'",
            "TextFrame skipped: bots send text as RTVI messages",
            "TranscriptionFrame skipped: bots send text as RTVI messages",
        ]
