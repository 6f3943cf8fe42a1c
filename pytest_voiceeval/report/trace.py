"""`trace_metrics.json`: what a bot tells about itself, passed through as it is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

NAME = "trace_metrics.json"
LARGEST = 16 * 1024 * 1024
"""Bytes of such a file that are read."""


@dataclass(frozen=True)
class Trace:
    """What was found.

    Attributes:
        present: There was a readable file.
        content: Its JSON value.
        warning: Why a file that was there is not used, else empty.
    """

    present: bool = False
    content: Any = None
    warning: str = ""


def read_trace(folder: Path) -> Trace:
    """Read a bot's own metrics from its call's folder, else from `bot_logs_agent` below it."""
    for path in (folder / NAME, folder / "bot_logs_agent" / NAME):
        if path.exists():
            return _read(path, str(path.relative_to(folder)))
    return Trace()


def _read(path: Path, shown: str) -> Trace:
    try:
        if not path.is_file():
            return Trace(warning=f"{shown} is not used: it is not a file")
        if path.stat().st_size > LARGEST:
            return Trace(warning=f"{shown} is not used: it is larger than {LARGEST} bytes")
        return Trace(present=True, content=json.loads(path.read_text(encoding="utf-8")))
    except RecursionError:
        return Trace(warning=f"{shown} is not used: it is nested too deeply")
    except (OSError, ValueError) as error:
        return Trace(warning=f"{shown} is not used: it is not readable JSON ({error})")
