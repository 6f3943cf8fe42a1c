"""What we may send and receive: sizes, text, sound, and bots that do not listen."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.wire.connection import Deadlines, WireOptions, connect
from pytest_voiceeval.wire.errors import (
    ConnectionLost,
    MessageTooLarge,
    RequestTimeout,
    SendTimeout,
    WireError,
)
from pytest_voiceeval.wire.frames import AudioFrame, MessageFrame, encode
from pytest_voiceeval.wire.rtvi import Envelope, client_message, dump

if TYPE_CHECKING:
    from pytest_voiceeval.wire.connection import Connection
    from tests.conformance.conftest import Serve, Visit

SOUND = AudioFrame(bytes(range(256)) * 4, 24000, 1)


async def serve_echo(visit: Visit) -> None:
    """Answer every client-message with its own arguments."""
    await visit.ready()
    while True:
        request = await visit.expect("client-message")
        await visit.answer(request, request.data["d"])


def padding_for(size: int, kind: str) -> str:
    """Return the text that makes a request of ``kind`` exactly ``size`` bytes on the wire."""
    probe = "x" * (size - 200)
    rest = size - len(encode(MessageFrame(dump(client_message(kind, {"x": probe})))))
    return probe + "x" * rest


async def test_outgoing_limit_is_exact_and_the_connection_survives(serve_agent: Serve) -> None:
    async with serve_agent(serve_echo) as agent, connect(agent.url, peer="agent") as conn:
        text = padding_for(2**20, "echo")
        assert await conn.request("echo", {"x": text}) == {"x": text}
        with pytest.raises(MessageTooLarge) as caught:
            await conn.request("echo", {"x": text + "x"}, name="initialization")
        assert (caught.value.size, caught.value.limit) == (2**20 + 1, 2**20)
        assert str(caught.value).startswith(
            f"agent at {agent.url}: 'initialization' was not sent: its frame has 1048577 bytes, "
            "the limit is 1048576"
        )
        assert "raise max_outgoing" in str(caught.value)
        assert await conn.request("echo", {"x": "still here"}) == {"x": "still here"}


async def test_bot_with_a_smaller_limit_than_ours(serve_agent: Serve) -> None:
    async with (
        serve_agent(serve_echo, max_size=1000) as agent,
        connect(agent.url) as conn,
    ):
        with pytest.raises(ConnectionLost, match=r"1009.*above the bot's own limit: send less"):
            await conn.request("echo", {"x": "y" * 2000})


async def send_big(visit: Visit) -> None:
    await visit.ready()
    await visit.send(Envelope("server-message", {"text": "z" * 3_000_000}))
    await visit.stay()


async def test_three_mebibytes_from_the_bot_are_fine(serve_agent: Serve) -> None:
    async with serve_agent(send_big) as agent, connect(agent.url) as conn:
        event = await anext(conn.events())
        assert isinstance(event.kind, Envelope)
        assert len(event.kind.data["text"]) == 3_000_000


async def test_message_from_the_bot_above_the_limit(serve_agent: Serve) -> None:
    options = WireOptions(max_incoming=1_000_000)
    async with serve_agent(send_big) as agent, connect(agent.url, options=options) as conn:
        waiting = asyncio.create_task(conn.request("a"))
        with pytest.raises(MessageTooLarge) as caught:
            await anext(conn.events())
        assert caught.value.limit == 1_000_000
        assert caught.value.size is not None
        assert caught.value.size > 3_000_000
        assert f"with {caught.value.size} bytes" in str(caught.value)
        assert "the limit is 1000000 bytes (max_incoming)" in str(caught.value)
        with pytest.raises(MessageTooLarge):
            await waiting
        assert not conn.peer_closed


# Saying something


async def test_send_text_and_its_refusal(serve_agent: Serve) -> None:
    seen: list[Envelope] = []

    async def script(visit: Visit) -> None:
        await visit.ready()
        for _ in range(2):
            seen.append(await visit.expect("send-text"))
        error = {"error": "Unsupported type send-text"}
        await visit.send(Envelope("error-response", error, seen[-1].id))
        await visit.stay()

    async with serve_agent(script) as agent, connect(agent.url) as conn:
        first = await conn.send_text("Hello")
        second = await conn.send_text("Speak", audio_response=True)
        refusal = await anext(conn.events())
        assert refusal.kind == Envelope(
            "error-response", {"error": "Unsupported type send-text"}, second
        )
    assert [message.id for message in seen] == [first, second]
    assert first.startswith("send_text_")
    assert seen[0].data == {
        "content": "Hello",
        "options": {"run_immediately": True, "audio_response": False},
    }
    assert seen[1].data["options"]["audio_response"] is True


async def test_audio_arrives_as_sent(serve_agent: Serve) -> None:
    heard: list[Any] = []

    async def script(visit: Visit) -> None:
        await visit.ready()
        heard.append(await visit.receive())
        await visit.stay()

    async with serve_agent(script) as agent, connect(agent.url) as conn:
        await conn.send_audio(SOUND)
    assert heard == [SOUND]


async def send_much(conn: Connection) -> None:
    for _ in range(200):
        await conn.send_audio(AudioFrame(bytes(500_000), 16000, 1))


async def test_bot_that_does_not_read(serve_agent: Serve) -> None:
    release = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.ready()
        visit.websocket.transport.pause_reading()
        await release.wait()
        visit.websocket.transport.resume_reading()
        await visit.stay()

    deadlines = Deadlines(send=0.2, close=0.2)
    start = time.monotonic()
    async with serve_agent(script) as agent:
        async with connect(agent.url, deadlines) as conn:
            with pytest.raises(SendTimeout, match=r"not read .* for 0.2 s \(send deadline of 'aud"):
                await send_much(conn)
            with pytest.raises(RequestTimeout):
                await conn.request("reset", deadline=0.1)
        assert conn._socket.transport.is_closing()
        assert conn.warnings == ["no closing handshake within 0.2 s (close deadline)"]
        assert time.monotonic() - start < 10
        release.set()


async def test_bot_that_goes_while_we_are_sending(serve_agent: Serve) -> None:
    async def script(visit: Visit) -> None:
        await visit.ready()
        visit.websocket.transport.pause_reading()
        await asyncio.sleep(0.1)
        visit.break_off()

    async with serve_agent(script) as agent, connect(agent.url) as conn:
        with pytest.raises(ConnectionLost) as caught:
            await send_much(conn)
        assert (caught.value.code, caught.value.by_peer) == (1006, True)


async def test_every_error_is_a_wire_error() -> None:
    with pytest.raises(WireError):
        async with connect("nonsense"):
            pass
