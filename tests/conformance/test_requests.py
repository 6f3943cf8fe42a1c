"""Requests: matched by id whatever else is on the wire, refused, late, cut off."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.wire.connection import Deadlines, connect
from pytest_voiceeval.wire.errors import (
    ConnectionLost,
    EnvelopeError,
    ProtocolBroken,
    RequestRefused,
    RequestTimeout,
)
from pytest_voiceeval.wire.frames import AudioFrame
from pytest_voiceeval.wire.rtvi import Envelope

if TYPE_CHECKING:
    from tests.conformance.conftest import Serve, Visit

SOUND = AudioFrame(bytes(range(256)) * 4, 24000, 1)


async def serve_echo(visit: Visit) -> None:
    """Answer every client-message with its own arguments."""
    await visit.ready()
    while True:
        request = await visit.expect("client-message")
        await visit.answer(request, request.data["d"])


async def test_the_request_on_the_wire(serve_agent: Serve) -> None:
    seen: list[Envelope] = []

    async def script(visit: Visit) -> None:
        await visit.ready()
        for _ in range(5):
            seen.append(await visit.expect("client-message"))
            await visit.answer(seen[-1], None)
        await visit.stay()

    async with serve_agent(script) as agent, connect(agent.url, peer="user") as conn:
        assert await conn.request("reset") is None
        await conn.request("update_system_prompt", {"prompt": "be brief"})
        await conn.request("apply_initialization", {"actions": []})
        await conn.request("apply_sync_delta", {"delta": {}})
        await conn.request("configure_output", {"audio": False})
    assert [message.data for message in seen[:2]] == [
        {"t": "reset", "d": {}},
        {"t": "update_system_prompt", "d": {"prompt": "be brief"}},
    ]
    prefixes = [str(message.id).rpartition("_")[0] for message in seen]
    assert prefixes == [
        "reset",
        "update_prompt",
        "apply_init_user",
        "apply_sync_delta_user",
        "configure_output",
    ]
    assert len({message.id for message in seen}) == 5


async def test_replies_find_their_requests_in_any_order(serve_agent: Serve) -> None:
    async def script(visit: Visit) -> None:
        await visit.ready()
        requests = [await visit.expect("client-message") for _ in range(3)]
        for request in reversed(requests):
            await visit.send(SOUND, Envelope("server-message", {"text": "by the way"}))
            await visit.answer(request, {"for": request.data["d"]["n"]})
        await visit.stay()

    async with serve_agent(script) as agent, connect(agent.url) as conn:
        results = await asyncio.gather(
            *(conn.request("get_scenario_summary", {"n": n}, deadline=5) for n in range(3))
        )
        assert results == [{"for": 0}, {"for": 1}, {"for": 2}]
        events = conn.events()
        kinds = [(await anext(events)).kind for _ in range(6)]
        assert kinds == [SOUND, Envelope("server-message", {"text": "by the way"})] * 3
        assert conn.warnings == []


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        pytest.param({"d": True}, True, id="true"),
        pytest.param({"d": False}, False, id="false"),
        pytest.param({}, None, id="none-is-left-out"),
        pytest.param({"d": {"db_hash": None}}, {"db_hash": None}, id="null-inside"),
        pytest.param({"d": [1, 2.5, "é"]}, [1, 2.5, "é"], id="list"),
    ],
)
async def test_results(serve_agent: Serve, result: dict[str, Any], expected: Any) -> None:
    async def script(visit: Visit) -> None:
        await visit.ready()
        request = await visit.expect("client-message")
        await visit.send(Envelope("server-response", {"t": "x", **result}, request.id))
        await visit.stay()

    async with serve_agent(script) as agent, connect(agent.url) as conn:
        assert await conn.request("x") == expected


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param({"error": "unknown message type: x"}, "unknown message type: x", id="usual"),
        pytest.param("plainly no", "plainly no", id="text"),
        pytest.param({"why": 1}, "{'why': 1}", id="other-keys"),
        pytest.param({"error": ""}, "no reason given", id="no-words"),
    ],
)
async def test_refusal(serve_agent: Serve, data: Any, told: str) -> None:
    async def script(visit: Visit) -> None:
        await visit.ready()
        request = await visit.expect("client-message")
        await visit.send(Envelope("error-response", data, request.id))
        await visit.stay()

    async with serve_agent(script) as agent, connect(agent.url, peer="agent") as conn:
        with pytest.raises(RequestRefused) as caught:
            await conn.request("x", name="set-up of the agent")
    assert (caught.value.name, caught.value.error) == ("set-up of the agent", told)
    assert str(caught.value) == (f"agent at {agent.url}: 'set-up of the agent' was refused: {told}")


async def test_reply_without_payload(serve_agent: Serve) -> None:
    async def script(visit: Visit) -> None:
        await visit.ready()
        request = await visit.expect("client-message")
        await visit.send(Envelope("server-response", "done", request.id))
        await visit.stay()

    async with serve_agent(script) as agent, connect(agent.url) as conn:
        with pytest.raises(ProtocolBroken, match=r"the reply to 'x' has no payload: .*got 'done'"):
            await conn.request("x")


async def test_timeout_names_the_request_and_a_late_reply_is_a_warning(
    serve_agent: Serve,
) -> None:
    async def script(visit: Visit) -> None:
        await visit.ready()
        slow = await visit.expect("client-message")
        quick = await visit.expect("client-message")
        await visit.answer(slow, "too late")
        await visit.answer(quick, "in time")
        await visit.answer(quick, "again")
        await visit.send(Envelope("server-response", {"t": "y", "d": 1}, "stranger"))
        await visit.send(Envelope("error-response", {"error": "huh"}), SOUND)
        await visit.stay()

    async with serve_agent(script) as agent, connect(agent.url) as conn:
        with pytest.raises(RequestTimeout) as caught:
            await conn.request("get_context_history", deadline=0.1)
        assert (caught.value.name, caught.value.seconds) == ("get_context_history", 0.1)
        assert "no reply to 'get_context_history' within 0.1 s (its deadline)" in str(caught.value)
        assert await conn.request("reset", name="second reset") == "in time"
        assert (await anext(conn.events())).kind == SOUND
        assert conn.warnings == [
            (
                "late reply to 'get_context_history', which is no longer waited for: "
                "{'t': 'get_context_history', 'd': 'too late'}"
            ),
            "second reply to 'second reset': {'t': 'reset', 'd': 'again'}",
            "server-response with a foreign id: 'stranger': {'t': 'y', 'd': 1}",
            "error-response with a foreign id: None: {'error': 'huh'}",
        ]


async def test_request_deadline_of_the_connection_is_the_default(serve_agent: Serve) -> None:
    async def script(visit: Visit) -> None:
        await visit.ready()
        await visit.stay()

    async with serve_agent(script) as agent, connect(agent.url, Deadlines(request=0.05)) as conn:
        with pytest.raises(RequestTimeout, match=r"no reply to 'reset' within 0\.05 s"):
            await conn.request("reset")


async def test_requests_in_flight_fail_at_once_when_the_bot_goes(serve_agent: Serve) -> None:
    async def script(visit: Visit) -> None:
        await visit.ready()
        await visit.expect("client-message")
        await visit.expect("client-message")
        await visit.websocket.close(4001, "done with you")

    async with serve_agent(script) as agent, connect(agent.url) as conn:
        start = time.monotonic()
        requests = [conn.request(kind, deadline=60) for kind in "ab"]
        errors = await asyncio.gather(*requests, return_exceptions=True)
        assert time.monotonic() - start < 5
        for error in errors:
            assert isinstance(error, ConnectionLost)
            assert (error.code, error.reason, error.by_peer) == (4001, "done with you", True)
        assert errors[0] is not errors[1]
        assert conn.peer_closed
        with pytest.raises(ConnectionLost, match="4001") as third:
            await conn.request("c")
        with pytest.raises(ConnectionLost, match="4001") as fourth:
            await conn.send_text("hello?")
        assert third.value is not fourth.value
        with pytest.raises(ConnectionLost, match="4001"):
            await conn.send_audio(SOUND)


async def test_requests_in_flight_fail_when_we_close(serve_agent: Serve) -> None:
    async def script(visit: Visit) -> None:
        await visit.ready()
        await visit.stay()

    async with serve_agent(script) as agent, connect(agent.url) as conn:
        waiting = asyncio.create_task(conn.request("a", deadline=60))
        await asyncio.sleep(0.05)
        await conn.close()
        with pytest.raises(ConnectionLost) as caught:
            await waiting
        assert not caught.value.by_peer
        assert "this side closed the connection: 1000 (normal closure)" in str(caught.value)
        with pytest.raises(ConnectionLost, match="this side closed"):
            await conn.request("b")
        assert conn.closed
        assert not conn.peer_closed


async def test_abandoned_request_leaves_nothing_behind(serve_agent: Serve) -> None:
    async with serve_agent(serve_echo) as agent, connect(agent.url) as conn:
        task = asyncio.create_task(conn.request("a", {"x": 1}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await conn.request("b", {"x": 2}) == {"x": 2}


async def test_arguments_that_are_not_json(serve_agent: Serve) -> None:
    async with serve_agent(serve_echo) as agent, connect(agent.url) as conn:
        with pytest.raises(EnvelopeError, match="'client-message' cannot be written as JSON"):
            await conn.request("a", {"x": float("nan")})
        assert await conn.request("a", {"x": 1.5}) == {"x": 1.5}
