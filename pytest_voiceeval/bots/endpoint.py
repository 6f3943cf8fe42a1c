"""Where a bot is reached, how many calls it takes at once, and how its process ended."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from pytest_voiceeval.wire.errors import ConnectFailed
from pytest_voiceeval.wire.urls import check_url as check_wire_url
from pytest_voiceeval.wire.urls import mask_url

if TYPE_CHECKING:
    from collections.abc import Iterable

SESSION_FIELD = "{session}"
"""Marks a URL whose bot serves many calls at once; each call puts its own id there."""

MANY_CALLS = 16
"""Calls at once for a `{session}` URL that does not say how many."""


class BotError(Exception):
    """Something about a bot that is not the agent's behaviour in a call."""


class BotUrlError(BotError, ValueError):
    """A bot's URL, or what a fixture returned in its place, cannot be used."""


class BotCommandError(BotError, ValueError):
    """A command line that cannot be run as a bot."""


class BotStartError(BotError):
    """A bot did not get ready.

    Attributes:
        exit: how its process ended, None if it was still running.
    """

    def __init__(self, message: str, exit_info: ExitInfo | None = None) -> None:
        super().__init__(message)
        self.exit = exit_info


class BotGaveUpError(BotStartError):
    """A bot that did not start, or died too often, is not started again."""


class LeaseTimeoutError(BotError, TimeoutError):
    """No bot became free within the deadline."""


@dataclass(frozen=True, init=False)
class Bot:
    """A bot the harness can call.

    Args:
        url: `ws://` or `wss://` address; `{session}` in it marks a bot that keeps calls apart.
        max_calls: calls it takes at the same time; by default 1, with `{session}` 16.

    Raises:
        BotUrlError: the URL is not a WebSocket address, or `max_calls` is not a positive integer.
    """

    url: str
    max_calls: int

    def __init__(self, url: str, max_calls: int | None = None) -> None:
        check_url(url)
        if max_calls is None:
            max_calls = MANY_CALLS if SESSION_FIELD in url else 1
        if isinstance(max_calls, bool) or not isinstance(max_calls, int) or max_calls < 1:
            msg = f"bot {mask_url(url)}: max_calls must be 1 or more, not {max_calls!r}"
            raise BotUrlError(msg)
        object.__setattr__(self, "url", url)
        object.__setattr__(self, "max_calls", max_calls)

    def __repr__(self) -> str:
        return f"Bot(url={mask_url(self.url)!r}, max_calls={self.max_calls})"


@dataclass(frozen=True)
class ExitInfo:
    """How a bot's process ended.

    Attributes:
        code: exit code, None if a signal ended it.
        signal: number of that signal, None if it exited by itself.
        asked: whether the harness had asked it to end.
        log_tail: last lines of its log, oldest first.
    """

    code: int | None
    signal: int | None
    asked: bool
    log_tail: tuple[str, ...] = ()

    def describe(self) -> str:
        """Say it in words: `exit code 3`, `killed by SIGKILL`."""
        how = f"exit code {self.code}" if self.signal is None else f"killed by {_name(self.signal)}"
        return f"{how}, as the harness asked" if self.asked else how


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def check_url(url: Any) -> None:
    """Refuse anything but a WebSocket address.

    Raises:
        BotUrlError: says what is wrong and what was expected; secrets in the URL are masked.
    """
    if not isinstance(url, str):
        msg = f"a bot URL must be a text, not {type(url).__name__}"
        raise BotUrlError(msg)
    bare = url.replace(SESSION_FIELD, "session")
    try:
        check_wire_url(bare)
    except ConnectFailed as error:
        raise BotUrlError(str(error)) from None
    if "{" in bare or "}" in bare or SESSION_FIELD in urlsplit(url).netloc:
        msg = f"{mask_url(url)!r}: only {SESSION_FIELD} may stand in braces, and not in the host"
        raise BotUrlError(msg)


def session_url(url: str, session: str) -> str:
    """Put a call's id where the URL says `{session}`; other URLs come back as they are.

    Raises:
        BotUrlError: the id is empty, so the bot could not tell the call from others.
    """
    if SESSION_FIELD not in url:
        return url
    if not session:
        msg = f"bot URL {mask_url(url)}: the id of the call is empty"
        raise BotUrlError(msg)
    quoted = quote(session, safe="")
    if set(session) == {"."}:  # "." and ".." would be path steps
        quoted = quoted.replace(".", "%2E")
    return url.replace(SESSION_FIELD, quoted)


def parse_bot_urls(urls: Iterable[str], source: str) -> list[Bot]:
    """Make bots of URLs that were given as texts, e.g. by a repeated `--agent-url`.

    Args:
        urls: the texts, in the order of use.
        source: who gave them, for the error text, e.g. `--agent-url`.

    Raises:
        BotUrlError: one is not a WebSocket address, or is given twice.
    """
    return coerce_bots(list(urls), source)


def coerce_bots(value: Any, source: str) -> list[Bot]:
    """Make bots of what a fixture returned: a URL, a `Bot`, or a list of these.

    Args:
        value: the fixture's value.
        source: the fixture's name, for the error text.

    Raises:
        BotUrlError: names `source`, what was wrong, and what may be returned.
    """
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    if not items:
        msg = f"{source}: the list of bots is empty; give at least one URL or Bot"
        raise BotUrlError(msg)
    bots = [_coerce_one(item, source) for item in items]
    _refuse_duplicates(bots, source)
    return bots


def _coerce_one(item: Any, source: str) -> Bot:
    if isinstance(item, Bot):
        return item
    if not isinstance(item, str):
        msg = (
            f"{source} gave a {type(item).__name__}; expected a WebSocket URL, "
            "a Bot(url, max_calls), or a list of these"
        )
        raise BotUrlError(msg)
    try:
        return Bot(item)
    except BotUrlError as error:
        msg = f"{source}: {error}"
        raise BotUrlError(msg) from None


def _refuse_duplicates(bots: list[Bot], source: str) -> None:
    seen: set[str] = set()
    for bot in bots:
        if bot.url in seen:
            msg = (
                f"{source} names {mask_url(bot.url)} twice; "
                "a bot that takes several calls at once is written Bot(url, max_calls=2)"
            )
            raise BotUrlError(msg)
        seen.add(bot.url)
