"""Events: never lost, in order, and clear about how the connection ended."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_voiceeval.wire.connection import Deadlines, Event, WireOptions, connect
from pytest_voiceeval.wire.errors import ConnectionLost, HandshakeFailed, ProtocolBroken
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
        with pytest.raises(ConnectionLost):  # a second look says the same
            await anext(conn.events())


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
    async with serve_agent(script) as agent, connect(agent.url, options=options) as conn:
        with pytest.raises(ProtocolBroken, match=r"unread events hold \d+ bytes"):
            await conn.request("x", deadline=5)
        seen: list[Event] = []
        with pytest.raises(ProtocolBroken, match=r"the limit is 20000 \(max_backlog\): read"):
            await collect(conn, seen)
        assert [event.kind for event in seen] == [SOUND] * 8
        assert not conn.peer_closed
    assert agent.close_codes == [1002]


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


# How connections end


async def test_reset_is_told_from_a_close(serve_agent: Serve) -> None:
    async def script(visit: Visit) -> None:
        await visit.ready()
        await visit.send(WORDS)
        await visit.expect("client-message")
        visit.break_off()

    async with serve_agent(script) as agent, connect(agent.url, peer="agent") as conn:
        with pytest.raises(ConnectionLost) as caught:
            await conn.request("x", deadline=60)
        assert caught.value.abnormal
        assert (caught.value.code, caught.value.reason) == (1006, "")
        assert str(caught.value) == (
            f"agent at {agent.url}: connection lost without a close frame (1006, abnormal "
            "closure); the bot's process ended or the network dropped"
        )
        events = conn.events()
        assert (await anext(events)).kind == WORDS
        with pytest.raises(ConnectionLost):
            await anext(events)
        assert conn.peer_closed
        assert conn.closed


@pytest.mark.parametrize(
    ("ping_timeout", "survives"), [(None, True), (0.1, False)], ids=["tolerant", "strict"]
)
async def test_bot_that_answers_no_pings(
    serve_agent: Serve, ping_timeout: float | None, survives: bool
) -> None:
    async def script(visit: Visit) -> None:
        await visit.ready()
        visit.websocket.transport.pause_reading()
        await asyncio.sleep(0.5)
        visit.websocket.transport.resume_reading()
        request = await visit.expect("client-message")
        await visit.answer(request, "back again")
        await visit.stay()

    options = WireOptions(ping_interval=0.05, ping_timeout=ping_timeout)
    deadlines = Deadlines(close=0.3)
    async with serve_agent(script) as agent, connect(agent.url, deadlines, options=options) as conn:
        if survives:
            assert await conn.request("x") == "back again"
            assert not conn.closed
            return
        with pytest.raises(ConnectionLost) as caught:
            await conn.request("x")
        assert not caught.value.by_peer
        assert "1011 (internal error), reason 'keepalive ping timeout'" in str(caught.value)
        assert not conn.peer_closed


async def test_bot_that_breaks_the_websocket_protocol(serve_agent: Serve) -> None:
    async def script(visit: Visit) -> None:
        await visit.ready()
        visit.websocket.transport.write(b"\xf3\x00")  # reserved bits and opcode
        await visit.stay()

    async with serve_agent(script) as agent, connect(agent.url) as conn:
        with pytest.raises(ProtocolBroken, match="the bot broke the WebSocket protocol: "):
            await anext(conn.events())


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to count descriptors")
async def test_fifty_connections_leave_nothing_open(serve_agent: Serve) -> None:
    async with serve_agent(stay) as agent:
        async with connect(agent.url):
            pass
        before, tasks = descriptors(), len(asyncio.all_tasks())
        for _ in range(50):
            async with connect(agent.url) as conn:
                assert not conn.closed
        async with asyncio.timeout(5):
            await agent.idle.wait()
        await asyncio.sleep(0.05)  # the server's own end of the last socket
        assert descriptors() <= before
        assert len(asyncio.all_tasks()) <= tasks
    assert agent.close_codes == [1000] * 51


async def test_cancelled_call_closes_properly(serve_agent: Serve) -> None:
    connected = asyncio.Event()

    async def call(url: str) -> None:
        async with connect(url) as conn:
            connected.set()
            await collect(conn, [])

    async with serve_agent(stay) as agent:
        task = asyncio.create_task(call(agent.url))
        await connected.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("read ")]
    assert agent.close_codes == [1000]


async def test_cancelled_handshake_closes_properly(serve_agent: Serve) -> None:
    arrived = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.expect("client-ready")
        arrived.set()
        await visit.stay()

    async def call(url: str) -> None:
        async with connect(url):
            pytest.fail("the handshake passed")

    async with serve_agent(script) as agent:
        task = asyncio.create_task(call(agent.url))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert agent.close_codes == [1000]


async def test_error_in_the_call_passes_through_and_closes(serve_agent: Serve) -> None:
    async with serve_agent(stay) as agent:
        with pytest.raises(ZeroDivisionError):
            async with connect(agent.url):
                raise ZeroDivisionError
    assert agent.close_codes == [1000]


async def test_bot_that_never_answers_the_close(serve_agent: Serve) -> None:
    release = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.ready()
        visit.websocket.transport.pause_reading()
        await release.wait()
        visit.websocket.transport.resume_reading()
        await visit.stay()

    async with serve_agent(script) as agent:
        start = time.monotonic()
        async with connect(agent.url, Deadlines(close=0.2)) as conn:
            pass
        assert 0.15 < time.monotonic() - start < 3
        assert conn.warnings == ["no closing handshake within 0.2 s (close deadline)"]
        await collect(conn, [])
        release.set()


async def test_failed_handshake_does_not_wait_for_a_stubborn_close(serve_agent: Serve) -> None:
    release = asyncio.Event()

    async def script(visit: Visit) -> None:
        visit.websocket.transport.pause_reading()
        await release.wait()
        visit.websocket.transport.resume_reading()
        await visit.stay()

    async with serve_agent(script) as agent:
        start = time.monotonic()
        with pytest.raises(HandshakeFailed):
            async with connect(agent.url, Deadlines(ready=0.1, close=60)):
                pass
        assert time.monotonic() - start < 3
        release.set()


def test_websockets_is_loaded_by_the_first_connection_only() -> None:
    code = (
        "import sys, pytest_voiceeval.wire.connection; "
        "heavy = {'websockets', 'google.protobuf', 'pipecat'} & set(sys.modules); "
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
