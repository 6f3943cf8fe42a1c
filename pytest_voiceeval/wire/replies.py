"""Requests in flight, and which reply belongs to which."""

from __future__ import annotations

import asyncio
import copy
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.wire.errors import ProtocolBroken, RequestRefused, WireError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_voiceeval.wire.rtvi import Envelope

Outcome = asyncio.Future["Envelope | WireError"]


class Replies:
    """Matches replies to requests by id, and by nothing else."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[str, Outcome]] = {}
        self._past: dict[str, str] = {}

    @contextmanager
    def expect(self, request_id: str, name: str) -> Iterator[Outcome]:
        """Register a request; on leaving, a reply that has not come counts as late.

        Args:
            request_id: The request's envelope id.
            name: How warnings call it.

        Yields:
            A future of the reply, or of the error that ended the connection (as a value, so that
            an abandoned request leaves no unretrieved exception behind).
        """
        outcome: Outcome = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = (name, outcome)
        try:
            yield outcome
        finally:
            if self._waiting.pop(request_id, None):
                self._past[request_id] = f"late reply to {name!r}, which is no longer waited for"

    def expect_none(self, message_id: str, warning: str) -> None:
        """Register a message nobody awaits a reply to, and the warning if one comes."""
        self._past[message_id] = warning

    def deliver(self, reply: Envelope) -> str:
        """Hand a ``server-response`` or ``error-response`` to its request.

        Returns:
            A warning if no request waits for it, else ``""``.
        """
        name, outcome = self._waiting.pop(reply.id or "", ("", None))
        if outcome is None:
            foreign = f"{reply.type} with a foreign id: {reply.id!r:.80}"
            return self._past.get(reply.id or "", foreign)
        self._past[reply.id or ""] = f"second reply to {name!r}"
        if not outcome.done():
            outcome.set_result(reply)
        return ""

    def fail(self, error: WireError) -> None:
        """Answer every request in flight with the error that ended the connection."""
        for _, outcome in self._waiting.values():
            if not outcome.done():
                outcome.set_result(error)


def payload_of(reply: Envelope | WireError, name: str, where: str) -> Any:
    """Return what a request's outcome means to its caller.

    Args:
        reply: What :meth:`Replies.expect` gave.
        name: The request's name, for errors.
        where: Whose connection it is, for errors.

    Returns:
        The reply's ``d``, None if it has none.

    Raises:
        RequestRefused: The bot answered with an ``error-response``.
        ProtocolBroken: The reply is no object.
        WireError: A copy of the error that ended the connection (a copy, because several requests
            raise it).
    """
    if isinstance(reply, WireError):
        raise copy.copy(reply)
    data = reply.data
    if reply.type == "error-response":
        error = str(data.get("error", data) if isinstance(data, dict) else data)
        error = error or "no reason given"
        raise RequestRefused(f"{where}: {name!r} was refused: {error}", name, error)
    if not isinstance(data, dict):
        raise ProtocolBroken(
            f"{where}: the reply to {name!r} has no payload: expected "
            f'{{"t": ..., "d": ...}}, got {data!r:.80}'
        )
    return data.get("d")
