"""Any text made fit for a screen and for XML, and how many columns it takes.

What an agent says, a tool answers or a bot logs may hold control characters, terminal colours,
lone surrogates or bidirectional overrides. They are written as escapes, so that a reader sees them
and neither the terminal nor an XML reader acts on them.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Format characters (Cf) include bidirectional overrides and invisible ones; unassigned and private
# characters (Cn, Co) include those that XML forbids.
_ESCAPED: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_JOINERS: Final = frozenset("\u200c\u200d")  # they belong to words of some scripts and to emoji
_ZERO_WIDTH: Final = frozenset({"Mn", "Me", "Cf"})
_EMOJI_STYLE: Final = "\ufe0f"  # makes the character before it as wide as an emoji
_TERMINAL_CODES: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
)


def clean(text: str) -> str:
    """Escape what is not fit to be shown; line breaks stay. Doing it twice changes nothing."""
    return "\n".join(map(_clean_line, text.split("\n")))


def flat(text: str) -> str:
    """As `clean`, with blanks in place of line breaks; other blanks stay as they are."""
    return _clean_line(text.replace("\n", " "))


def one_line(text: str) -> str:
    """The text on one line, every run of blanks a single one, escaped as by `clean`."""
    return _clean_line(" ".join(text.split()))


def without_terminal_codes(text: str) -> str:
    """Drop colours and other terminal sequences, as logs have them."""
    return _TERMINAL_CODES.sub("", text)


def columns(text: str) -> int:
    """How many columns the text takes on a terminal: wide characters take two, marks none."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def split_at(text: str, room: int) -> tuple[str, str]:
    """Part the text behind the longest beginning that takes at most `room` columns."""
    if text.isascii():
        return text[:room], text[room:]
    used = 0
    for index, char in enumerate(text):
        used += _columns_of(char)
        if used > room:
            return text[:index], text[index:]
    return text, ""


def _clean_line(line: str) -> str:
    if line.isascii() and line.isprintable():
        return line
    return "".join(map(_visible, line))


def _visible(char: str) -> str:
    if char == "\t":
        return " "
    if unicodedata.category(char) not in _ESCAPED or char in _JOINERS:
        return char
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"


def _columns_of(char: str) -> int:
    if char.isascii() or char == _EMOJI_STYLE:
        return 1
    if unicodedata.category(char) in _ZERO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
