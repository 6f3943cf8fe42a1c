"""Opening the WebSocket, and what the ``websockets`` library's errors mean.

The library is imported when the first connection opens: a test run without calls never loads it.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import re
import socket
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING

from pytest_voiceeval.wire.errors import (
    BotBusy,
    ConnectFailed,
    ConnectionLost,
    HandshakeFailed,
    MessageTooLarge,
    ProtocolBroken,
    WireError,
    describe_close,
)
from pytest_voiceeval.wire.urls import check_url, mask_url

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from websockets.asyncio.client import ClientConnection
    from websockets.exceptions import ConnectionClosed
    from websockets.http11 import Response

    from pytest_voiceeval.wire.settings import WireOptions


async def open_socket(
    url: str, where: str, seconds: float, close_seconds: float, options: WireOptions
) -> ClientConnection:
    """Open a WebSocket.

    Redirects are not followed, so that neither the call nor its secrets end up on a host nobody
    named.

    Args:
        url: The bot's address.
        where: Whose connection it is, for errors.
        seconds: What is left of the ``connect`` deadline.
        close_seconds: How long the library waits in its closing handshake.
        options: Sizes, keepalive, proxy.

    Returns:
        The open WebSocket; the caller closes it.

    Raises:
        ConnectFailed: It could not be opened; the text says why.
    """
    from websockets.exceptions import WebSocketException

    check_url(url)
    try:
        async with asyncio.timeout(seconds) as timer:
            return await _opening(url, close_seconds, options)
    except (OSError, ValueError, WebSocketException) as exc:
        fault = _describe(exc)
    if timer.expired():
        fault = f"no WebSocket handshake within {seconds:.3g} s (connect deadline)"
    # The library's errors may quote the URL, so they are neither shown nor chained.
    raise ConnectFailed(f"{where}: cannot connect: {fault}")


def _opening(url: str, close_seconds: float, options: WireOptions) -> Awaitable[ClientConnection]:
    from websockets.asyncio.client import connect

    class Direct(connect):
        def process_redirect(self, exc: Exception) -> Exception | str:
            return exc

    return Direct(
        url,
        compression=None,  # costs time on big messages and saves nothing on a local socket
        proxy=True if options.use_proxy else None,
        open_timeout=None,
        ping_interval=options.ping_interval,
        ping_timeout=options.ping_timeout,
        close_timeout=close_seconds,
        max_size=options.max_incoming,
        logger=_quiet_logger(),
    )


def _quiet_logger() -> logging.Logger:
    """Return a logger that never reaches DEBUG, where the library prints URLs and headers."""
    logger = logging.getLogger("pytest_voiceeval.wire.websockets")
    logger.setLevel(logging.INFO)
    return logger


def _describe(exc: Exception) -> str:
    from websockets.exceptions import InvalidStatus, ProxyError

    if isinstance(exc, InvalidStatus):
        return _describe_status(exc.response)
    if isinstance(exc, ProxyError):
        return "the proxy refused (use_proxy=False connects directly)"
    if isinstance(exc, OSError):
        return _describe_os_error(exc)
    if isinstance(exc, ValueError):
        return "the host name is malformed"
    return (
        f"the answer was no WebSocket handshake ({type(exc).__name__}); is it a WebSocket server?"
    )


def _describe_os_error(exc: OSError) -> str:
    if isinstance(exc, socket.gaierror):
        return f"the host name has no address ({exc.strerror})"
    if isinstance(exc, ssl.SSLError):
        return f"TLS failed ({exc.reason or exc.strerror})"
    # asyncio joins the errors of a name's several addresses into one without a number of its own.
    refused = f"[Errno {errno.ECONNREFUSED}]" in str(exc)
    if refused:
        return "nobody listens there (connection refused); is the bot running?"
    return os.strerror(exc.errno) if exc.errno else str(exc) or type(exc).__name__


def _describe_status(response: Response) -> str:
    target = response.headers.get("Location")
    if target is not None:
        return (
            f"HTTP {response.status_code}, a redirect to {mask_url(target)}, which is not "
            "followed: name that address if you trust it"
        )
    return f"the server answered HTTP {response.status_code} instead of opening a WebSocket"


def explain_end(closed: ConnectionClosed, where: str, max_incoming: int) -> WireError:
    """Return why a connection ended that we had not closed.

    Args:
        closed: The library's exception.
        where: Whose connection it was.
        max_incoming: The limit for messages from the bot, bytes.

    Returns:
        ``ConnectionLost`` with the bot's close code, or 1006 if it sent none; ``MessageTooLarge``
        if its message was above our limit; ``ProtocolBroken`` if it broke the WebSocket protocol.
    """
    if closed.rcvd and (closed.rcvd_then_sent or not closed.sent):
        return ConnectionLost(closed.rcvd.code, closed.rcvd.reason, where)
    if not closed.sent:
        return ConnectionLost(1006, "", where)
    code, reason = closed.sent.code, closed.sent.reason
    if code == 1009:
        size = re.search(r"with (\d+) bytes", reason)
        return MessageTooLarge(
            f"{where}: a message from the bot is too large ({reason}); the limit is {max_incoming} "
            "bytes (max_incoming)",
            int(size[1]) if size else None,
            max_incoming,
        )
    if code in {1002, 1007}:
        return ProtocolBroken(f"{where}: the bot broke the WebSocket protocol: {reason}")
    # Our library gave up: no pong within ping_timeout.
    return ConnectionLost(code, reason, where, by_peer=False)


def explain_early_end(lost: ConnectionLost, where: str) -> HandshakeFailed:
    """Return what the end of a connection means if ``bot-ready`` had not come yet."""
    how = describe_close(lost.code, lost.reason)
    if lost.code == 1013:
        return BotBusy(f"{where}: the bot serves another client: {how}", lost.code, lost.reason)
    return HandshakeFailed(
        f"{where}: the connection closed before bot-ready: {how}; see the bot's log",
        lost.code,
        lost.reason,
    )


async def break_off(websocket: ClientConnection) -> None:
    """Close with 1002 (protocol error), dropping what still arrives.

    Messages nobody takes would keep the bot's answer to our close frame behind them.
    """
    async with asyncio.TaskGroup() as group:
        group.create_task(websocket.close(1002, "protocol error"))
        group.create_task(_discard(websocket))


async def _discard(websocket: ClientConnection) -> None:
    from websockets.exceptions import ConnectionClosed

    with suppress(ConnectionClosed):
        while True:
            await websocket.recv()
