"""A score as models write it, read exactly or not at all."""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Final

from pytest_voiceeval.judge.faults import unreadable

_LONGEST: Final = 40
"""Characters; a longer text is a sentence and no score."""

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?"
_PLAIN = re.compile(rf"\+?({_NUMBER})", re.ASCII)
_PERCENT = re.compile(rf"({_NUMBER})\s*%", re.ASCII)
_FRACTION = re.compile(rf"({_NUMBER})\s*(?:/|out of)\s*({_NUMBER})", re.ASCII)
# one digit more, and 1,000 might be a thousand
_COMMA = re.compile(r"(0,\d+|1,00?)", re.ASCII)


def read_score(value: Any) -> float:
    """Return a score from 0 to 1.

    Numbers are taken as they are; texts may be a number (`"0.8"`, `".8"`, `"0,8"`), a percentage
    (`"80%"`) or a fraction (`"0.8/1"`, `"4 out of 5"`). Nothing is rescaled that does not name
    its scale: 80 is refused.

    Raises:
        JudgeFault: It is no such number (`bad_score`), booleans, NaN and infinities included.
    """
    number = _of_text(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise unreadable(
            "bad_score", f"the score is {_shown(value)}, expected a number from 0 to 1"
        )
    if not 0 <= number <= 1:  # NaN fails it
        raise unreadable("bad_score", f"the score is {_shown(value)}, which is not from 0 to 1")
    return abs(float(number))  # no minus before a zero


def _of_text(text: str) -> float | None:
    plain = unicodedata.normalize("NFKC", text[: _LONGEST + 1]).strip().lower()
    if len(text) > _LONGEST:
        return None
    if found := _PLAIN.fullmatch(plain):
        return float(found[1])
    if found := _PERCENT.fullmatch(plain):
        return float(found[1]) / 100
    if found := _COMMA.fullmatch(plain):
        return float(found[1].replace(",", "."))
    if (found := _FRACTION.fullmatch(plain)) and float(found[2]):
        return float(found[1]) / float(found[2])
    return None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
