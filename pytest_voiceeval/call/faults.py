"""Whose fault is it? Errors of the wire and ends of processes, in terms of the call."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import TYPE_CHECKING

from pytest_voiceeval.call.errors import (
    AgentUnreachable,
    BotKilled,
    CallerFailed,
    CallError,
    ProtocolFailed,
    SetupFailed,
)
from pytest_voiceeval.wire.errors import (
    ConnectFailed,
    HandshakeFailed,
    ProtocolBroken,
    WireError,
    WrongProtocol,
)

if TYPE_CHECKING:
    from pytest_voiceeval.call.result import ExitProbe, ProcessExit, Side

_OWN_CRASHES = frozenset(
    {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
)
"""Signals by which a process ends itself; any other was sent by somebody else."""

_POLL = 0.05
_LOG_LINES = 5


def as_call_error(error: WireError, side: Side) -> CallError:
    """Return the call's error for an error of the wire before or outside the talk itself."""
    if side == "user":
        return CallerFailed(f"the caller's bot failed: {error}")
    match error:
        case ConnectFailed() | HandshakeFailed():
            return AgentUnreachable(f"the agent cannot be reached: {error}")
        case ProtocolBroken() | WrongProtocol():
            return ProtocolFailed(f"the agent broke the protocol: {error}")
    return SetupFailed(f"the agent was not set up: {error}")


async def find_exit(probe: ExitProbe | None, seconds: float) -> ProcessExit | None:
    """Wait for the end of the bot's process; None if it has not come in time, or is not ours.

    A socket closes a moment before its process ends, so one look is not enough.
    """
    if probe is None:
        return None
    give_up = time.monotonic() + seconds
    try:
        async with asyncio.timeout(seconds):
            while time.monotonic() < give_up:
                found = await probe()
                if found is not None:
                    return found
                await asyncio.sleep(_POLL)
    except TimeoutError:
        pass
    return None


def killed_from_outside(exit_: ProcessExit | None) -> bool:
    """True if a signal ended the process that it did not raise by crashing."""
    return exit_ is not None and exit_.signal is not None and exit_.signal not in _OWN_CRASHES


def describe_exit(exit_: ProcessExit) -> str:
    """How the process ended and the last lines of its log, in one line."""
    if exit_.signal is None:
        how = f"its process exited with code {exit_.code}"
    else:
        how = f"its process was ended by {_signal_name(exit_.signal)}"
    tail = " / ".join(line.strip() for line in exit_.log_tail[-_LOG_LINES:] if line.strip())
    return f"{how}; its log ends: {tail}" if tail else how


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def bot_killed(side: Side, exit_: ProcessExit) -> BotKilled:
    """The error for a bot that somebody else ended."""
    who = "agent" if side == "agent" else "caller's bot"
    return BotKilled(
        f"the {who} was killed during the call, and not by us: {describe_exit(exit_)}. "
        "Out of memory, or a time limit of the machine?"
    )
