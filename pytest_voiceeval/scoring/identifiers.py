"""Identifiers that were spoken as they are written, instead of one character at a time.

On the phone `LQ512` is said as "L, Q, five, one, two", and an internal id is not said at all. Only
identifiers that are known are looked for: a text is never searched for what might be one.

An identifier stands as written if its characters follow each other with at most blanks, commas and
hyphens between them, and two of them stand together: `LQ512`, `LQ 512` and `L, Q, 512`, but not
`L Q 5 1 2`. An internal id is found in any form, spelled ones included.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

DIGITS: Final = dict(
    zip(
        "0123456789",
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
        strict=True,
    )
)
"""How the digits are said."""

SHORT = 4
"""Characters below which an identifier is looked for only exactly as it is: seats, airports."""
SHORTEST_NUMBER = 6
"""Digits of the shortest identifier without letters that is looked for; `737` may be anything."""
LONGEST = 64
DEEPEST = 50
"""Characters, and levels of nesting, from which nothing is an identifier: models write anything."""

_VALUES: Final = {word: digit for digit, word in DIGITS.items()} | {"oh": "0"}
_WORD = re.compile(rf"\b(?:{'|'.join(_VALUES)})\b", re.IGNORECASE)
_MARK_WORDS = "dash|hyphen|underscore|hash|slash"
_MARKS = re.compile(rf"\b(?:{_MARK_WORDS})\b", re.IGNORECASE)
_APART = r"[ ,\u00a0\u2010-\u2015-]"
# bounded, so that a long text cannot make it slow
_SAID_APART = rf"(?:[\W_]|{_MARK_WORDS}){{0,8}}"
_EXCERPT = 30


@dataclass(frozen=True, slots=True)
class Identifiers:
    """What is known to be one.

    Attributes:
        spelled: Those that are said one character at a time.
        unspoken: Those that are not said at all.
    """

    spelled: frozenset[str]
    unspoken: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.spelled or self.unspoken)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One place where an identifier was spoken as it must not be.

    Attributes:
        identifier: The identifier, as it is known.
        text: The words around it, as they were spoken.
    """

    identifier: str
    text: str


def collect(value: Any, fields: Collection[str], depth: int = DEEPEST) -> Iterator[str]:
    """Yield the texts that a JSON value holds under any of these keys, at any depth.

    A list under such a key gives its texts. Words in small letters, such as the `window` that
    a seat may be, are no identifiers, and neither are numbers of less than `SHORTEST_NUMBER`
    digits.
    """
    if isinstance(value, dict) and depth:
        for key, inner in value.items():
            if key in fields:
                yield from filter(_is_identifier, _texts(inner))
            yield from collect(inner, fields, depth - 1)
    elif isinstance(value, list | tuple) and depth:
        for inner in value:
            yield from collect(inner, fields, depth - 1)


def _texts(value: Any) -> Iterator[str]:
    for text in value if isinstance(value, list | tuple) else (value,):
        if isinstance(text, str):
            yield text


def _is_identifier(text: str) -> bool:
    characters = compact(text)
    if not 1 < len(characters) <= len(text) <= LONGEST or " " in text:
        return False
    if characters.isdigit():
        return len(characters) >= SHORTEST_NUMBER
    # none and null of any kind are words; a code of letters only is in capitals
    return "@" in text or text.isupper() or any(char.isdigit() for char in text)


def compact(text: str) -> str:
    """Bring spelled and written forms together: `H, seven, Q, M` and `h7qm` are both `H7QM`."""
    return re.sub(r"[^A-Z0-9]", "", with_characters(text).upper())


def with_characters(text: str) -> str:
    """Write the digits that a text says as words; the names of marks, such as dash, are dropped."""
    return _MARKS.sub(" ", _WORD.sub(lambda word: _VALUES[word[0].lower()], text))


def spoken_as_written(text: str, identifiers: Identifiers) -> list[Occurrence]:
    """Find what an agent should have spelled, and what it should not have said, in its words.

    Of identifiers that contain each other, the longest counts, and each place counts once.
    """
    squeezed = compact(text)
    found = [
        (match.start(), -match.end(), identifier)
        for identifier, pattern in _patterns(identifiers, squeezed)
        for match in pattern.finditer(text)
        if identifier in identifiers.unspoken or not _is_spelled(match[0])
    ]
    occurrences: list[Occurrence] = []
    done = 0
    for start, minus_end, identifier in sorted(found):
        if start >= done:
            done = -minus_end
            occurrences.append(Occurrence(identifier, _excerpt(text, start, done)))
    return occurrences


def _patterns(identifiers: Identifiers, squeezed: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Patterns of those identifiers that may be in a text of this compact form."""
    for identifier in identifiers.unspoken:
        if compact(identifier) in squeezed:
            yield identifier, _any_form(identifier)
    for identifier in identifiers.spelled - identifiers.unspoken:
        if compact(identifier) in squeezed:
            yield identifier, _written_form(identifier)


def _written_form(identifier: str) -> re.Pattern[str]:
    """The identifier, with blanks and commas between its characters unless it is short."""
    characters = re.sub(r"[\W_]", "", identifier)
    if len(characters) < SHORT:
        return re.compile(_bounded(re.escape(identifier)))
    pieces = re.findall(r"([^\W_])([\W_]*)", identifier)
    gaps = [f"(?:{re.escape(marks)}|{_APART}{{0,2}})" for _, marks in pieces[:-1]]
    pattern = "".join(char + gap for (char, _), gap in zip(pieces, [*gaps, ""], strict=True))
    capitals_matter = characters.isalpha() and "@" not in identifier
    return re.compile(_bounded(pattern), 0 if capitals_matter else re.IGNORECASE)


def _any_form(identifier: str) -> re.Pattern[str]:
    words: dict[str, list[str]] = {}
    for word, digit in _VALUES.items():
        words.setdefault(digit, [digit]).append(word)
    said = [f"(?:{'|'.join(words.get(char, [char]))})" for char in compact(identifier)]
    return re.compile(_bounded(_SAID_APART.join(said)), re.IGNORECASE)


def _bounded(pattern: str) -> str:
    return rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])"


def _is_spelled(match: str) -> bool:
    """Whether each character stands alone."""
    return re.search(r"[A-Za-z0-9]{2}", match) is None


def _excerpt(text: str, start: int, end: int) -> str:
    """Some words before and after, and what stands between them as it is."""
    before, after = text[max(0, start - _EXCERPT) : start], text[end : end + _EXCERPT]
    if start > _EXCERPT:
        before = f"…{before.partition(' ')[2]}"
    if len(text) > end + _EXCERPT:
        after = f"{after.rpartition(' ')[0]}…"
    return " ".join(f"{before}{text[start:end]}{after}".split())
