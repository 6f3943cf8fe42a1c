"""What one bot sent during the talk, kept for the log of the call within bounds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.wire.rtvi import Envelope

if TYPE_CHECKING:
    from pytest_voiceeval.wire.backlog import Event

MOST_EVENTS = 20_000
"""Events kept of one bot: hours of an ordinary talk, a minute of a bot gone wild."""

LONGEST_TEXT = 2_000
"""Characters kept of one text in a payload."""

MOST_ITEMS = 50
"""Entries kept of one list or object in a payload."""

_DEEPEST = 6

_TELLING = frozenset(
    {
        "action",
        "bot-tts-text",
        "error",
        "error-response",
        "metrics",
        "server-message",
        "user-transcription",
    }
)
"""Types whose payload a log shows; of the others, text deltas above all, the type is enough."""


class Tap:
    """Takes every event of one bot. Audio is not an event here.

    Attributes:
        events: ``(time.monotonic(), type, payload)`` in order of arrival.
        dropped: How many came after the last one kept.
    """

    def __init__(self) -> None:
        self.events: list[tuple[float, str, Any]] = []
        self.dropped = 0

    def take(self, event: Event) -> None:
        """Keep one event, its payload cut to what a log can show."""
        if not isinstance(event.kind, Envelope):
            return
        if len(self.events) >= MOST_EVENTS:
            self.dropped += 1
            return
        message = event.kind
        data = _bounded(message.data) if message.type in _TELLING else None
        self.events.append((event.at, message.type, data))


def _bounded(value: Any, depth: int = _DEEPEST) -> Any:
    """A copy of JSON-like data that cannot grow without limit."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST_TEXT else value[:LONGEST_TEXT] + "…"
    if not isinstance(value, Mapping | list):
        return value
    if not depth:
        return "…"
    if isinstance(value, list):
        return [_bounded(item, depth - 1) for item in value[:MOST_ITEMS]]
    pairs = islice(value.items(), MOST_ITEMS)
    return {str(key)[:LONGEST_TEXT]: _bounded(item, depth - 1) for key, item in pairs}
