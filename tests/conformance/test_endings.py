"""How connections end: closed, reset, broken, cancelled; and that nothing is left behind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_voiceeval.wire.connection import Deadlines, WireOptions, connect
from pytest_voiceeval.wire.errors import ConnectionLost, HandshakeFailed, ProtocolBroken
from pytest_voiceeval.wire.rtvi import Envelope

if TYPE_CHECKING:
    from pytest_voiceeval.wire.connection import Connection
    from tests.conformance.conftest import Serve, Visit

WORDS = Envelope("bot-tts-text", {"text": "hi"})


async def exhaust(conn: Connection) -> None:
    async for _ in conn.events():
        pass


async def stay(visit: Visit) -> None:
    await visit.ready()
    await visit.stay()


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
            await exhaust(conn)

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
        async with connect(agent.url, Deadlines(close=0.5)) as conn:
            waiting = asyncio.create_task(conn.request("x"))
            await asyncio.sleep(0.02)
            start = time.monotonic()
            closing = asyncio.create_task(conn.close())
            with pytest.raises(ConnectionLost, match="this side closed"):
                await waiting
            assert time.monotonic() - start < 0.4  # it did not wait for the close deadline
            await closing
        assert 0.4 < time.monotonic() - start < 3
        assert conn.warnings == ["no closing handshake within 0.5 s (close deadline)"]
        await exhaust(conn)
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
