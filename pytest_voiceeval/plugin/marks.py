"""Marks in `results.jsonl`: was the call of this line reported by its item?

A line is written when its call ends, before anybody knows whether pytest will get to its item. It
says `"reported": false` until then; the mark is set in place, so that a killed run leaves whole
lines and true marks.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.report.files import json_text, locked

if TYPE_CHECKING:
    from pathlib import Path

_BLOCK = 64 * 1024


def unreported(session: str) -> dict[str, Any]:
    """How a line begins: the id of the call, and that nobody has reported it."""
    return {"session": session, "reported": False}


def mark_reported(path: Path, session: str) -> bool:
    """Set the mark in the line of the call `session`; False if the file has no such line.

    The last lines are looked at first.
    """
    if not path.is_file():
        return False
    needle = json_text(unreported(session))[1:-1].encode()
    with locked(path), path.open("r+b") as file:  # a file locked to be appended takes no marks
        place = _find_last(file.fileno(), needle)
        if place is None:
            return False
        # as long as what it replaces: JSON does not mind the blank
        os.pwrite(file.fileno(), b"true ", place + len(needle) - len(b"false"))
        return True


def _find_last(descriptor: int, needle: bytes) -> int | None:
    end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(0, end - _BLOCK)
        # blocks overlap, so that a needle across their border is found
        found = os.pread(descriptor, end - start + len(needle), start).rfind(needle)
        if found >= 0:
            return start + found
        end = start
    return None
