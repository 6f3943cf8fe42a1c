"""Function calls of a streamed answer, put together from the pieces that providers send."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass
class StreamedCall:
    """A call as far as it has come.

    Attributes:
        id: Its id, None if the endpoint gives none.
        name: Of the function.
        arguments: As the model wrote them.
    """

    id: str | None = None
    name: str = ""
    arguments: str = ""


class StreamedCalls:
    """Tells the calls of one answer apart.

    Most endpoints number them from 0 and send them in pieces; others send several at once, give all
    of them the same number, or none.
    """

    def __init__(self) -> None:
        self._calls: dict[Any, StreamedCall] = {}
        self._current: Any = None

    def add(self, piece: Mapping[str, Any]) -> None:
        """Take a call, or a piece of one."""
        id_, given = _text(piece.get("id")), piece.get("index")
        key = given if isinstance(given, int) else id_ or self._current or 0
        known = self._calls.get(key)
        if known is not None and id_ and known.id and id_ != known.id:
            # an endpoint that gives every call the same number
            key, known = id_, self._calls.get(id_)
        if known is None:
            known = self._calls[key] = StreamedCall()
        self._current = key
        known.id = known.id or id_ or None
        name, arguments = _function(piece)
        if name != known.name:
            known.name += name
        known.arguments += arguments

    @property
    def calls(self) -> list[StreamedCall]:
        """The calls so far, in the order in which they began."""
        return list(self._calls.values())


def _function(piece: Mapping[str, Any]) -> tuple[str, str]:
    function = piece.get("function")
    if not isinstance(function, Mapping):
        return "", ""
    arguments = function.get("arguments")
    written = json.dumps(arguments) if isinstance(arguments, Mapping) else _text(arguments)
    return _text(function.get("name")), written


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
