"""Server-sent events, from bytes that may be split anywhere."""

from __future__ import annotations


class EventReader:
    """Collects the ``data`` of each event; names, ids and comments are passed over."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []

    def feed(self, received: bytes) -> list[str]:
        """Take more bytes; return the data of the events they complete."""
        *lines, self._rest = (self._rest + received).split(b"\n")
        events = (self._line(line.removesuffix(b"\r")) for line in lines)
        return [event for event in events if event is not None]

    def end(self) -> list[str]:
        """The last event, which some servers do not close with an empty line."""
        self._line(self._rest.removesuffix(b"\r"))
        self._rest = b""
        event = self._line(b"")
        return [] if event is None else [event]

    def _line(self, line: bytes) -> str | None:
        if not line:
            event = "\n".join(self._data) if self._data else None
            self._data.clear()
            return event
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" ").decode("utf-8", "replace"))
        return None
