"""Texts that may hold secrets, without them: command lines, options, URLs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

REDACTED = "<redacted>"

_WORDS = "apikey|key|token|secret|password|passwd|passphrase|credentials?|auth|authorization"
_SECRET = re.compile(_WORDS, re.IGNORECASE)
# only names with such a word in them: another one's value may be an assignment of its own
_NAME = rf"[\w.-]*(?:{_WORDS})[\w.-]*"
_VALUE = r"(?:\"[^\"]*\"|'[^']*'|\S+)"
_ASSIGNED = re.compile(rf"(?i)(?P<name>{_NAME})(?P<sign>=|[\"']?:\s+|[\"']:){_VALUE}")
_FLAG = re.compile(rf"(?i)(?P<name>--?{_NAME})(?P<sign>\s+)(?!--){_VALUE}")
_HEADER = re.compile(r"(?i)\b(bearer|basic)\s+[^\s\"']+")
# what the big providers' keys look like, wherever they stand
_KEY = re.compile(r"\b(?:sk-|nvapi-|hf_|gh[pousr]_|xox[abprs]-|AKIA|AIza)[\w-]{8,}")
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<rest>[^\s\"'<>]*)")


def is_secret_name(name: str) -> bool:
    """Whether the value under this name is to be hidden.

    `--judge-api-key` and `OPENAI_API_KEY` are; `--judge-api-key-name`, which names a variable, and
    `--judge-max-tokens`, a number, are not.
    """
    parts = [part for part in re.split(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])", name) if part]
    return bool(parts) and parts[-1].lower() != "name" and any(map(_SECRET.fullmatch, parts))


def redact_text(text: str) -> str:
    """Hide secrets inside a text: in URLs, assignments, flags and headers."""
    text = _URL.sub(lambda found: found["scheme"] + _redact_place(found["rest"]), text)
    text = _HEADER.sub(rf"\1 {REDACTED}", text)
    for pattern in (_ASSIGNED, _FLAG):
        text = pattern.sub(_redact_named, text)
    return _KEY.sub(REDACTED, text)


def redact_argv(words: Sequence[str]) -> list[str]:
    """Hide secrets in a command line: also in the word that follows a secret's flag."""
    shown: list[str] = []
    for position, word in enumerate(words):
        before = words[position - 1] if position else ""
        follows = before.startswith("-") and "=" not in before and is_secret_name(before)
        shown.append(REDACTED if follows else redact_text(word))
    return shown


def redact_value(value: Any, name: str = "") -> Any:
    """Hide secrets in a JSON-like value; everything under a secret's name is one."""
    if value not in (None, "", (), []) and is_secret_name(name):
        return REDACTED
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        return {str(key): redact_value(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_value(item) for item in value]
    return value


def _redact_named(found: re.Match[str]) -> str:
    if not is_secret_name(found["name"]):
        return found[0]
    return f"{found['name']}{found['sign']}{REDACTED}"


def _redact_place(rest: str) -> str:
    """User part, query values and fragment hold secrets; host, port and path do not."""
    # from the last @: a password may hold any character, a raw # or ? too
    _, at, rest = rest.rpartition("@")
    place, hash_mark, _ = rest.partition("#")
    place, question_mark, query = place.partition("?")
    shown = f"{REDACTED}@{place}" if at else place
    if question_mark:
        shown += "?" + "&".join(_redact_parameters(re.split("[&;]", query)))
    return shown + (f"#{REDACTED}" if hash_mark else "")


def _redact_parameters(parameters: Iterable[str]) -> Iterable[str]:
    for parameter in parameters:
        name, equals, _ = parameter.partition("=")
        yield f"{name}={REDACTED}" if equals else REDACTED
