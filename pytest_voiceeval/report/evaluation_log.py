"""`evaluation_log.txt`: what the harness did in a folder, call by call, for people.

A call's lines are written in one piece when it is over, so that calls which went on at the same
time can be read one after the other. The layout is that of `bridge_log.txt`; times are UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pytest_voiceeval.report.files import locked, one_line
from pytest_voiceeval.report.redact import redact_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LOG_FILE = "evaluation_log.txt"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of it, or a few: a text may have several.

    Attributes:
        at: When, seconds since the epoch.
        text: What was done, or what somebody's code logged meanwhile.
        level: As loguru names it.
    """

    at: float
    text: str
    level: str = "INFO"


def render(entries: Iterable[Entry], name: str) -> str:
    """The lines of one call, or of a run.

    Args:
        entries: What was done.
        name: Of the call or the run; it stands in every line.
    """
    lines = (_line(e, text, name) for e in entries for text in e.text.splitlines() or [""])
    return "".join(f"{line}\n" for line in lines)


def add(folder: Path, text: str) -> None:
    """Append lines to the log of a folder, in one piece."""
    with locked(folder / LOG_FILE) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def _line(entry: Entry, text: str, name: str) -> str:
    moment = datetime.fromtimestamp(entry.at, UTC)
    time = moment.isoformat(sep=" ", timespec="milliseconds").partition("+")[0]
    said = one_line(redact_text(text))
    return f"{time} | {entry.level:<8} | voiceeval.runner:{one_line(name)}:0 - {said}"
