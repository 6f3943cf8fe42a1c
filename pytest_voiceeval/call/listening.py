"""Waiting, in three shapes: for the end of a turn, for a caller, for a task of one's own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_voiceeval.call.errors import CallerFailed, CallError

if TYPE_CHECKING:
    from pytest_voiceeval.call.limits import CallLimits
    from pytest_voiceeval.call.turns import TurnCollector
    from pytest_voiceeval.wire.backlog import Event

T = TypeVar("T")

CANCEL_DEADLINE = 5.0
"""Seconds for a cancelled task to end; one that refuses, in a caller's code, is left behind."""

Listen = Callable[[float | None], Awaitable["Event | None"]]
"""Returns the next event, or None when there was none until then; None takes what is there."""


def passed(at: float | None) -> bool:
    """True once that time has come; never for None."""
    return at is not None and time.monotonic() >= at


async def hear_out(
    turn: TurnCollector, limits: CallLimits, listen: Listen, take: Callable[[Event], None]
) -> bool:
    """Feed events until the turn is over; False if the bot gave no sign for ``turn_silence``."""
    while True:
        # what has arrived counts, however late this loop gets to it
        while (event := await listen(None)) is not None:
            take(event)
        over_at, silent_at = turn.settles_at, turn.last_sign_at + limits.turn_silence
        if passed(over_at):
            return True
        if over_at is None and passed(silent_at):
            return False
        event = await listen(silent_at if over_at is None else over_at)
        if event is not None:
            take(event)


@asynccontextmanager
async def blaming_caller(doing: str, limits: CallLimits, limit_name: str) -> AsyncIterator[None]:
    """Turn whatever a caller raises, or not ending within the named limit, into its failure."""
    seconds: float = getattr(limits, limit_name)
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except CallError:
        raise
    except Exception as error:
        if limit.expired():
            fault = f"was not through after {seconds:g} s ({limit_name})"
        else:
            fault = f"failed ({type(error).__name__}: {error})"
        raise CallerFailed(f"the simulated caller {fault} while {doing}") from error


@asynccontextmanager
async def running(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """A task that never outlives its block."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_DEADLINE)
        if task.done() and not task.cancelled():
            # retrieved, so that asyncio does not report it as lost
            task.exception()
