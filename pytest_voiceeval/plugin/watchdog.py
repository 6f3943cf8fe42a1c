"""The engine's event loop watches itself: how late do its timers fire?

A loop that is late hears an agent's answer late, and takes the time for the agent's. Such a call
is no evidence, so it ends as the error `measurement_invalid` instead of a verdict.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TICK = 0.05
"""Seconds between two looks at the clock."""
LATE = 0.1
"""Seconds from which on a timer counts as late."""
MOST_LAG = 2.0
"""Seconds a text call may be held up at once: well below the shortest silence (5 s) that is
counted against an agent, well above what a busy machine does to a healthy loop."""


@dataclass(slots=True)
class LoopLag:
    """How late the loop was during one call.

    Attributes:
        worst: Seconds by which the latest timer was late.
        late: Number of timers that were late by more than `LATE`.
    """

    worst: float = 0.0
    late: int = 0

    def note(self, seconds: float) -> None:
        """Take one timer that was late by `seconds`."""
        self.worst = max(self.worst, seconds)
        self.late += seconds > LATE

    @property
    def invalidates(self) -> bool:
        """Whether a call measured meanwhile says nothing about the agent."""
        return self.worst > MOST_LAG

    def describe(self) -> str:
        """The figures and the way out, in words."""
        return (
            f"the harness fell behind: its event loop was held up for {self.worst:.1f} s at worst "
            f"({self.late} late timers; the limit is {MOST_LAG:g} s), so what this call measured "
            "is not the agent's doing; hold fewer calls at once (--voice-concurrency) or use a "
            "machine with less to do"
        )


class LoopWatch:
    """Measures the lag of the loop it runs in, for every call under way."""

    def __init__(self) -> None:
        self._calls: list[LoopLag] = []
        self._due = float("inf")

    async def run(self) -> None:
        """Watch until cancelled."""
        now = asyncio.get_running_loop().time
        while True:
            self._due = now() + TICK
            await asyncio.sleep(TICK)
            self._note(now() - self._due)

    @contextmanager
    def measuring(self) -> Iterator[LoopLag]:
        """Measure while the context lasts; to be used in the loop that is watched."""
        lag = LoopLag()
        self._calls.append(lag)
        try:
            yield lag
        finally:
            # a hold-up that goes on until the end has not been seen by `run`
            lag.note(asyncio.get_running_loop().time() - self._due)
            self._calls = [call for call in self._calls if call is not lag]

    def _note(self, seconds: float) -> None:
        for call in self._calls:
            call.note(seconds)
