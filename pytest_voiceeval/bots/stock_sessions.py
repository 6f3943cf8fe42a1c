"""What outlives a connection: one state per session id, used by one client at a time."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

S = TypeVar("S")

TAKEOVER_DEADLINE = 1.0
"""Seconds a new client waits for the one before it to be gone: a client that reconnects right
after closing is faster than the server's notice of the close."""


class SessionBusyError(Exception):
    """Another client uses the session."""


class TooManySessionsError(Exception):
    """The store is full of sessions in use."""


@dataclass
class _Entry(Generic[S]):
    state: S
    used: float
    clients: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class SessionStore(Generic[S]):
    """Sessions by id. One without a client is dropped after `ttl`, or when room is needed.

    Args:
        make: Makes the state of a new session from its id.
        ttl: Seconds a session without a client is kept.
        limit: Most sessions kept.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        make: Callable[[str], S],
        *,
        ttl: float,
        limit: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make = make
        self._ttl = ttl
        self._limit = limit
        self._clock = clock
        self._entries: dict[str, _Entry[S]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @asynccontextmanager
    async def lease(self, session: str) -> AsyncIterator[S]:
        """Use a session alone; a new one is made on first use.

        Raises:
            SessionBusyError: A client still uses it after `TAKEOVER_DEADLINE`.
            TooManySessionsError: There is no room for a new one.
        """
        entry = self._entry(session)
        entry.clients += 1
        try:
            await self._take(entry, session)
            try:
                yield entry.state
            finally:
                entry.turn.release()
        finally:
            entry.clients -= 1
            entry.used = self._clock()

    async def _take(self, entry: _Entry[S], session: str) -> None:
        try:
            async with asyncio.timeout(TAKEOVER_DEADLINE):
                await entry.turn.acquire()
        except TimeoutError:
            raise SessionBusyError(f"session {session!a} already has a connected client") from None

    def _entry(self, session: str) -> _Entry[S]:
        self._drop_expired()
        if session not in self._entries:
            self._make_room()
            self._entries[session] = _Entry(self._make(session), self._clock())
        return self._entries[session]

    def _idle(self) -> list[tuple[float, str]]:
        """Sessions without a client, the longest unused first."""
        return sorted(
            (entry.used, id_) for id_, entry in self._entries.items() if not entry.clients
        )

    def _drop_expired(self) -> None:
        oldest_kept = self._clock() - self._ttl
        for used, session in self._idle():
            if used < oldest_kept:
                del self._entries[session]

    def _make_room(self) -> None:
        if len(self._entries) < self._limit:
            return
        idle = self._idle()
        if not idle:
            raise TooManySessionsError(f"all {self._limit} sessions are in use")
        del self._entries[idle[0][1]]
