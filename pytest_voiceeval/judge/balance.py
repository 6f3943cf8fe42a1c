"""Where a JSON-like object ends, in text that is not quite JSON."""

from __future__ import annotations

from typing import Final

_OPENERS: Final = "{["
_CLOSERS: Final = {"}": "{", "]": "["}
_BEFORE_TEXT: Final = "{[,:"
_AFTER_TEXT: Final = ",:}]"


def end_of_object(text: str, start: int) -> int | None:
    """Return the position behind the object that begins at `start`, None if it has no end.

    Brackets inside texts do not count. A quotation mark ends a text only where something follows
    that may follow one, so that marks inside a text, which models forget to escape, are read over.
    """
    stack: list[str] = []
    position, quote = start, ""
    while position < len(text):
        char = text[position]
        if quote:
            if char == "\\":
                position += 1
            elif char == quote and _may_end(text, position):
                quote = ""
        elif char in _OPENERS:
            stack.append(char)
        elif char in _CLOSERS:
            if stack.pop() != _CLOSERS[char]:
                return None
            if not stack:
                return position + 1
        elif char == '"' or (char == "'" and _may_begin(text, position)):
            quote = char
        position += 1
    return None


def _may_end(text: str, position: int) -> bool:
    position += 1
    while position < len(text) and text[position].isspace():
        position += 1
    return position == len(text) or text[position] in _AFTER_TEXT


def _may_begin(text: str, position: int) -> bool:
    """Whether an apostrophe opens a text: it stands where a key or a value begins."""
    position -= 1
    while position >= 0 and text[position].isspace():
        position -= 1
    return position >= 0 and text[position] in _BEFORE_TEXT
