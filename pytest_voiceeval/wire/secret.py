"""A key that never shows itself: not in a repr, a format, a log, nor the locals of a traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

MASK = "***"
TELLING = 8
"""Characters of a secret's beginning that are masked wherever they stand."""

UNMISTAKABLE = 16
"""Characters from which on a secret is masked in what models say."""


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


class StreamedMask:
    """Masks secrets in a text that comes in pieces, between any two of which one may be split.

    Args:
        secrets: What is masked.
    """

    def __init__(self, secrets: Sequence[Secret]) -> None:
        self._secrets = secrets
        self._rest = ""

    def feed(self, piece: str) -> str:
        """Take a piece; return what can be said so far: the beginning of a secret is kept back."""
        text = self._rest + piece
        kept = max((_overlap(text, secret.reveal()) for secret in self._secrets), default=0)
        said, self._rest = text[: len(text) - kept], text[len(text) - kept :]
        return masked(said, self._secrets)

    def end(self) -> str:
        """What was kept back."""
        said, self._rest = self._rest, ""
        return masked(said, self._secrets)


def _overlap(text: str, secret: str) -> int:
    """Characters at the end of a text that a secret begins with."""
    most = min(len(text), len(secret))
    return next((n for n in range(most, 0, -1) if secret.startswith(text[-n:])), 0)


def masked(text: str, secrets: Sequence[Secret]) -> str:
    """The text without any of these."""
    # whole ones first, the longest first: several may begin alike, and beginnings are masked too
    for whole in sorted((secret.reveal() for secret in secrets), key=len, reverse=True):
        text = text.replace(whole, MASK) if whole else text
    for secret in secrets:
        text = secret.redact(text)
    return text


def unmistakable(secrets: Sequence[Secret]) -> list[Secret]:
    """Those that are no words of a conversation, as `ollama` or `2024-10-21` might be."""
    return [secret for secret in secrets if len(secret.reveal()) >= UNMISTAKABLE]


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
    """Values of a URL's query parameters, as written and decoded: any of them may be a key."""
    query = urlsplit(url).query
    written = [part.partition("=")[2] for part in query.split("&")]
    decoded = [value for _, value in parse_qsl(query)]
    return [Secret(value) for value in dict.fromkeys(written + decoded) if len(value) > 3]
