"""Server messages that carry meaning for a call, and the few words of text around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

EXIT = ("<exit>", "</exit>")
FINAL_RESPONSE = ("<final_response>", "</final_response>")


@dataclass(frozen=True)
class Exit:
    """The bot ends the call."""

    words: str


@dataclass(frozen=True)
class FinalResponse:
    """The bot delivers its result."""

    payload: str


@dataclass(frozen=True)
class Applied:
    """A write tool recorded an action."""

    record: Mapping[str, Any]
    writes: tuple[tuple[str, str], ...]
    fields: tuple[tuple[str, ...], ...] = ()


def parse_server_message(data: Any) -> Exit | FinalResponse | Applied | None:
    """Read the payload of a ``server-message``; None for anything that is not ours."""
    if isinstance(data, Mapping) and data.get("type") == "action-applied":
        return _applied(data)
    text = data.get("text") if isinstance(data, Mapping) else data
    if not isinstance(text, str):
        return None
    exit_words = _between(text, EXIT)
    if exit_words is not None:
        return Exit(exit_words)
    payload = _between(text, FINAL_RESPONSE)
    return None if payload is None else FinalResponse(payload)


def _between(text: str, tags: tuple[str, str]) -> str | None:
    opening, closing = tags
    text = text.strip()
    if text.startswith(opening) and text.endswith(closing) and len(text) >= len("".join(tags)):
        return text[len(opening) : -len(closing)]
    return None


def _applied(data: Mapping[str, Any]) -> Applied | None:
    record = data.get("action")
    if not isinstance(record, Mapping):
        return None
    return Applied(record, read_writes(data.get("writes")), read_fields(data.get("fields")))


def read_writes(value: Any) -> tuple[tuple[str, str], ...]:
    """The ``[table, record key]`` pairs of a pushed action; whatever is no pair is left out."""
    if not isinstance(value, list):
        return ()
    pairs = [pair for pair in value if isinstance(pair, list | tuple) and len(pair) == 2]
    return tuple((str(table), str(key)) for table, key in pairs)


def read_fields(value: Any) -> tuple[tuple[str, ...], ...]:
    """The paths of a pushed action; whatever is no list is left out."""
    paths = value if isinstance(value, list) else ()
    return tuple(tuple(map(str, path)) for path in paths if isinstance(path, list) and path)


def error_text(data: Any) -> tuple[str, bool]:
    """What an ``error`` message says, and whether it says the bot cannot go on."""
    if not isinstance(data, Mapping):
        return str(data or "no text given"), False
    text = data.get("error") or data.get("message") or "no text given"
    return str(text), data.get("fatal") is True
