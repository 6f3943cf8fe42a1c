"""Codes and numbers a caller says that come from nowhere: a fault of the caller, not of the agent.

Everything is compared in one compact form, ``H, seven, Q, M`` and ``h7qm`` both being ``H7QM``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_voiceeval.scoring.identifiers import compact, with_characters

if TYPE_CHECKING:
    from collections.abc import Iterable

SHORTEST = 4
"""Characters of the shortest code that is looked at; shorter ones are seats, times, airports."""
SHORTEST_NUMBER = 5
"""Digits of the shortest plain number; shorter ones are amounts and years."""

# a full stop ends it: what follows is a new sentence, which may begin with "I" or "A"
_SPELLED = re.compile(r"(?<![\w'])[A-Za-z0-9](?:[\s,-]+[A-Za-z0-9](?![\w'])){3,}")
_WRITTEN = re.compile(r"\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{4,}\b")
_HYPHENED = re.compile(r"\b(?=[A-Z0-9-]*\d)(?=[A-Z0-9-]*[A-Z])[A-Z0-9]+(?:-[A-Z0-9]+)+\b")
_NUMBER = re.compile(r"(?<![\d.,$])\d{5,}(?![\d]|[.,]\d)")
_NO_CODE = re.compile(r"\d+(?:st|nd|rd|th|am|pm|s|k|h|min|mins|hrs|usd|dollars)", re.IGNORECASE)


def invented(words: str, sources: Iterable[str]) -> list[str]:
    """Identifiers in a caller's words that none of the sources holds.

    Args:
        words: What the caller says.
        sources: What it may know: its instructions and what the agent has said.
    """
    found = identifiers(words)
    if not found:
        return []
    known = "|".join(map(compact, sources))
    return [code for code in found if not any(form in known for form in _readings(code))]


def _readings(code: str) -> list[str]:
    """A code, and what is left of it if a word "I" or "a" stood beside what was spelled."""
    readings = [code]
    readings += [code[:-1]] if code[-1] in "IA" else []
    readings += [code[1:]] if code[0] in "IA" else []
    return readings


def identifiers(text: str) -> list[str]:
    """Codes and long numbers of a text in compact form, spelled ones included."""
    plain = with_characters(text)
    found = [compact(match[0]) for match in _SPELLED.finditer(plain)]
    rest = _SPELLED.sub(" ", plain)
    for pattern in (_HYPHENED, _WRITTEN, _NUMBER):
        found += [compact(match[0]) for match in pattern.finditer(rest)]
        rest = pattern.sub(" ", rest)
    return [code for code in dict.fromkeys(found) if _counts(code)]


def _counts(code: str) -> bool:
    if _NO_CODE.fullmatch(code):
        return False
    return len(code) >= (SHORTEST_NUMBER if code.isdigit() else SHORTEST)
