"""A place for one bot that is started when first needed, and afresh after it died."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Self

from pytest_voiceeval.bots.endpoint import BotGaveUpError, BotStartError, LeaseTimeoutError
from pytest_voiceeval.bots.process import READY_DEADLINE, BotCommand, RunningBot, start_bot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MAX_RESTARTS = 500
"""A restart happens when a call asks for the bot, so only a very long run gets here."""
MAX_FAILED_STARTS = 2
"""Failed starts in a row after which it is not tried again: each call would wait in vain."""


class BotSlot:
    """One bot of this process, shared by its calls.

    The bot starts with the first lease. A bot that died is started afresh by the next lease, so
    that its death is the outcome of the calls it had and of no other. Use it as an async context:
    leaving it ends the bot.

    Args:
        command: what to run.
        deadline: seconds a start may take.
        max_restarts: fresh starts after the first one.
    """

    def __init__(
        self,
        command: BotCommand,
        *,
        deadline: float = READY_DEADLINE,
        max_restarts: int = MAX_RESTARTS,
    ) -> None:
        self.command = command
        self.restarts = 0
        self._deadline = deadline
        self._max_restarts = max_restarts
        self._places = asyncio.Semaphore(command.max_calls)
        self._starting = asyncio.Lock()
        self._current: RunningBot | None = None
        self._stack = AsyncExitStack()
        self._failures: list[BotStartError] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._current = None
        await self._stack.aclose()

    @asynccontextmanager
    async def lease(self, name: str, deadline: float | None = None) -> AsyncIterator[RunningBot]:
        """Hold one of the bot's places for a call; first come, first served.

        Args:
            name: who asks, for the error text.
            deadline: seconds to wait for a place; None waits as long as it takes.

        Raises:
            LeaseTimeoutError: no place in time.
            BotError: as `running`.
        """
        await self._take_place(name, deadline)
        try:
            yield await self.running()
        finally:
            self._places.release()

    async def _take_place(self, name: str, deadline: float | None) -> None:
        try:
            async with asyncio.timeout(deadline):
                await self._places.acquire()
        except TimeoutError:
            msg = (
                f"{name}: all {self.command.max_calls} places of the {self.command.name} were "
                f"taken for {deadline:g} s (bot lease)"
            )
            raise LeaseTimeoutError(msg) from None

    async def running(self) -> RunningBot:
        """Give the bot, started or started afresh if need be.

        Raises:
            BotCommandError: its program cannot be run.
            BotStartError: it did not get ready.
            BotGaveUpError: it failed to start, or died, too often to try again.
        """
        async with self._starting:
            if self._current is None or not await self._current.confirm_alive():
                self._current = await self._start()
            return self._current

    async def _start(self) -> RunningBot:
        if len(self._failures) >= MAX_FAILED_STARTS:
            last = self._failures[-1]
            msg = f"{last}\n(not tried again after {len(self._failures)} failed starts)"
            raise BotGaveUpError(msg, last.exit)
        await self._end_dead()
        try:
            bot = await self._stack.enter_async_context(
                start_bot(self.command, deadline=self._deadline)
            )
        except BotStartError as error:
            self._failures.append(error)
            raise
        self._failures.clear()
        return bot

    async def _end_dead(self) -> None:
        """Clear away the bot that died, unless there was one too many."""
        if self._current is None:
            return
        if self.restarts >= self._max_restarts:
            exit_info = await self._current.exit_info(0)
            how = exit_info.describe() if exit_info else "unknown"
            msg = (
                f"{self.command.name}: died {self.restarts + 1} times (at last: {how}); "
                f"it is not started again\nlog: {self.command.log_path}"
            )
            raise BotGaveUpError(msg, exit_info)
        self.restarts += 1
        self._current = None
        await self._stack.aclose()
