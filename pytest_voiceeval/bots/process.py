"""Start a bot as a child process and find it ready."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.bots.child import Child, supervised
from pytest_voiceeval.bots.command import (
    BotCommand,
    check_program,
    fill,
    parse_command,
    stock_bot_command,
    user_command,
)
from pytest_voiceeval.bots.endpoint import BotStartError, ExitInfo, session_url
from pytest_voiceeval.bots.ports import reserved_port
from pytest_voiceeval.wire.urls import is_loopback, mask_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

__all__ = [
    "READY_DEADLINE",
    "BotCommand",
    "RunningBot",
    "parse_command",
    "start_bot",
    "stock_bot_command",
    "user_command",
]

READY_DEADLINE = 30.0
"""Seconds a bot has by default to get ready."""
HANDSHAKE_PAUSE = 0.1
"""Seconds between two rounds of handshakes."""
READY_CHECK = "ready-check"
"""The session of the handshake, at a bot that keeps calls apart."""
CONFIRM = 0.05
"""Seconds in which a bot that lost its port to a stranger, whom we then reached, may die."""

_PORT_TAKEN = ("address already in use", "eaddrinuse", "errno 98", "errno 48")


@dataclass(frozen=True)
class RunningBot:
    """A bot whose process we own.

    Attributes:
        url: where it listens, with `{session}` if it keeps calls apart.
        max_calls: calls it takes at once.
        log_path: the file its output goes to.
        pid: its process id.
    """

    url: str
    max_calls: int
    log_path: Path
    pid: int
    _child: Child = field(repr=False)

    @property
    def alive(self) -> bool:
        """Whether its process has not ended, as far as we heard."""
        return self._child.alive

    async def confirm_alive(self) -> bool:
        """Whether its process has not ended, looked up now."""
        return await self._child.confirm_alive()

    async def exit_info(self, wait: float) -> ExitInfo | None:
        """Tell how its process ended.

        Args:
            wait: seconds to wait for its end, e.g. 1.0 once its connection broke.

        Returns:
            Exit code or signal with the last log lines; None if it still runs after that time.
        """
        return await self._child.exit_info(wait)


@asynccontextmanager
async def start_bot(
    command: BotCommand, *, deadline: float = READY_DEADLINE
) -> AsyncIterator[RunningBot]:
    """Run a bot while the context lasts; nothing it started outlives the context.

    Args:
        command: what to run.
        deadline: seconds it has to get ready. A bot that was told a port gets a second try on
            another one if it died because the port was taken.

    Raises:
        BotCommandError: the program cannot be run.
        BotStartError: it ended, or was not ready in time; with its last log lines.
    """
    check_program(command)
    async with AsyncExitStack() as stack:
        yield await _start_with_retry(command, deadline, stack)


async def _start_with_retry(
    command: BotCommand, deadline: float, stack: AsyncExitStack
) -> RunningBot:
    try:
        return await _start(command, deadline, stack)
    except BotStartError as error:
        if command.ready == "line" or not _may_be_the_port(error):
            raise
        await stack.aclose()
    return await _start(command, deadline, stack)


def _may_be_the_port(error: BotStartError) -> bool:
    log = "\n".join(error.exit.log_tail).lower() if error.exit else ""
    return any(text in log for text in _PORT_TAKEN)


async def _start(command: BotCommand, deadline: float, stack: AsyncExitStack) -> RunningBot:
    port = None if command.ready == "line" else stack.enter_context(reserved_port())
    filled = command if port is None else _on_port(command, port)
    child = await stack.enter_async_context(supervised(filled, filled.environment(port)))
    start = _Start(filled, child)
    url = await start.until_ready(deadline)
    return RunningBot(url, command.max_calls, command.log_path, child.pid, child)


def _on_port(command: BotCommand, port: int) -> BotCommand:
    values = {"port": str(port)}
    return replace(command, argv=fill(command.argv, values), urls=fill(command.urls, values))


class _Start:
    """The time between a bot's process and its readiness."""

    def __init__(self, command: BotCommand, child: Child) -> None:
        self.command = command
        self.child = child
        self.last_answer = ""

    async def until_ready(self, deadline: float) -> str:
        """Give the address at which the bot is ready.

        Raises:
            BotStartError: it ended before, or the deadline passed.
        """
        if self.command.ready == "line":
            url = await self._first_of(self.child.reports.ready, deadline)
            exit_info = await self.child.exit_info(0) if url is None else None
        else:
            url = await self._shake_hands_within(deadline)
            exit_info = await self.child.exit_info(CONFIRM)
        if exit_info is not None:
            msg = f"{self._who()} ended before it was ready: {exit_info.describe()}"
            raise BotStartError(msg + self._log(exit_info.log_tail), exit_info)
        if url is None:
            raise BotStartError(self._too_late(deadline))
        return url

    async def _first_of(self, ready: asyncio.Future[str], deadline: float) -> str | None:
        """Wait for what comes first: readiness, the bot's end, the deadline."""
        first: set[asyncio.Future[Any]] = {ready, self.child.reports.exited}
        await asyncio.wait(first, timeout=deadline, return_when=asyncio.FIRST_COMPLETED)
        return ready.result() if ready.done() else None

    async def _shake_hands_within(self, deadline: float) -> str | None:
        task = asyncio.create_task(self._handshake(), name=f"handshake with {self.command.name}")
        try:
            return await self._first_of(task, deadline)
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def _handshake(self) -> str:
        while True:
            for url in self._addresses():
                if await self._shakes_hands(url):
                    return url
            await asyncio.sleep(HANDSHAKE_PAUSE)

    def _addresses(self) -> tuple[str, ...]:
        ready = self.child.reports.ready
        if not ready.done():
            return self.command.urls
        url = ready.result()
        if self.command.local_only and not is_loopback(url):
            raise BotStartError(f"{self._who()} listens at {mask_url(url)}, beyond this machine")
        return (url,)

    async def _shakes_hands(self, url: str) -> bool:
        from pytest_voiceeval.wire.connection import connect
        from pytest_voiceeval.wire.errors import WireError, WrongProtocol

        try:
            async with connect(session_url(url, READY_CHECK), peer=self.command.role):
                return True
        except WrongProtocol as error:
            # somebody speaks there, and will not learn our language by waiting
            raise BotStartError(
                f"{self._who()}: {error}{self._log(self.child.log_tail())}"
            ) from None
        except WireError as error:
            self.last_answer = f"; the last attempt: {error}"
            return False

    def _too_late(self, deadline: float) -> str:
        wanted = "ready line" if self.command.ready == "line" else "handshake"
        late = f"{self._who()}: no {wanted} within {deadline:g} s (bot ready)"
        return late + self.last_answer + self._log(self.child.log_tail())

    def _who(self) -> str:
        return f"{self.command.name} ({self.command.program})"

    def _log(self, lines: tuple[str, ...]) -> str:
        where = f"\nlog: {self.command.log_path}"
        return where + "".join(f"\n  {line}" for line in lines or ("(empty)",))
