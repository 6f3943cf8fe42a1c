"""The backlog: bounded by what waits, not by what passed through."""

from __future__ import annotations

import asyncio

import pytest

from pytest_voiceeval.wire.backlog import Backlog, Event
from pytest_voiceeval.wire.errors import ConnectionLost, ProtocolBroken
from pytest_voiceeval.wire.rtvi import Envelope


def event(number: int) -> Event:
    return Event(float(number), Envelope("server-message", number))


async def test_what_was_read_makes_room() -> None:
    backlog = Backlog("agent", 3000)
    for number in range(50):
        backlog.put(event(number), 2000)
        assert await anext(backlog) == event(number)


async def test_small_events_count_too() -> None:
    backlog = Backlog("agent at ws://x", 3000)
    for number in range(5):
        backlog.put(event(number), 1)
    told = "it sends faster than it can be heard: 5 events of 2505 bytes wait"
    with pytest.raises(ProtocolBroken, match=told):
        backlog.put(event(5), 1)


async def test_a_waiting_reader_is_woken() -> None:
    backlog = Backlog("agent", 3000)
    waiting = asyncio.create_task(anext(backlog))
    await asyncio.sleep(0)
    backlog.put(event(1), 1)
    assert await waiting == event(1)


@pytest.mark.parametrize("error", [None, ConnectionLost(1006)], ids=["ended", "lost"])
async def test_the_end_comes_after_the_last_event(error: ConnectionLost | None) -> None:
    backlog = Backlog("agent", 3000)
    backlog.put(event(1), 1)
    backlog.end(error)
    assert await anext(backlog) == event(1)
    for _ in range(2):
        with pytest.raises(ConnectionLost if error else StopAsyncIteration):
            await anext(backlog)
