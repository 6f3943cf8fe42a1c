"""Opening a connection: what a good bot, a busy bot, a wrong bot and no bot look like."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.wire.connection import Deadlines, WireOptions, connect
from pytest_voiceeval.wire.errors import (
    BotBusy,
    ConnectFailed,
    HandshakeFailed,
    WireError,
    WrongProtocol,
)
from pytest_voiceeval.wire.frames import AudioFrame, MessageFrame
from pytest_voiceeval.wire.rtvi import Envelope

if TYPE_CHECKING:
    from tests.conformance.conftest import Script, Serve, Visit

QUICK = Deadlines(connect=2.0, ready=0.5, close=0.5)
SOUND = AudioFrame(bytes(320), 16000, 1)


async def polite(visit: Visit) -> None:
    await visit.ready()
    await visit.stay()


async def failure_of(serve_agent: Serve, script: Script, **kw: Any) -> tuple[WireError, int]:
    """Connect to an agent that must not work; return the error and the number of connections."""
    async with serve_agent(script) as agent:
        with pytest.raises(WireError) as caught:
            async with connect(agent.url, QUICK, peer="agent", **kw):
                pytest.fail("the handshake passed")
    assert str(caught.value).startswith(f"agent at {agent.url}: ")
    return caught.value, agent.visits


async def test_client_ready_is_what_a_strict_server_wants(serve_agent: Serve) -> None:
    hellos: list[Envelope] = []

    async def script(visit: Visit) -> None:
        hellos.append(await visit.ready())
        await visit.stay()

    async with serve_agent(script) as agent:
        for _ in range(2):
            async with connect(agent.url) as conn:
                assert conn.ready == Envelope("bot-ready", {"version": "1.1.0"}, hellos[-1].id)
                assert not conn.closed
                assert conn.warnings == []
    for hello in hellos:
        assert hello.data["version"] == "1.1.0"
        assert hello.data["about"]["library"] == "pytest-voiceeval"
        assert isinstance(hello.data["about"]["library_version"], str)
        assert str(hello.id).startswith("client_ready_")
    assert hellos[0].id != hellos[1].id
    assert agent.close_codes == [1000, 1000]


async def test_second_bot_ready_and_version_complaint_are_tolerated(serve_agent: Serve) -> None:
    async def script(visit: Visit) -> None:
        hello = await visit.expect("client-ready")
        await visit.send(Envelope("error-response", {"error": "Compatibility issues"}, hello.id))
        await visit.send(Envelope("bot-ready", {"version": "2.2.0"}, hello.id))
        await visit.send(Envelope("bot-ready", {"version": "9.9.9"}, "other"), SOUND)
        await visit.stay()

    async with serve_agent(script) as agent, connect(agent.url) as conn:
        first = await anext(conn.events())
        assert first.kind == SOUND
        assert conn.ready.data == {"version": "2.2.0"}
        assert conn.warnings == [
            "the bot's answer to client-ready: {'error': 'Compatibility issues'}"
        ]


async def test_what_comes_before_bot_ready_is_not_lost(serve_agent: Serve) -> None:
    async def script(visit: Visit) -> None:
        await visit.send(SOUND, Envelope("bot-started-speaking"))
        await visit.ready()
        await visit.stay()

    async with serve_agent(script) as agent, connect(agent.url) as conn:
        events = conn.events()
        assert (await anext(events)).kind == SOUND
        assert (await anext(events)).kind == Envelope("bot-started-speaking")


async def send_audio_only(visit: Visit) -> None:
    for _ in range(3):
        await visit.send(SOUND)
    await visit.stay()


async def send_events_only(visit: Visit) -> None:
    await visit.send(Envelope("metrics", {}), Envelope("bot-llm-started"))
    await visit.stay()


async def send_foreign_label(visit: Visit) -> None:
    await visit.send(MessageFrame('{"label": "other"}'))
    await visit.stay()


async def send_nothing(visit: Visit) -> None:
    await visit.stay()


@pytest.mark.parametrize(
    ("script", "hint"),
    [
        pytest.param(
            send_audio_only,
            "3 audio frames came but no RTVI message: the bot's serializer may drop RTVI messages "
            "(ignore_rtvi_messages must be False)",
            id="audio-only",
        ),
        pytest.param(
            send_events_only,
            "RTVI messages came (metrics, bot-llm-started) but no bot-ready",
            id="events-only",
        ),
        pytest.param(
            send_foreign_label, "only messages of another protocol came", id="foreign-label"
        ),
        pytest.param(send_nothing, "nothing came: does its pipeline have", id="silence"),
    ],
)
async def test_missing_bot_ready_is_explained(
    serve_agent: Serve, script: Script, hint: str
) -> None:
    error, _ = await failure_of(serve_agent, script)
    assert isinstance(error, HandshakeFailed)
    assert error.code is None
    assert "no bot-ready within 0.5 s (ready deadline): " in str(error)
    assert hint in str(error)


async def test_close_after_client_ready_is_told_at_once(serve_agent: Serve) -> None:
    async def script(visit: Visit) -> None:
        await visit.expect("client-ready")
        await visit.websocket.close(1011, "no such flow")

    start = time.monotonic()
    error, visits = await failure_of(serve_agent, script)
    assert time.monotonic() - start < QUICK.connect
    assert isinstance(error, HandshakeFailed)
    assert not isinstance(error, BotBusy)
    assert (error.code, error.reason) == (1011, "no such flow")
    assert "closed before bot-ready: 1011 (internal error), reason 'no such flow'" in str(error)
    assert visits == 1


async def test_accept_then_close_is_not_retried(serve_agent: Serve) -> None:
    async def script(visit: Visit) -> None:
        await visit.websocket.close()

    error, visits = await failure_of(serve_agent, script, busy_retry=True)
    assert isinstance(error, HandshakeFailed)
    assert error.code == 1000
    assert visits == 1


async def test_reset_before_bot_ready(serve_agent: Serve) -> None:
    async def script(visit: Visit) -> None:
        await visit.expect("client-ready")
        visit.break_off()

    error, _ = await failure_of(serve_agent, script)
    assert isinstance(error, HandshakeFailed)
    assert "1006 (abnormal closure)" in str(error)


async def refuse(visit: Visit) -> None:
    await visit.websocket.close(1013, "Server already has a connected client")


async def test_busy_bot_without_retry(serve_agent: Serve) -> None:
    error, visits = await failure_of(serve_agent, refuse)
    assert isinstance(error, BotBusy)
    assert error.code == 1013
    assert "serves another client: 1013 (try again later), reason 'Server already" in str(error)
    assert visits == 1


async def test_busy_bot_is_tried_again_within_the_connect_deadline(serve_agent: Serve) -> None:
    start = time.monotonic()
    error, visits = await failure_of(serve_agent, refuse, busy_retry=True)
    assert isinstance(error, BotBusy)
    assert time.monotonic() - start < QUICK.connect
    assert 2 <= visits <= 5  # at 0, 0.1, 0.3, 0.7 and 1.5 s, later on a busy machine
    assert f"({visits} tries in " in str(error)


async def test_busy_bot_that_becomes_free(serve_agent: Serve) -> None:
    async def script(visit: Visit) -> None:
        await (refuse(visit) if visit.number < 3 else polite(visit))

    async with serve_agent(script) as agent, connect(agent.url, QUICK, busy_retry=True) as conn:
        assert conn.ready.type == "bot-ready"
    assert agent.visits == 3


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        pytest.param(
            ['{"event":"connected","protocol":"Call"}'],
            'text message, expected binary: \'{"event":"connected"',
            id="other-json-protocol",
        ),
        pytest.param(
            ['{"label": "rtvi-ai", "type": "bot-ready"}'],
            "this is RTVI as JSON text; the bot needs Pipecat's ProtobufFrameSerializer instead",
            id="rtvi-as-text",
        ),
        pytest.param([b"\x00", b"\xff\xff", b"{}"], "wrong protocol", id="three-binary"),
        pytest.param([b"\xff\xff"], "wrong protocol", id="one-binary-then-silence"),
    ],
)
async def test_wrong_protocol(serve_agent: Serve, messages: list[bytes | str], told: str) -> None:
    async def script(visit: Visit) -> None:
        await visit.expect("client-ready")
        await visit.send(*messages)
        await visit.stay()

    start = time.monotonic()
    error, _ = await failure_of(serve_agent, script)
    assert isinstance(error, WrongProtocol)
    assert told in str(error)
    assert time.monotonic() - start < QUICK.connect


# Sockets that never become a WebSocket


Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def raw_server(answer: Answer) -> AsyncIterator[str]:
    finished = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await answer(writer)
        await reader.read()
        writer.close()
        finished.set()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/ws"
        await finished.wait()


def http(status: str, *headers: str) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        lines = [f"HTTP/1.1 {status}", "Content-Length: 0", *headers, "", ""]
        writer.write("\r\n".join(lines).encode())
        await writer.drain()

    return answer


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()


async def hang(_writer: asyncio.StreamWriter) -> None:
    return


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param(http("403 Forbidden"), "the server answered HTTP 403 instead", id="http-403"),
        pytest.param(
            http("307 Temporary Redirect", "Location: ws://elsewhere/ws?token=s3cret"),
            "HTTP 307, a redirect to ws://elsewhere/ws?token=***, which is not followed",
            id="redirect",
        ),
        pytest.param(hang_up, "no WebSocket handshake", id="hangs-up"),
        pytest.param(hang, "no WebSocket handshake within 1 s (connect deadline)", id="hangs"),
    ],
)
async def test_no_websocket(answer: Answer, told: str) -> None:
    async with raw_server(answer) as url:
        with pytest.raises(ConnectFailed) as caught:
            async with connect(url, Deadlines(connect=1.0), peer="user"):
                pass
    assert f"user at {url}: cannot connect: " in str(caught.value)
    assert told in str(caught.value)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_nobody_listens(host: str) -> None:
    with pytest.raises(ConnectFailed, match=r"nobody listens there \(connection refused\)"):
        async with connect(f"ws://{host}:{free_port()}/ws", QUICK):
            pass


async def test_malformed_host() -> None:
    with pytest.raises(ConnectFailed, match="the host name is malformed"):
        async with connect("ws://a..b:80/", QUICK):
            pass


async def test_ipv6_address(serve_agent: Serve) -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    async with serve_agent(polite, host="::1") as agent, connect(agent.url, QUICK) as conn:
        assert conn.where == f"bot at {agent.url}"


# Proxies and secrets


async def test_proxy_settings_are_ignored_unless_asked_for(
    serve_agent: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = f"http://user:s3cret@127.0.0.1:{free_port()}"
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, dead)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with serve_agent(polite) as agent:
        async with connect(agent.url, QUICK) as conn:
            assert not conn.closed
        with pytest.raises(ConnectFailed) as caught:
            async with connect(agent.url, QUICK, options=WireOptions(use_proxy=True)):
                pass
    assert agent.visits == 1
    assert "s3cret" not in str(caught.value)


async def test_secrets_of_the_url_show_nowhere(
    serve_agent: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with serve_agent(refuse) as agent:
        host = agent.url.removeprefix("ws://")
        for url in (
            f"ws://me:s3cret@{host}/ws?token=s3cret&x=1",
            f"ws://me:s3cret@127.0.0.1:{free_port()}/?api_key=s3cret",
            f"http://me:s3cret@{host}/?token=s3cret",
        ):
            with pytest.raises(WireError) as caught:
                async with connect(url, QUICK):
                    pass
            error: BaseException | None = caught.value
            assert "***" in str(error)
            while error is not None:
                assert "s3cret" not in f"{error} {error!r}"
                error = error.__cause__ or error.__context__
    ours = [record for record in caplog.records if not record.name.startswith("websockets.server")]
    assert not [record for record in ours if "s3cret" in record.getMessage()]
