"""How a call reaches a bot: a bot this process owns, or a pool of running ones."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.bots.endpoint import SESSION_FIELD, Bot, BotError, session_url
from pytest_voiceeval.bots.pool import BotPool
from pytest_voiceeval.bots.process import RunningBot
from pytest_voiceeval.bots.slot import BotSlot
from pytest_voiceeval.bots.team import BotTeam
from pytest_voiceeval.call.errors import AgentUnreachable, CallerFailed
from pytest_voiceeval.call.result import ProcessExit
from pytest_voiceeval.plugin.offline import problem_offline

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

Own = BotSlot | BotTeam
"""What this process starts itself."""
Source = Own | BotPool


def capacity(source: Source) -> int:
    """How many calls its bots take at the same time."""
    if isinstance(source, Own):
        return source.command.max_calls
    return sum(bot.max_calls for bot in source.bots)


def keeps_apart(source: Source) -> bool:
    """Whether its bots are told which call is which; a bot yet to be started sees to itself."""
    return isinstance(source, Own) or all(SESSION_FIELD in bot.url for bot in source.bots)


@dataclass(frozen=True, slots=True)
class Line:
    """One leased bot: the URL of this call, and a probe for the end of its process.

    Attributes:
        keeps_apart: The bot is told the call's id, so it can keep calls apart.
    """

    url: str
    process_exit: Callable[[], Awaitable[ProcessExit | None]] | None
    keeps_apart: bool = False


def source_of(value: Any, fixture: str, lock_dir: Path) -> Source:
    """Turn what a bot fixture returned into something calls can lease from."""
    from pytest_voiceeval.bots.endpoint import coerce_bots

    if isinstance(value, Own):
        return value
    return BotPool(coerce_bots(value, fixture), lock_dir)


@asynccontextmanager
async def line_to(
    source: Source, session: str, *, role: str, offline: bool = False
) -> AsyncIterator[Line]:
    """Lease a bot for the call `session`; what goes wrong before the call is an error of it."""
    failure = AgentUnreachable if role == "agent" else CallerFailed
    # an ExitStack-free form: the lease's own errors are told apart from the call's
    lease = source.lease(f"call {session}")
    try:
        bot = await lease.__aenter__()
    except BotError as error:
        raise failure(str(error)) from error
    try:
        problem = problem_offline(bot.url, f"the bot of the {role}") if offline else ""
        if problem:
            raise failure(problem)
        keeps_apart = SESSION_FIELD in bot.url
        yield Line(session_url(bot.url, session), _exit_probe(bot), keeps_apart)
    finally:
        await lease.__aexit__(None, None, None)


def _exit_probe(bot: Bot | RunningBot) -> Callable[[], Awaitable[ProcessExit | None]] | None:
    if not isinstance(bot, RunningBot):
        return None

    async def probe() -> ProcessExit | None:
        info = await bot.exit_info(1.0)
        if info is None or info.asked:
            return None
        return ProcessExit(info.code, info.signal, info.log_tail)

    return probe
