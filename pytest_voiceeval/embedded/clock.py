"""Time that passes only while everybody waits: calls that are faster than real time and repeatable.

For a process whose parties all live in one event loop. `install` comes before anything that takes
its clock from `time` is imported.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

START = 1000.0
"""What a new clock shows, in seconds."""


class Clock:
    """The one clock of a process.

    Attributes:
        now: Seconds.
        on_second: Called by `advance` whenever about a second has passed.
        real: Seconds of the real clock, since whenever.
    """

    def __init__(self) -> None:
        self.now = START
        self.on_second: Callable[[], None] = lambda: None
        self.real = time.monotonic  # before it is replaced
        self._second = START

    def install(self) -> None:
        """Make this the clock of the standard library, once, for everything imported after it."""
        began = time.time() - START
        time.monotonic = time.perf_counter = lambda: self.now
        time.monotonic_ns = time.perf_counter_ns = lambda: int(self.now * 1e9)
        time.time = lambda: began + self.now
        time.time_ns = lambda: int((began + self.now) * 1e9)

    def advance(self, to: float) -> None:
        """Go forward to a time; never back."""
        self.now = max(self.now, to)
        if abs(self.now - self._second) >= 1:
            self._second = self.now
            self.on_second()
