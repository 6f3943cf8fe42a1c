"""A context history made shorter for the judge, with an account of what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_voiceeval.judge.numbers import positive_int

MESSAGES: Final = 40
SYSTEM_CHARACTERS: Final = 2500
CHARACTERS: Final = 6000

_UNTOUCHED: Final = frozenset({"role", "id", "tool_call_id", "name", "type"})
_SYSTEM: Final = frozenset({"system", "developer"})


@dataclass(frozen=True)
class Limits:
    """How much of a history the judge is shown.

    Attributes:
        messages: Most messages, system messages among them.
        system: Most characters of one text of a system message.
        text: Most characters of any other text.
    """

    messages: int = MESSAGES
    system: int = SYSTEM_CHARACTERS
    text: int = CHARACTERS

    def __post_init__(self) -> None:
        """Refuse what is no limit.

        Raises:
            ValueError: A limit is not a whole number above 0.
        """
        positive_int("context_message_limit", self.messages)
        positive_int("context_system_string_limit", self.system)
        positive_int("context_string_limit", self.text)


@dataclass(frozen=True)
class Compacted:
    """A shortened history.

    Attributes:
        messages: What is left.
        dropped: Messages left out.
        texts: Texts that were cut.
        characters: Characters cut from them.
    """

    messages: list[Any]
    dropped: int = 0
    texts: int = 0
    characters: int = 0

    @property
    def note(self) -> str | None:
        """What was left out, None if nothing was."""
        parts = []
        if self.dropped:
            parts.append(f"{self.dropped} of {self.dropped + len(self.messages)} messages left out")
        if self.texts:
            parts.append(f"{self.texts} texts cut by {self.characters} characters in all")
        return ", ".join(parts) or None


def compact(history: Sequence[Any], limits: Limits) -> Compacted:
    """Leave out the oldest messages and cut the longest texts.

    System messages stay, the latest of the others fill up what is left of `limits.messages`, and a
    tool's result goes with the call it answers. Only texts are cut: roles, names, ids, keys and
    the structure of tool calls are as they were.
    """
    kept = _latest(history, limits.messages)
    cutter = _Cutter()
    messages = [cutter.message(message, limits) for message in kept]
    return Compacted(messages, len(history) - len(kept), cutter.texts, cutter.characters)


def _latest(history: Sequence[Any], most: int) -> list[Any]:
    if len(history) <= most:
        return list(history)
    system = {place for place, message in enumerate(history) if _role(message) in _SYSTEM}
    others = [place for place in range(len(history)) if place not in system]
    room = max(0, most - len(system))
    kept = system | set(others[len(others) - room :])
    dropped_calls = {
        call for place in others if place not in kept for call in _call_ids(history[place])
    }
    return [
        message
        for place, message in enumerate(history)
        if place in kept and _answers(message) not in dropped_calls
    ]


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, Mapping) else None


def _answers(message: Any) -> Any:
    """The id of the call whose result a message is."""
    return message.get("tool_call_id") if _role(message) == "tool" else None


def _call_ids(message: Any) -> list[str]:
    calls = message.get("tool_calls") if isinstance(message, Mapping) else None
    ids = [call.get("id") for call in calls or () if isinstance(call, Mapping)]
    return [identity for identity in ids if isinstance(identity, str)]


class _Cutter:
    """Cuts texts and counts what it cut."""

    def __init__(self) -> None:
        self.texts = 0
        self.characters = 0

    def message(self, message: Any, limits: Limits) -> Any:
        return self._value(message, limits.system if _role(message) in _SYSTEM else limits.text)

    def _value(self, value: Any, limit: int) -> Any:
        if isinstance(value, str):
            return self._text(value, limit)
        if isinstance(value, Mapping):
            return {
                key: item if key in _UNTOUCHED else self._value(item, limit)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._value(item, limit) for item in value]
        return value

    def _text(self, text: str, limit: int) -> str:
        omitted = len(text) - limit
        if omitted <= 0:
            return text
        self.texts += 1
        self.characters += omitted
        return f"{text[:limit]}\n...[truncated {omitted} chars for judge input]"
