"""The last lines of a bot's log, fit for a report."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

LINES = 20
LINE_CHARS = 400
TAIL_BYTES = 32 * 1024
SECRET_LENGTH = 8
"""Shorter values are not masked: they would turn ordinary words into stars."""

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")


def secrets_of(env: Mapping[str, str]) -> list[str]:
    """Give the values that must not be shown: those of variables named like secrets."""
    values = {value for name, value in env.items() if _SECRET_NAME.search(name)}
    return sorted((v for v in values if len(v) >= SECRET_LENGTH), key=len, reverse=True)


def read_tail(path: Path, *, start: int = 0, hidden: Iterable[str] = ()) -> tuple[str, ...]:
    """Read the last lines of a log.

    Args:
        path: the log; one that cannot be read has no lines.
        start: byte offset before which lines belong to somebody else.
        hidden: texts to mask.

    Returns:
        At most 20 lines of at most 400 characters, without terminal escapes; bytes that are no
        UTF-8 are replaced.
    """
    text = _read_end(path, start).decode("utf-8", "replace")
    for secret in hidden:
        text = text.replace(secret, "***")
    lines = [_ESCAPES.sub("", line).rstrip() for line in text.split("\n")]
    return tuple(_shorten(line) for line in lines if line)[-LINES:]


def _read_end(path: Path, start: int) -> bytes:
    try:
        with path.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            begin = max(min(start, size), size - TAIL_BYTES)
            log.seek(begin)
            data = log.read(TAIL_BYTES)
    except OSError:
        return b""
    whole_lines = data.partition(b"\n")[2] if begin > start else data
    return whole_lines or data


def _shorten(line: str) -> str:
    return line if len(line) <= LINE_CHARS else line[: LINE_CHARS - 1] + "…"
