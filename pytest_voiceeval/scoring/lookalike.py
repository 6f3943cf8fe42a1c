"""What sets two different values apart that a reader would take for the same."""

from __future__ import annotations

import unicodedata
from typing import Any, Final

_TYPE_NAMES: Final = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "text",
    type(None): "",  # null tells its own type
}
_EMPTY: Final = frozenset({"", "null", "none", "nil", "n/a", "undefined"})
_TWINS: Final = frozenset(map(frozenset, ("O0", "o0", "I1", "l1", "Il")))
_SCRIPTS_WITH_TWINS: Final = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"})
_FEW: Final = 3  # characters that are named one by one


def difference_notes(expected: Any, actual: Any) -> tuple[str, str]:
    """Name what is easily overlooked between two different scalars.

    Returns:
        A remark about each value, empty where the values as written speak for themselves:
        ``("text", "number")`` for ``"1"`` and ``1``; ``("", "blank at the end")`` for ``"Smith"``
        and ``"Smith "``; ``("", "only case differs")``; ``("letter O", "digit 0")``;
        ``("", "U+0430 CYRILLIC SMALL LETTER A")``.
    """
    if isinstance(expected, str) and isinstance(actual, str):
        return _text_notes(expected, actual)
    left, right = _TYPE_NAMES.get(type(expected)), _TYPE_NAMES.get(type(actual))
    if left is None or right is None or left == right or not _read_alike(expected, actual):
        return "", ""
    return left, right


def _read_alike(expected: Any, actual: Any) -> bool:
    left, right = _spoken(expected), _spoken(actual)
    if left == right or {left, right} <= _EMPTY:
        return True
    return _as_number(left) is not None and _as_number(left) == _as_number(right)


def _spoken(value: Any) -> str:
    """A value as somebody would read it aloud, without quotes and case."""
    return "null" if value is None else str(value).strip().casefold()


def _as_number(text: str) -> float | None:
    try:
        return {"true": 1.0, "false": 0.0}.get(text) or float(text)
    except (ValueError, OverflowError):
        return 0.0 if text == "false" else None


def _text_notes(expected: str, actual: str) -> tuple[str, str]:
    if expected.strip() == actual.strip():
        return _blanks(expected, actual), _blanks(actual, expected)
    remark = _sameness(expected, actual)
    if remark or len(expected) != len(actual):
        return "", remark
    pairs = dict.fromkeys((a, b) for a, b in zip(expected, actual, strict=True) if a != b)
    if len(pairs) > _FEW:
        return "", ""
    return _characters(list(pairs)), _characters([(b, a) for a, b in pairs])


def _sameness(expected: str, actual: str) -> str:
    """In which respect two texts are the same, if that is all but one."""
    if expected.split() == actual.split():
        return "only blanks inside differ"
    if expected.casefold() == actual.casefold():
        return "only case differs"
    if _composed(expected) == _composed(actual):
        return "the same letters in another encoding"
    return ""


def _blanks(text: str, other: str) -> str:
    """Where a text has blanks at its ends that the other has not."""
    stripped = text.strip()
    start = len(text) - len(text.lstrip()) if stripped else 0
    end = len(text) - start - len(stripped)
    other_start = len(other) - len(other.lstrip()) if stripped else 0
    other_end = len(other) - other_start - len(stripped)
    places = ["start"] if start > other_start else []
    places += ["end"] if end > other_end else []
    return f"blank at the {' and the '.join(places)}" if places else ""


def _composed(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _characters(pairs: list[tuple[str, str]]) -> str:
    """Name characters that are easily taken for those in the other text's places."""
    if all(frozenset(pair) in _TWINS for pair in pairs):
        return ", ".join(f"{'digit' if a.isdigit() else 'letter'} {a}" for a, _ in pairs)
    if all(other.isascii() and _is_foreign(char) for char, other in pairs):
        return ", ".join(f"U+{ord(char):04X} {unicodedata.name(char, '')}" for char, _ in pairs)
    return ""


def _is_foreign(char: str) -> bool:
    """Whether the character is odd punctuation, or of a script with letters like Latin ones."""
    if char.isascii():
        return False
    script = unicodedata.name(char, "").partition(" ")[0]
    return script in _SCRIPTS_WITH_TWINS or unicodedata.category(char)[0] in "PSZ"
