"""How a model ends a call: by the tool, by the mark, or by writing the tool call out.

Words never end a call. "Goodbye" is something people say.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_voiceeval.call.caller_prompt import HANG_UP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_voiceeval.call.chat_reply import FunctionCall

MAX_REASON = 80

_NAMES = frozenset({HANG_UP, "hangup", "end_call", "endcall", "end_conversation", "terminate_call"})
"""Tools that can only mean the end; models rename what they were given."""

_MARK = re.compile(
    r"\[{1,2}\s*(?:hang[ _-]?up|end[ _-]?(?:of[ _-])?call)\b\s*[:=-]*\s*(?P<reason>[\w ,.-]{0,80})"
    r"\]{1,2}",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"#{2,3}\s*(?P<token>STOP|TRANSFER|OUT-OF-SCOPE)\s*#{2,3}", re.IGNORECASE)
_TOKENS = {"stop": "goal_met", "transfer": "transferred", "out-of-scope": "failed"}
"""The marks of tau2's scenarios, whose prompts ask for them."""
_ACTED = re.compile(
    r"[*(\[]+\s*(?:the caller |caller |i |he |she |they )?(?:hangs?|hanging) up\b[^*()\[\]\n]{0,40}"
    r"[*)\]]+",
    re.IGNORECASE,
)
_WRITTEN = re.compile(rf"\b{HANG_UP}\b(?=\s*[\"'(>])")
_OPENING = re.compile(
    r"(?:<tool_call>|<function=|<\|python_tag\|>|```\w*|[{\[(]|functions?\.|"
    r"[\"'](?:name|type|function|tool)[\"']|[\"':\s])*$"
)
_REASON = re.compile(r"reason\W{1,6}(\w[\w -]*)")
_LAST_WORDS = re.compile(r"last_words[\"']?\s*[:=]\s*\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)


@dataclass(frozen=True)
class Ending:
    """The model hangs up.

    Attributes:
        reason: One of the reasons it was given, or its own.
        last_words: What it says before, apart from the text of the same answer.
        written: It wrote that instead of calling the tool.
    """

    reason: str
    last_words: str = ""
    written: bool = False


def called_ending(calls: Sequence[FunctionCall]) -> Ending | None:
    """The ending among the functions a model calls."""
    for call in calls:
        if _plain(call.name) in _NAMES:
            return _from_arguments(call.arguments)
    return None


def unknown_tools(calls: Sequence[FunctionCall]) -> list[str]:
    """Names of the other functions it calls."""
    return [call.name[:MAX_REASON] for call in calls if _plain(call.name) not in _NAMES]


def written_ending(text: str) -> tuple[str, Ending | None]:
    """Part a text into the words and the ending written with them, if there is one."""
    call = _WRITTEN.search(text)
    if call is not None:
        words = _OPENING.sub("", text[: call.start()])
        return words, _from_written_call(text[call.start() :])
    for pattern in (_MARK, _TOKEN, _ACTED):
        found = pattern.search(text)
        if found is not None:
            # what follows the end of the call is not said any more
            return text[: found.start()], Ending(_marked(found), written=True)
    return text, None


def _plain(name: str) -> str:
    return name.strip().lower().removeprefix("functions.").replace("-", "_")


def _from_arguments(arguments: str) -> Ending:
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return _from_written_call(arguments, written=False)
    if not isinstance(given, dict):
        return Ending("other")
    words = given.get("last_words")
    return Ending(_reason(str(given.get("reason") or "")), words if isinstance(words, str) else "")


def _from_written_call(text: str, *, written: bool = True) -> Ending:
    reason, words = _REASON.search(text), _LAST_WORDS.search(text)
    said = words[1].replace('\\"', '"').replace("\\n", " ") if words else ""
    return Ending(_reason(reason[1] if reason else ""), said, written)


def _marked(found: re.Match[str]) -> str:
    groups = found.groupdict()
    token = groups.get("token")
    return _TOKENS[token.lower()] if token else _reason(groups.get("reason") or "")


def _reason(text: str) -> str:
    reason = " ".join(text.split()).strip(" .,-")[:MAX_REASON]
    return reason.lower().replace(" ", "_") if reason else "other"
