"""The event log: what the bots sent, when, on the clock of the call; the same in every run."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.wire.frames import AudioFrame
from pytest_voiceeval.wire.rtvi import Envelope

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_voiceeval.wire.backlog import Event

EVENT_LOG = "event_log.jsonl"

_FLEETING = frozenset({"id", "msg_id", "segment_id", "timestamp", "tool_call_id"})
"""Keys of a payload that are made up anew in every call, or read from the wall clock. Deeper down,
in arguments of tools for example, an id is a word like any other."""

_NUMBERED = re.compile(r"#\d+\b")
"""Pipecat numbers its parts through the life of a process."""


class EventLog:
    """Takes events in order and writes a line for each.

    Args:
        path: The file; it is there when the call is over, however that ended.
        start: What the clock showed when the call began.
    """

    def __init__(self, path: Path, start: float) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._start = start
        self._digest = hashlib.sha256()

    def take(self, side: str, event: Event) -> None:
        """Note an event of a side's bot."""
        kind, payload = _read(event)
        self.note(event.at, side, kind, payload)

    def note(self, at: float, side: str, kind: str, payload: bytes) -> None:
        """Note what came from a side at that time."""
        line = {
            "at": round(at - self._start, 6),
            "side": side,
            "type": kind,
            "payload": hashlib.sha256(payload).hexdigest()[:16],
        }
        text = json.dumps(line, ensure_ascii=False) + "\n"
        self._digest.update(text.encode("utf-8", "backslashreplace"))
        self._file.write(text)

    def close(self) -> str:
        """Finish the file and return the SHA-256 of its content."""
        self._file.close()
        return self._digest.hexdigest()


def _read(event: Event) -> tuple[str, bytes]:
    match event.kind:
        case AudioFrame() as sound:
            form = f"{sound.sample_rate} {sound.num_channels} ".encode()
            return "audio", form + sound.audio
        case Envelope(type=kind, data=data):
            return kind, canonical(data)
    return "interruption", b""


def canonical(data: Any) -> bytes:
    """A payload without what is different every time."""
    if isinstance(data, dict):
        data = {key: value for key, value in data.items() if key not in _FLEETING}
    text = json.dumps(_lasting(data), sort_keys=True, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace")


def _lasting(value: Any) -> Any:
    match value:
        case dict():
            return {key: _lasting(item) for key, item in value.items()}
        case list():
            return [_lasting(item) for item in value]
        case str():
            return _NUMBERED.sub("#", value)
    return value
