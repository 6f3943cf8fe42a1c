"""Events between the reader of a connection and whoever iterates over them."""

from __future__ import annotations

import asyncio
import copy
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_voiceeval.wire.errors import ProtocolBroken, WireError

if TYPE_CHECKING:
    from pytest_voiceeval.wire.reading import Received


_EVENT_COST = 500  # bytes an event takes in memory beside what it took on the wire


@dataclass(frozen=True, slots=True)
class Event:
    """Something the bot sent.

    Attributes:
        at: ``time.monotonic()`` when it was read from the socket, seconds.
        kind: The envelope, or the frame.
    """

    at: float
    kind: Received


class Backlog:
    """A queue of events that loses none, and the async iterator over it.

    It is bounded by bytes, not by count, and a full backlog is an error: dropping events would
    lose evidence, and not reading on would keep back the replies that share the socket with them.
    Iteration may stop, be cancelled (also by a timeout) and go on later; it yields what is left,
    then ends or raises as the connection ended.
    """

    def __init__(self, where: str, limit: int) -> None:
        self._where = where
        self._limit = limit
        self._events: deque[tuple[int, Event]] = deque()
        self._size = 0
        self._changed = asyncio.Event()
        self._ended = False
        self._error: WireError | None = None

    def put(self, event: Event, size: int) -> None:
        """Append an event.

        Args:
            event: The event.
            size: Bytes it took on the wire.

        Raises:
            ProtocolBroken: More bytes would wait than the limit allows.
        """
        size += _EVENT_COST
        if self._size + size > self._limit:
            raise ProtocolBroken(
                f"{self._where}: it sends faster than it can be heard: {len(self._events)} events "
                f"of {self._size} bytes wait, the limit is {self._limit} bytes (max_backlog)"
            )
        self._size += size
        self._events.append((size, event))
        self._changed.set()

    def end(self, error: WireError | None) -> None:
        """Let iteration end after the last event, by raising ``error`` if there is one."""
        self._ended = True
        self._error = error
        self._changed.set()

    def __aiter__(self) -> Backlog:
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._error:
                raise copy.copy(self._error)
            if self._ended:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        size, event = self._events.popleft()
        self._size -= size
        return event
