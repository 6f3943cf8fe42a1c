"""JSON as we accept it: UTF-8, each key once, finite numbers; anything else names its place."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.data.errors import DataError, MissingData

if TYPE_CHECKING:
    from pathlib import Path


class _Refused(Exception):
    """The text is JSON to Python, but not to us; `_explain` finds out where."""


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with its repeated keys kept."""


def read_json(path: Path) -> Any:
    """Parse one JSON file.

    Raises:
        DataError: it is not UTF-8, not JSON, repeats a key, or holds NaN or infinity.
        MissingData: there is no such file.
    """
    return parse_json(read_text(path), path=path)


def read_text(path: Path) -> str:
    """Read a UTF-8 text, whatever the platform's default encoding; a byte order mark is dropped.

    Raises:
        DataError: it is not UTF-8.
        MissingData: there is no such file.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise MissingData("there is no such file", path=path) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"is not UTF-8 (byte 0x{data[error.start]:02x}); save the file as UTF-8"
        raise DataError(problem, path=path, line=line) from None


def parse_json(text: str, *, path: Path, first_line: int = 1) -> Any:
    """Parse `text`, which begins on line `first_line` of the file `path`.

    Raises:
        DataError: it is not JSON, repeats a key, holds NaN or infinity, or nests too deeply.
    """
    try:
        return _decoder().decode(text)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        problem = f"is not JSON: {error.msg} (column {error.colno})"
        raise DataError(problem, path=path, line=line) from None
    except _Refused:
        raise DataError(_explain(text), path=path, line=_line_of_record(text, first_line)) from None
    except RecursionError:
        at = _line_of_record(text, first_line)
        raise DataError("nests too deeply to be read", path=path, line=at) from None
    except ValueError as error:  # an integer of thousands of digits
        problem = f"holds a number that cannot be read: {error}"
        at = _line_of_record(text, first_line)
        raise DataError(problem, path=path, line=at) from None


def _line_of_record(text: str, first_line: int) -> int | None:
    """The line of a text that is one line, as in JSON Lines; in a longer one it is unknown."""
    return first_line if "\n" not in text.strip() else None


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_unique, parse_float=_finite, parse_constant=_refuse_constant
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _Refused
    return result


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _Refused
    return value


def _refuse_constant(_: str) -> float:
    raise _Refused


def _explain(text: str) -> str:
    """Say what is wrong with a text that `parse_json` refused, and at which path."""
    try:
        problem = _first_problem(json.loads(text, object_pairs_hook=_Pairs), "")
    except RecursionError:
        problem = None
    return problem or "repeats a key or holds a number that is not finite"


def _first_problem(value: Any, path: str) -> str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return f"{path or 'the value'} is {value}, which JSON cannot hold; use a number or null"
    if isinstance(value, _Pairs):
        return _repeated_key(value, path) or _first_of(
            (item, f"{path}.{key}" if path else key) for key, item in value
        )
    if isinstance(value, list):
        return _first_of((item, f"{path}[{index}]") for index, item in enumerate(value))
    return None


def _first_of(children: Any) -> str | None:
    return next(filter(None, (_first_problem(item, path) for item, path in children)), None)


def _repeated_key(pairs: _Pairs, path: str) -> str | None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            where = f" in {path}" if path else ""
            return f"the key {key!r} appears twice{where}; one value would overwrite the other"
        seen.add(key)
    return None
