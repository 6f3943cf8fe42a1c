"""The store of a stock bot's sessions: exclusive use, reuse, time to live, room."""

from __future__ import annotations

import asyncio

import pytest

from pytest_voiceeval.bots import stock_sessions
from pytest_voiceeval.bots.stock_sessions import (
    SessionBusyError,
    SessionStore,
    TooManySessionsError,
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> SessionStore[list[str]]:
    """Two sessions at most, kept for ten seconds; a state is a list that begins with the id."""
    monkeypatch.setattr(stock_sessions, "TAKEOVER_DEADLINE", 0.05)
    return SessionStore(lambda session: [session], ttl=10, limit=2, clock=clock)


async def use(store: SessionStore[list[str]], session: str, word: str) -> list[str]:
    async with store.lease(session) as state:
        state.append(word)
        return list(state)


async def test_state_is_kept(store: SessionStore[list[str]]) -> None:
    await use(store, "a", "1")
    await use(store, "b", "2")
    assert await use(store, "a", "3") == ["a", "1", "3"]


async def test_one_client_at_a_time(store: SessionStore[list[str]]) -> None:
    async with store.lease("a"):
        with pytest.raises(SessionBusyError, match="session 'a' already has a connected client"):
            await use(store, "a", "2")
        await use(store, "b", "other sessions are free")
    assert await use(store, "a", "3") == ["a", "3"]


async def test_a_client_that_leaves_is_waited_for(store: SessionStore[list[str]]) -> None:
    async def leave_soon() -> None:
        async with store.lease("a"):
            entered.set()
            await asyncio.sleep(0.01)

    entered = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(leave_soon())
        await entered.wait()
        assert await use(store, "a", "next") == ["a", "next"]


async def test_released_when_the_client_fails(store: SessionStore[list[str]]) -> None:
    with pytest.raises(RuntimeError, match="gone"):
        async with store.lease("a"):
            raise RuntimeError("gone")
    assert await use(store, "a", "1") == ["a", "1"]


@pytest.mark.parametrize(("pause", "kept"), [(9.9, True), (10.1, False)], ids=["kept", "dropped"])
async def test_time_to_live(
    store: SessionStore[list[str]], clock: Clock, pause: float, kept: bool
) -> None:
    await use(store, "a", "1")
    clock.now += pause
    assert await use(store, "a", "2") == (["a", "1", "2"] if kept else ["a", "2"])


async def test_time_to_live_counts_from_the_last_use(
    store: SessionStore[list[str]], clock: Clock
) -> None:
    async with store.lease("a") as state:
        state.append("1")
        clock.now += 60
        await use(store, "b", "does not drop a session in use")
    clock.now += 9
    assert await use(store, "a", "2") == ["a", "1", "2"]


async def test_the_longest_unused_makes_room(store: SessionStore[list[str]], clock: Clock) -> None:
    for session in ("a", "b", "a", "c"):
        clock.now += 1
        await use(store, session, "1")
    assert len(store) == 2
    assert await use(store, "a", "2") == ["a", "1", "1", "2"]
    assert await use(store, "b", "2") == ["b", "2"]


async def test_no_room_when_all_are_in_use(store: SessionStore[list[str]]) -> None:
    async with store.lease("a"), store.lease("b"):
        with pytest.raises(TooManySessionsError, match="all 2 sessions are in use"):
            await use(store, "c", "1")
