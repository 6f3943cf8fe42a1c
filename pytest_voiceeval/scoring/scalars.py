"""When two single values match: text, numbers, true and false, null.

In this order; the first rule that applies decides.

1. Null, and text that reads none or null, match each other and nothing else.
2. Numbers match as numbers if both are numbers, or one is a number and the other plain decimal
   text, or both are plain decimal texts of at most 15 digits. Plain decimal text is ASCII without
   leading zeros: ``12``, ``-3``, ``9.990``; not ``007``, ``1e3``, ``1_000``, ``1,000``.
   Whole numbers and decimal texts must be exactly equal; a fraction may be off by
   1e-8 + 1e-5 times the prediction.
3. Everything else matches as text, after the flags have been applied. If that turned a text into
   a plain decimal, rule 2 is asked again (``$9.99`` against 9.99 without punctuation).

True and false are not numbers: they match themselves and the texts ``True`` and ``False``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any, Final

from pytest_voiceeval.scoring.normalize import is_null_text

RELATIVE_TOLERANCE: Final = 1e-5
ABSOLUTE_TOLERANCE: Final = 1e-8

MAX_TEXT_DIGITS: Final = 15
"""Longer digit texts are ids, not numbers: both texts must then be the same."""

_MAX_DIGITS: Final = 400  # of a text that is compared with a number
_PLAIN_DECIMAL: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_PUNCTUATION: Final = re.compile(r"(?<![0-9])[^\w\s]|[^\w\s](?![0-9])|[^\w\s.]")


@dataclass(frozen=True)
class MatchRules:
    """How strictly values are compared.

    Attributes:
        ignore_capitalization: Upper and lower case are the same.
        ignore_punctuation: Punctuation is left out; a point between two digits is kept.
        clean_text: Spoken and written forms are the same (`pytest_voiceeval.scoring.spoken`).
        disallow_extra_items: The prediction's lists may not be longer than the reference's.
    """

    ignore_capitalization: bool = False
    ignore_punctuation: bool = False
    clean_text: bool = False
    disallow_extra_items: bool = False

    @property
    def lenient(self) -> MatchRules:
        """The same rules with extra list items allowed."""
        return replace(self, disallow_extra_items=False)


def match_scalars(reference: Any, prediction: Any, rules: MatchRules) -> bool:
    """Compare two values of which the reference is neither a list nor an object."""
    if isinstance(prediction, dict | list | tuple):  # as the reference does, but without flags
        return isinstance(reference, str) and reference == str(prediction)
    if _is_null(reference) or _is_null(prediction):
        return _is_null(reference) and _is_null(prediction)
    verdict = _match_as_numbers(reference, prediction)
    if verdict is not None:
        return verdict
    if isinstance(reference, bool) != isinstance(prediction, bool) and not (
        isinstance(reference, str) or isinstance(prediction, str)
    ):
        return False
    return _match_as_texts(_text(reference, rules), _text(prediction, rules))


def _is_null(value: Any) -> bool:
    return value is None or (isinstance(value, str) and is_null_text(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _match_as_numbers(reference: Any, prediction: Any) -> bool | None:
    """The verdict of rule 2, or None if it does not apply."""
    if isinstance(reference, str) and isinstance(prediction, str):
        left, right = _short_decimal(reference), _short_decimal(prediction)
        return None if left is None or right is None else left == right
    first, second = _as_number(reference), _as_number(prediction)
    if first is None or second is None:
        return None
    return _numbers_match(first, second)


def _short_decimal(text: str) -> str | None:
    digits = sum(char.isdigit() for char in text)
    return _decimal(text) if digits <= MAX_TEXT_DIGITS else None


def _decimal(text: str) -> str | None:
    """The shortest spelling of a plain decimal text: ``9.990`` is ``9.99``, ``-0.0`` is ``0``."""
    if len(text) > _MAX_DIGITS or not _PLAIN_DECIMAL.fullmatch(text):
        return None
    short = text.rstrip("0").removesuffix(".") if "." in text else text
    return "0" if short == "-0" else short


def _as_number(value: Any) -> int | float | None:
    if isinstance(value, str):
        text = _decimal(value)
        return None if text is None else float(text) if "." in text else int(text)
    if not _is_number(value):
        return None
    number: int | float = value
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _numbers_match(reference: float, prediction: float) -> bool:
    if isinstance(reference, int) and isinstance(prediction, int):
        return reference == prediction
    if reference == prediction or math.inf in (abs(reference), abs(prediction)):
        return reference == prediction
    try:
        tolerance = ABSOLUTE_TOLERANCE + RELATIVE_TOLERANCE * abs(prediction)
        return abs(reference - prediction) <= tolerance
    except OverflowError:  # an integer beyond every float is far from any fraction
        return False


def _text(value: Any, rules: MatchRules) -> str:
    number = _as_number(value) if _is_number(value) else None
    text = str(value if number is None else number)
    if rules.clean_text:
        from pytest_voiceeval.scoring.spoken import clean_label  # its patterns take time to compile

        text = clean_label(text)
    if rules.ignore_punctuation:
        text = _PUNCTUATION.sub("", text)
    return text.casefold() if rules.ignore_capitalization else text


def _match_as_texts(reference: str, prediction: str) -> bool:
    verdict = _match_as_numbers(reference, prediction)
    return reference == prediction if verdict is None else verdict
