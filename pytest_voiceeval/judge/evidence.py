"""What the judge is shown, fenced: nothing in it can leave its part or pose as another one.

Each part stands between `<name>` and `</name>`. Inside, every angle bracket is written as a single
guillemet, so that no text of an agent, a tool or a database can close the part it is in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

_BRACKETS: Final = str.maketrans(dict.fromkeys("<＜﹤", "‹") | dict.fromkeys(">＞﹥", "›"))  # noqa: RUF001


def neutral(text: str) -> str:
    """The text without angle brackets, full-width and small ones included."""
    return text.translate(_BRACKETS)


def fenced(parts: Mapping[str, str | None]) -> str:
    """The parts that there are, one below the other, each inside its fence."""
    return "\n\n".join(
        f"<{name}>\n{neutral(text)}\n</{name}>" for name, text in parts.items() if text is not None
    )


def spoken(conversation: Sequence[Any]) -> str | None:
    """A transcript as lines `[role]: text`, None if nobody said anything.

    A turn is one line, however its text is broken, so that no line of it can pose as a turn.
    """
    turns = [turn for turn in conversation if isinstance(turn, Mapping)]
    lines = [
        f"[{_one_line(turn.get('role'))}]: {said}"
        for turn in turns
        if (said := _one_line(turn.get("text") or turn.get("content")))
    ]
    return "\n".join(lines) or None


def numbered(assertions: Sequence[str]) -> str | None:
    """Statements as lines `1. …`, None if there are none."""
    lines = [f"{number}. {_one_line(text)}" for number, text in enumerate(assertions, 1)]
    return "\n".join(lines) or None


def as_json(value: Any) -> str:
    """A history or a payload as indented JSON; what JSON cannot hold is written as its text."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False, default=str)
    except (RecursionError, TypeError, ValueError):
        return "(nested too deeply, or keyed too oddly, to be shown)"


def without_nulls(history: Sequence[Any]) -> list[Any]:
    """Messages without the keys that are null, such as the `content` of a bare tool call."""
    return [
        {key: value for key, value in message.items() if value is not None}
        if isinstance(message, Mapping)
        else message
        for message in history
    ]


def _one_line(text: Any) -> str:
    return " ".join(str(text or "").split())
