"""The harness's side of a supervised bot process: start it, hear how it fares, end it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from pytest_voiceeval.bots import supervisor
from pytest_voiceeval.bots.endpoint import (
    BotCommandError,
    BotError,
    BotStartError,
    ExitInfo,
    check_url,
)
from pytest_voiceeval.bots.log_tail import read_tail, secrets_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from pytest_voiceeval.bots.command import BotCommand

SUPERVISOR = supervisor.__file__
START_DEADLINE = 20.0
"""Seconds for the supervisor to start a process; it needs 0.03 on an idle machine."""
REPORT_WAIT = 1.0
"""Seconds for the report of an end that has happened."""
STOP_MARGIN = 4.0
"""Seconds the supervisor has for itself beyond the bot's grace period."""


class Reports(asyncio.Protocol):
    """What the supervisor says, as futures; `supervisor.py` documents the lines."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.started: asyncio.Future[int | str] = loop.create_future()
        self.ready: asyncio.Future[str] = loop.create_future()
        self.exited: asyncio.Future[tuple[int, bool]] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self._begun = b""

    def data_received(self, data: bytes) -> None:
        """Take in what the supervisor wrote."""
        *lines, self._begun = (self._begun + data).split(b"\n")
        for line in lines:
            event, _, rest = line.decode("utf-8", "replace").partition(" ")
            self._report(event, rest)

    def _report(self, event: str, rest: str) -> None:
        if event == "started":
            _resolve(self.started, int(rest))
        elif event == "failed":
            _resolve(self.started, rest)
        elif event == "ready" and (url := url_of_ready_line(rest)):
            _resolve(self.ready, url)
        elif event == "exited":
            status, asked = rest.split()
            _resolve(self.exited, (int(status), asked == "1"))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's name
        """Note the supervisor's end; if it did not report the bot's, the bot is ended here."""
        _resolve(self.started, "its supervisor ended early")
        if not self.exited.done():
            self.kill()
            self.exited.set_result((-signal.SIGKILL, False))
        _resolve(self.closed, None)

    def kill(self) -> None:
        """End the bot without its supervisor."""
        if self.started.done() and isinstance(pid := self.started.result(), int):
            supervisor.signal_session(pid, signal.SIGKILL)


def _resolve(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)


def url_of_ready_line(line: str) -> str | None:
    """Give the address in a ready line; None for other JSON a bot may print."""
    try:
        data = json.loads(line)
        url = data["url"] if data["event"] == "ready" else None
        check_url(url)
    except (ValueError, TypeError, KeyError, BotError):
        return None
    return str(url)


class Child:
    """One run of a command under a supervisor."""

    def __init__(
        self, command: BotCommand, process: subprocess.Popen[bytes], log_start: int
    ) -> None:
        self.command = command
        self.reports = Reports()
        self._process = process
        self._log_start = log_start
        self._transport: asyncio.BaseTransport | None = None

    @property
    def pid(self) -> int:
        """Process id of the bot."""
        pid = self.reports.started.result()
        assert isinstance(pid, int)  # noqa: S101 - `listen` refuses anything else
        return pid

    @property
    def alive(self) -> bool:
        """Whether the bot has not ended, as far as we heard."""
        return not self.reports.exited.done()

    async def exit_info(self, wait: float) -> ExitInfo | None:
        """Tell how the bot ended; None if it still runs after `wait` seconds."""
        await asyncio.wait({self.reports.exited}, timeout=wait)
        if self.alive:
            return None
        status, asked = self.reports.exited.result()
        code, number = (None, -status) if status < 0 else (status, None)
        return ExitInfo(code, number, asked, self.log_tail())

    async def confirm_alive(self) -> bool:
        """Look at the process itself, whose end may not have been reported yet."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            await self.exit_info(REPORT_WAIT)
        return self.alive

    def log_tail(self) -> tuple[str, ...]:
        """Read the last lines this run wrote, secrets of its environment masked."""
        hidden = secrets_of(self.command.environment(None))
        return read_tail(self.command.log_path, start=self._log_start, hidden=hidden)

    async def listen(self) -> None:
        """Hear the supervisor until the bot's process is made.

        Raises:
            BotCommandError: it could not be made.
            BotStartError: the supervisor said nothing within its deadline.
        """
        loop = asyncio.get_running_loop()
        out = self._process.stdout
        self._transport, _ = await loop.connect_read_pipe(lambda: self.reports, out)
        await asyncio.wait({self.reports.started}, timeout=START_DEADLINE)
        if not self.reports.started.done():
            msg = f"{self.command.name}: no process after {START_DEADLINE:g} s (process start)"
            raise BotStartError(msg)
        if isinstance(problem := self.reports.started.result(), str):
            msg = f"{self.command.name}: {self.command.program!r} cannot be run: {problem}"
            raise BotCommandError(msg)

    async def stop(self) -> None:
        """End the bot and all it started; bounded, whatever it does with SIGTERM."""
        assert self._process.stdin is not None  # noqa: S101 - asked for when it was started
        with suppress(OSError):
            self._process.stdin.close()
        limit = self.command.grace + STOP_MARGIN
        await asyncio.wait({self.reports.closed}, timeout=limit)
        if not self.reports.closed.done():
            self._process.kill()
            self.reports.kill()
        if self._transport is not None:
            self._transport.close()
        elif self._process.stdout is not None:
            self._process.stdout.close()
        await self._reap()

    async def _reap(self) -> None:
        """Take the supervisor's exit status; it has closed its output, so it is about to come."""
        for pause in (0.001, 0.01, 0.1, 0.4, 1.5):
            if self._process.poll() is not None:
                return
            await asyncio.sleep(pause)


@asynccontextmanager
async def supervised(command: BotCommand, env: Mapping[str, str]) -> AsyncIterator[Child]:
    """Run a command under a supervisor while the context lasts.

    Args:
        command: what to run, placeholders filled in.
        env: all its variables.

    Raises:
        BotCommandError: the program cannot be run.
        BotStartError: the log cannot be written, or the supervisor did not start.
    """
    process, log_start = _spawn(command, env)
    child = Child(command, process, log_start)
    try:
        await child.listen()
        yield child
    finally:
        await child.stop()


def _spawn(command: BotCommand, env: Mapping[str, str]) -> tuple[subprocess.Popen[bytes], int]:
    argv = [sys.executable, "-I", "-S", SUPERVISOR, str(command.grace), *command.argv]
    with _open_log(command) as log:
        # In a session of its own: Ctrl-C is for the harness, which then ends its bots in order.
        process = subprocess.Popen(  # noqa: S603 - the user's own command, run without a shell
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=dict(env),
            cwd=command.cwd,
            start_new_session=True,
        )
        return process, log.tell()


def _open_log(command: BotCommand) -> IO[bytes]:
    try:
        command.log_path.parent.mkdir(parents=True, exist_ok=True)
        return command.log_path.open("ab")
    except OSError as error:
        msg = f"{command.name}: its log {command.log_path} cannot be written: {error.strerror}"
        raise BotStartError(msg) from error
