"""Time that passes only while everybody waits: calls that are faster than real time and repeatable.

For a process whose parties all live in one event loop. `install` comes before anything that reads a
clock is imported. The loop never waits for a timer: when nothing can run, no socket has anything to
read and nothing is at work outside, the clock jumps to the next timer.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

START = 1000.0
"""What a new clock shows, in seconds."""

_SETTLE = 0.0005
"""Real seconds in which what was sent over a socket of this machine arrives."""

_OUTSIDE = 0.05
"""Real seconds between two looks at what is at work outside."""


class Clock:
    """The one clock of a process.

    Attributes:
        now: Seconds.
        outside: How much is at work that the loop cannot see: threads, programs, remote requests.
    """

    def __init__(self) -> None:
        self.now = START
        self.outside = 0
        self._began = time.time()

    def install(self) -> None:
        """Make this the clock of the standard library. Once, before other modules import from it."""
        time.monotonic = time.perf_counter = lambda: self.now
        time.monotonic_ns = time.perf_counter_ns = lambda: int(self.now * 1e9)
        began = self._began
        time.time = lambda: began + self.now - START
        time.time_ns = lambda: int((began + self.now - START) * 1e9)

    @contextmanager
    def waiting_outside(self) -> Iterator[None]:
        """Let no time pass while something is awaited that the loop cannot see."""
        self.outside += 1
        try:
            yield
        finally:
            self.outside -= 1


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that lives by a `Clock`.

    It reads two private attributes of asyncio's loop, its selector and its timers; a test pins them.

    Args:
        clock: The process's clock, installed.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        super().__init__()
        self._select = self._selector.select  # type: ignore[attr-defined]
        self._selector.select = self._select_or_jump  # type: ignore[attr-defined]

    def time(self) -> float:
        """The clock's time."""
        return self._clock.now

    def run_in_executor(  # type: ignore[override]
        self, _executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Run `func` here and now: threads would end in an order of their own."""
        future: asyncio.Future[Any] = self.create_future()
        try:
            future.set_result(func(*args))
        except BaseException as error:  # noqa: BLE001 - whoever awaits it gets it
            future.set_exception(error)
        return future

    def _select_or_jump(self, timeout: float | None = None) -> list[Any]:
        events: list[Any] = self._select(0)
        if events or (timeout is not None and timeout <= 0):
            return events
        events = self._select(_OUTSIDE if self._clock.outside else _SETTLE)
        if events or self._clock.outside:
            return events
        due = min(
            (timer.when() for timer in self._scheduled if not timer.cancelled()), default=None
        )  # type: ignore[attr-defined]
        if due is None:
            return list(self._select(None))  # nobody waits for time: the world has to move
        self._clock.now = max(self._clock.now, due)
        return []
