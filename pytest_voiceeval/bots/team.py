"""Several processes of one bot, so that its calls use more than one core."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from pytest_voiceeval.bots.slot import BotSlot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pytest_voiceeval.bots.process import BotCommand, RunningBot

ENOUGH = 8
"""Calls of a bot beyond which another is started; its start costs as much as these calls save."""
LARGEST = 4
"""Most bots of a team: beyond, the harness's own process is what is busy."""


class BotTeam:
    """Bots of this process that share its calls; each is started when those before it are busy.

    Use it as an async context: leaving it ends the bots. How many calls there are at the same time
    is the harness's to limit, by the command's `max_calls`.

    Args:
        command: What to run; all but the first bot have a number in the name of their log.
        size: Most bots.
    """

    def __init__(self, command: BotCommand, size: int) -> None:
        self.command = command
        self._slots = [BotSlot(_numbered(command, number)) for number in range(1, size + 1)]
        self._calls = [0] * size
        self._used = 1
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for slot in self._slots:
            await self._stack.enter_async_context(slot)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @asynccontextmanager
    async def lease(self, name: str, deadline: float | None = None) -> AsyncIterator[RunningBot]:
        """Hold a place at the bot with the fewest calls; arguments, errors: as `BotSlot.lease`."""
        number = self._least_busy()
        self._calls[number] += 1
        try:
            async with self._slots[number].lease(name, deadline) as bot:
                yield bot
        finally:
            self._calls[number] -= 1

    def _least_busy(self) -> int:
        least = min(range(self._used), key=self._calls.__getitem__)
        if self._calls[least] < ENOUGH or self._used == len(self._slots):
            return least
        self._used += 1
        return self._used - 1


def team_size() -> int:
    """How many bots this machine's cores are good for."""
    usable = getattr(os, "sched_getaffinity", None)
    cores = len(usable(0)) if usable else os.cpu_count() or 1
    return min(cores, LARGEST)


def _numbered(command: BotCommand, number: int) -> BotCommand:
    if number == 1:
        return command
    log = command.log_path
    return replace(command, log_path=log.with_stem(f"{log.stem}-{number}"))
