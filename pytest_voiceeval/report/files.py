"""Files that are whole or absent, and JSON that every reader accepts."""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from pathlib import Path

_DEEPEST = 200
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Write a value as JSON, whatever an agent put into it.

    NaN and the infinities, which JSON does not have, become null; keys become texts; what JSON
    cannot hold is written as its `str`, and what is nested too deeply for any reader as "…".
    """
    try:
        return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_plain(value, _DEEPEST), indent=indent, ensure_ascii=False)


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, indented by two."""
    write_text(path, json_text(value, indent=2) + "\n")


def write_text(path: Path, text: str) -> None:
    """Put a text in place at once: a reader finds the whole file, the one before, or none.

    Half characters (lone surrogates), which UTF-8 does not have, are written as their escapes;
    inside JSON that is the same text.
    """
    # made beside the file: only within one file system a rename is atomic
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def locked(path: Path) -> Iterator[BinaryIO]:
    """The file, made if need be, open to read and append, for the caller alone."""
    while True:
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # whoever had it before us may have removed or replaced it
            if os.fstat(file.fileno()).st_nlink == 0:
                continue
            file.seek(0)
            yield file
            return


def one_line(text: str) -> str:
    """The text without line ends and control characters: nothing said can forge a line of a log."""
    if text.isprintable():
        return text
    return _CONTROL.sub(_escaped, " ".join(text.splitlines()))


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if not isinstance(value, Mapping | list | tuple):
        return str(value)
    if not depth:
        return "…"
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth - 1) for key, item in value.items()}
    return [_plain(item, depth - 1) for item in value]
