"""The parent's side: child processes that hold calls of the pair, one call at a time each."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Self

from pytest_voiceeval.bots.command import inherited_environment
from pytest_voiceeval.bots.log_tail import read_tail, secrets_of
from pytest_voiceeval.call.errors import CallError
from pytest_voiceeval.call.faults import describe_exit
from pytest_voiceeval.call.result import ProcessExit
from pytest_voiceeval.embedded.job import HEAD, Answer, EmbeddedJob, frame, load

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator, Callable, Mapping
    from pathlib import Path

    from pytest_voiceeval.call.result import Conversation

ARGUMENTS = ("-m", "pytest_voiceeval.embedded.child")
READY_DEADLINE = 60.0
"""Seconds for a child to import the bots; it needs 1.5 on an idle machine."""
SPARE = 120.0
"""Real seconds a call may take beyond its own longest duration."""
STOP_DEADLINE = 2.0
"""Seconds for a child to end once its stdin is closed."""


class PairLost(CallError):
    """The process of both bots ended, or had to be ended, before its call was over.

    Attributes:
        under_way: It had been given its call.
    """

    code = "pair_lost"
    under_way = False


class PairFailed(CallError):
    """What a call of the pair raised was no error of calls: a bug, or a scenario's own code."""

    code = "pair_failed"
    under_way = True


class Pair:
    """One child process. It ends with `end`, or if a call in it is cancelled.

    Args:
        log_path: Where it logs; appended to.
        env: Variables beside those of this process.
    """

    def __init__(self, log_path: Path, env: Mapping[str, str]) -> None:
        self._log_path = log_path
        self._log_start = 0
        self._env = _environment(env)
        self._process: Process | None = None

    @property
    def alive(self) -> bool:
        """Whether it takes calls."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start the process and wait until it can hold calls.

        Raises:
            PairLost: It ended, or was not ready in time; the text has the end of its log.
        """
        with self._log_path.open("ab") as log:
            self._log_start = log.tell()
            self._process = await _spawn(log, self._env)
        try:
            await self._within(READY_DEADLINE, "pair start", self._answer("before it was ready"))
        except BaseException:
            await self.kill()
            raise

    async def hold(self, job: EmbeddedJob, longest: float) -> Conversation:
        """Hold a call.

        Args:
            job: The call.
            longest: Most seconds that the call takes on its own clock.

        Raises:
            CallError: As the call raised; `PairLost` if the process ended or came to no end, with
                the end of its log; `PairFailed` for any other error in it.
        """
        assert self._process is not None  # noqa: S101 - started
        assert self._process.stdin is not None  # noqa: S101 - asked for
        try:
            self._process.stdin.write(frame(job))
            answer = await self._within(longest + SPARE, "pair deadline", self._answer())
        except BaseException as error:
            if isinstance(error, PairLost):
                error.under_way = True
            await self.kill()  # a call cannot be taken back
            raise
        if answer.error is not None:
            raise answer.error
        if answer.conversation is None:
            raise PairFailed(f"the call raised in the process of both bots:\n{answer.bug}")
        return answer.conversation

    async def end(self) -> None:
        """End the process: it sees the end of its stdin."""
        if self._process is None:
            return
        assert self._process.stdin is not None  # noqa: S101 - asked for
        self._process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_DEADLINE):
                await self._process.wait()
        await self.kill()

    async def kill(self) -> None:
        """End the process and what it may have started, now."""
        if self._process is None:
            return
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        await asyncio.shield(asyncio.ensure_future(self._process.wait()))

    async def _within(self, seconds: float, name: str, answer: Any) -> Answer:
        try:
            async with asyncio.timeout(seconds):
                found: Answer = await answer
        except TimeoutError:
            raise PairLost(
                f"the process of both bots gave no answer within {seconds:g} real seconds ({name}) "
                f"and was ended; {self._log_end()}"
            ) from None
        return found

    async def _answer(self, when: str = "in mid-call") -> Answer:
        assert self._process is not None  # noqa: S101 - started
        assert self._process.stdout is not None  # noqa: S101 - asked for
        read = self._process.stdout.readexactly
        try:
            (size,) = HEAD.unpack(await read(HEAD.size))
            answer: Answer = load(await read(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            status = await self._process.wait()
        else:
            return answer
        code, number = (None, -status) if status < 0 else (status, None)
        how = describe_exit(ProcessExit(code, number, self._log_tail()))
        raise PairLost(f"both bots were lost {when}: {how}\nlog: {self._log_path}")

    def _log_end(self) -> str:
        return f"its log ends: {' / '.join(self._log_tail()[-5:])}\nlog: {self._log_path}"

    def _log_tail(self) -> tuple[str, ...]:
        hidden = secrets_of(self._env)
        return read_tail(self._log_path, start=self._log_start, hidden=hidden)


@dataclass(frozen=True)
class EmbeddedPlan:
    """A call of the pair, with the process that is to hold it.

    Attributes:
        longest: Most seconds it takes on its own clock.
    """

    pair: Pair
    job: EmbeddedJob
    longest: float

    async def hold(self) -> Conversation:
        """Hold it; see `Pair.hold`."""
        return await self.pair.hold(self.job, self.longest)


class Pairs:
    """Children that are started when they are needed and serve one call after the other.

    Use it as an async context: leaving it ends them.

    Args:
        most: How many there are at most.
        log_path: Gives where the child of a number, from 1, logs.
        env: Their variables, beside those of this process.
    """

    def __init__(self, most: int, log_path: Callable[[int], Path], env: Mapping[str, str]) -> None:
        self._places = asyncio.Semaphore(most)
        self._free = list(range(most, 0, -1))
        self._idle: dict[int, Pair] = {}
        self._log_path = log_path
        self._env = env

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for pair in self._idle.values():
            await pair.end()
        self._idle.clear()

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[Pair]:
        """Have a child for a call, ready for it.

        Raises:
            PairLost: It cannot be started.
        """
        async with self._places:
            number = self._free.pop()
            pair = self._idle.pop(number, None) or Pair(self._log_path(number), self._env)
            try:
                if not pair.alive:
                    await pair.start()
                yield pair
            finally:
                if pair.alive:  # a call that was cut off has ended it
                    self._idle[number] = pair
                self._free.append(number)


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    # warnings are of no use to the user's tests here; the order of sets must be always the same
    return {**inherited_environment(), "PYTHONWARNINGS": "", **env, "PYTHONHASHSEED": "0"}


async def _spawn(log: IO[bytes], env: Mapping[str, str]) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *ARGUMENTS,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=log,
        env=env,
        start_new_session=True,  # Ctrl-C is for pytest, which ends it
    )
