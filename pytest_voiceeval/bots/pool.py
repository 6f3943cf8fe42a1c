"""Share bots between calls, in one process and across test workers."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_voiceeval.bots.endpoint import Bot, BotError, LeaseTimeoutError
from pytest_voiceeval.wire.urls import mask_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from filelock import BaseFileLock

POLL = 0.05
"""Seconds between two looks at places that another process holds."""


@dataclass
class _Place:
    """One call a bot can take."""

    bot: Bot
    lock: BaseFileLock | None
    taken: bool = False

    def take(self) -> bool:
        """Take the place if it is free here and, with a lock, everywhere."""
        if self.taken:
            return False
        if self.lock is not None and not _lock(self.lock):
            return False
        self.taken = True
        return True

    def give_back(self) -> None:
        if self.lock is not None:
            self.lock.release()
        self.taken = False


def _lock(lock: BaseFileLock) -> bool:
    from filelock import Timeout

    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    except OSError as error:
        msg = f"bot lock {lock.lock_file} cannot be used: {error.strerror or error}"
        raise BotError(msg) from error
    return True


class BotPool:
    """Bots that calls lease, each for at most `max_calls` at a time.

    Within a process a lease goes to who asked first. Across processes places are lock files,
    looked at without blocking; the system frees them when a process dies.

    Args:
        bots: the bots, used in their order, all first places before any second one.
        lock_dir: folder that all workers share; None if the bots are this process's own.

    Raises:
        BotError: there is no bot, or the folder cannot be made.
    """

    def __init__(self, bots: Sequence[Bot], lock_dir: Path | None = None) -> None:
        if not bots:
            msg = "a pool needs at least one bot"
            raise BotError(msg)
        self.bots = tuple(bots)
        self._shared = lock_dir is not None
        self._places = _make_places(self.bots, lock_dir)
        self._turn = asyncio.Lock()
        self._given_back = asyncio.Event()

    @asynccontextmanager
    async def lease(self, name: str, deadline: float | None = None) -> AsyncIterator[Bot]:
        """Hold a bot for a call.

        Args:
            name: who asks, for the error text.
            deadline: seconds to wait; None waits as long as it takes.

        Raises:
            LeaseTimeoutError: no bot was free in time.
            BotError: a lock file cannot be used.
        """
        place = await self._take(name, deadline)
        try:
            yield place.bot
        finally:
            place.give_back()
            self._given_back.set()

    async def _take(self, name: str, deadline: float | None) -> _Place:
        try:
            async with asyncio.timeout(deadline), self._turn:
                return await self._first_free()
        except TimeoutError:
            urls = ", ".join(mask_url(bot.url) for bot in self.bots)
            msg = f"{name}: no bot was free for {deadline:g} s (bot lease); bots: {urls}"
            raise LeaseTimeoutError(msg) from None

    async def _first_free(self) -> _Place:
        """Wait for a place; only the first in the queue is ever here."""
        while True:
            self._given_back.clear()
            for place in self._places:
                if place.take():
                    return place
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL if self._shared else None):
                    await self._given_back.wait()


def _make_places(bots: Sequence[Bot], lock_dir: Path | None) -> list[_Place]:
    most = max(bot.max_calls for bot in bots)
    numbered = [(bot, n) for n in range(most) for bot in bots if n < bot.max_calls]
    if lock_dir is None:
        return [_Place(bot, None) for bot, _ in numbered]
    try:
        lock_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"folder for bot locks {lock_dir} cannot be made: {error.strerror or error}"
        raise BotError(msg) from error
    return [_Place(bot, _lock_file(lock_dir, bot, n)) for bot, n in numbered]


def _lock_file(lock_dir: Path, bot: Bot, number: int) -> BaseFileLock:
    from filelock import FileLock

    key = hashlib.sha256(bot.url.encode()).hexdigest()[:20]
    return FileLock(lock_dir / f"bot-{key}-{number}.lock", thread_local=False)
