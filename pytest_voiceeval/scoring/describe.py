"""Values written so that a reader sees what differs: quotes, types, blanks, odd characters."""

from __future__ import annotations

import json
import unicodedata
from typing import Any, Final

VALUE_LIMIT: Final = 200
"""Characters a described value may take, the note about the rest not counted."""

_LEAD_IN: Final = 20  # characters shown before the first difference of two long texts
# Combining marks, invisible characters, and blanks other than the ordinary one look like
# something else or like nothing.
_MISLEADING: Final = frozenset({"Mn", "Me", "Cf", "Cc", "Cs", "Co", "Cn", "Zl", "Zp"})


def describe_value(value: Any, limit: int = VALUE_LIMIT) -> str:
    """Write a value on one line, as JSON: ``"1"`` and ``1``, ``"Smith "``, ``null``, ``true``.

    Letters of any script stay readable; characters that cannot be told apart by eye (combining
    marks, invisible ones, unusual blanks) are escaped. What JSON cannot hold is shown by its repr.

    Args:
        value: Anything.
        limit: Longest text before it is cut; the note about what was cut comes on top.
    """
    return _cut(_write(value), 0, limit)


def describe_key(key: str) -> str:
    """Write a key or an identity: as it is if it reads well, in quotes if it would mislead.

    Quoted are empty keys, those with blanks at an end, with characters that `describe_value`
    escapes, and those that look like a quoted key, a list position or several steps of a path.
    """
    quoted = _write(key)
    plain = quoted == f'"{key}"' and key == key.strip() and key[:1] not in {"[", ""}
    return key if plain and " / " not in key else quoted


def describe_pair(expected: Any, actual: Any, limit: int = VALUE_LIMIT) -> tuple[str, str]:
    """Write two different values so that both show where they part, however long they are."""
    left, right = _write(expected), _write(actual)
    if max(len(left), len(right)) <= limit:
        return left, right
    start = max(0, _common_prefix(left, right) - _LEAD_IN)
    return _cut(left, start, limit), _cut(right, start, limit)


def _write(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = _repr(value)
    return text if text.isascii() and text.isprintable() else "".join(map(_visible, text))


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - a broken repr must not hide the difference
        return f"<{type(value).__name__} whose repr raised {type(error).__name__}>"


def _visible(char: str) -> str:
    odd_blank = char != " " and unicodedata.category(char) == "Zs"
    if odd_blank or unicodedata.category(char) in _MISLEADING:
        return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"
    return char


def _common_prefix(left: str, right: str) -> int:
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return index
    return min(len(left), len(right))


def _cut(text: str, start: int, limit: int) -> str:
    if len(text) <= limit:
        return text
    start = max(0, min(start, len(text) - limit))
    before = f"… ({start} before) " if start else ""
    after = len(text) - start - limit
    rest = f" … ({after} more characters)" if after else ""
    return f"{before}{text[start : start + limit]}{rest}"
