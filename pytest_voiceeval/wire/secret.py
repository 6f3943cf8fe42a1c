"""A key that never shows itself: not in a repr, a format, a log, nor the locals of a traceback."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

MASK = "***"
TELLING = 8
"""Characters of a secret's beginning that are masked wherever they stand."""


class Secret:
    """A text that is only given out by :meth:`reveal`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The text itself. Use it where it is needed and keep it in no variable."""
        return self._value

    def redact(self, text: str) -> str:
        """The text with the secret masked, also where only its beginning is quoted or left."""
        head = self._value[:TELLING]
        if not head:
            return text
        before, found, after = text.partition(head)
        if not found:
            return text
        rest = self._value[TELLING:]
        same = next((n for n in range(len(rest), -1, -1) if after.startswith(rest[:n])), 0)
        return f"{before}{MASK}{self.redact(after[same:])}"

    def __repr__(self) -> str:
        return f"Secret({MASK!r})"

    def __str__(self) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        raise TypeError("a secret is not pickled: let the other process read it for itself")


def problem_of_key(text: str | None) -> str:
    """What keeps the value of an environment variable from being a key, empty if nothing does.

    A key travels in a header of HTTP, where clients refuse other characters in ways of their own.
    """
    key = (text or "").strip()
    if not key:
        return "is not set or empty"
    if not key.isascii() or not key.isprintable():
        return "holds a line break or another character that no key can have"
    return ""


def secrets_in_query(url: str) -> list[Secret]:
    """Values of a URL's query parameters: any of them may be a key."""
    return [Secret(value) for _, value in parse_qsl(urlsplit(url).query) if len(value) > 3]
