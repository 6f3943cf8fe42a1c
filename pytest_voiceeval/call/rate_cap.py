"""A provider's rate limit, kept by all processes together that share a folder.

The bucket is one number in a file, guarded by a lock file: the time at which it is full again. A
request moves that time on by one interval and waits until it is no further ahead than the bucket is
deep. In no minute more requests begin than the cap allows.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Change = Callable[[float, float], float]

MINUTE = 60.0
BURST_SHARE = 10
"""One in so many of a minute's requests may come at once; the rest is evenly spaced."""
LOCK_DEADLINE = 10.0
"""Seconds to get the lock, which is held for one read and one write."""
SHORTEST_WAIT = 1e-3
"""Seconds; less is rounding."""
LONGEST_PLAN = 3600.0
"""Seconds; a file that looks further ahead was written by another clock and starts over."""


class CapError(Exception):
    """The cap gives no place in time, or its file cannot be used."""


class RateCap:
    """At most ``rpm`` requests in any minute.

    Args:
        rpm: Requests a minute.
        folder: Where the shared count is kept; made if missing. None keeps it in this object.
        name: What is limited, such as an address and a model. Caps of one name share a count.
        clock: Seconds that all sharing processes agree on.
        sleep: Waits.
    """

    def __init__(
        self,
        rpm: float,
        folder: Path | None = None,
        name: str = "",
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        burst = max(1, int(rpm) // BURST_SHARE)
        self._rpm = rpm
        self._interval = MINUTE / (rpm - burst + 1)
        self._depth = burst * self._interval
        self._clock = clock
        self._sleep = sleep
        self._full_at = 0.0
        key = hashlib.sha256(name.encode()).hexdigest()[:16]
        self._file = None if folder is None else folder / f"rate-{key}.txt"

    async def slot(self, patience: float) -> float:
        """Wait for a request's turn; return the seconds waited.

        A turn that is taken and not used, because the call ended meanwhile, is lost.

        Args:
            patience: Most seconds to wait.

        Raises:
            CapError: It would take longer; nothing was taken then.
        """
        wait = 0.0

        def take(full_at: float, now: float) -> float:
            nonlocal wait
            full = max(full_at, now) + self._interval
            wait = full - self._depth - now
            wait = wait if wait > SHORTEST_WAIT else 0.0
            return full if wait <= patience else full_at

        await self._change(take)
        if wait > patience:
            raise CapError(
                f"no request within {patience:.0f} s at {self._rpm:g} a minute (the cap): the next "
                f"turn is in {wait:.0f} s; hold fewer calls at once or raise the cap"
            )
        if wait > 0:
            await self._sleep(wait)
        return wait

    async def pause(self, seconds: float) -> None:
        """Let nobody begin a request for so long: the provider asked for it."""
        await self._change(lambda full_at, now: max(full_at, now + seconds + self._depth))

    async def _change(self, change: Change) -> None:
        if self._file is None:
            self._full_at = change(self._full_at, self._clock())
        else:
            await asyncio.to_thread(self._change_file, self._file, change)

    def _change_file(self, file: Path, change: Change) -> None:
        from filelock import FileLock, Timeout

        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(file.with_suffix(".lock"), timeout=LOCK_DEADLINE):
                now = self._clock()
                full_at = change(_read(file, now), now)
                file.write_text(f"{full_at:.6f}\n", encoding="ascii")
        except Timeout as error:
            raise CapError(
                f"the rate cap's lock {error.lock_file} was not free in {LOCK_DEADLINE:g} s"
            ) from None
        except OSError as error:
            raise CapError(f"the rate cap's file cannot be used: {error}") from None


def _read(file: Path, now: float) -> float:
    """The time in the file; now if there is none, or none that can be."""
    try:
        full_at = float(file.read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return now
    return full_at if full_at <= now + LONGEST_PLAN else now
