"""The JSON objects in a model's reply that may be its answer, and what each one holds.

Left out are objects inside reasoning, inside quotation marks, in block quotes and in repeated parts
of the evidence. Nothing cut off is completed, and what had to be repaired counts only if every
field that matters stands in the text exactly as often as in what came out of the repair.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pytest_voiceeval.judge.balance import end_of_object
from pytest_voiceeval.judge.faults import JudgeFault, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LONGEST: Final = 200_000
"""Characters of a reply that are read."""
MOST_OBJECTS: Final = 50
"""Objects in a reply; a verdict comes with a handful at most."""

_FIELDS: Final = ("score", "nl_assertion_verdicts", "index", "passed")
"""The fields that decide; a repair must not make up or lose any."""

# straight and curly quotation marks and apostrophes
_MARKS = r"\"'\u201c\u201d\u2018\u2019"
_WORDS = "think|thinking|thought|reasoning|analysis|scratchpad"
_NEXT = re.compile(
    rf"""
    (?P<opens><\s*(?P<name>{_WORDS})\s*>)
    | (?P<harmony><\|channel\|>\s*(?:analysis|commentary)\b)
    | (?P<bracket>\[THINK\]|◁think▷|<seed:think>)
    | (?P<closes><\s*/\s*(?:{_WORDS})\s*>
        |\[/THINK\]|◁/think▷|</seed:think>|<\|channel\|>\s*final\b)
    | (?P<evidence><(?P<tag>reference|prediction|conversation|nl_assertions
        |agent_context_history|user_context_history)>)
    | (?P<quote>^[ \t]*>[^\n]*)
    | (?P<object>\{{(?=\s*(?:[{_MARKS}}}/#]|\w+\s*[:=])))
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_CLOSERS = {
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<seed:think>": "</seed:think>",
}
_ANY_THINKING = re.compile(rf"<\s*/?\s*(?:{_WORDS})\s*>", re.IGNORECASE)
_QUOTES = "\"'`\u201c\u201d\u201e\u2018\u2019«»「」"
_KEY = re.compile(rf"\\?[{_MARKS}]?\b({'|'.join(_FIELDS)})\b\\?[{_MARKS}]?\s*[:=]", re.IGNORECASE)
_SCORE = re.compile(
    rf"""
    \bscore\b[{_MARKS}]?\s*[:=]\s*
    (?: "(?P<double>[^"\n]*)" | '(?P<single>[^'\n]*)' | \u201c(?P<curly>[^\u201d\n]*)\u201d
      | (?P<bare>[01],\d+|[^\s,}}\]"'][^,}}\]"'\n]*?) )
    (?=\s*(?:,\s*(?:[{_MARKS}}}/#]|[^\W\d])|,?\s*[}}\n]|["'\u201c]))
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Found:
    """One object of a reply: its text and its content."""

    raw: str
    value: dict[str, Any]


def objects_in(text: str) -> list[Found]:
    """The objects of a reply that may be its answer, in their order.

    Raises:
        JudgeFault: The reply is too long, or it ends inside its reasoning or inside an object
            (`cut_off`), or an object says two things at once (`conflicting`).
    """
    if len(text) > LONGEST:
        raise unreadable("too_long", f"the reply has {len(text):,} characters")
    return _Search(text).run()


class _Search:
    """One walk through a reply."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[Found] = []
        self._seen = 0

    def run(self) -> list[Found]:
        position = 0
        while token := _NEXT.search(self._text, position):
            position = self._after(token)
        return self._found

    def _after(self, token: re.Match[str]) -> int:
        """Take one thing that was found; where the search goes on."""
        if token["object"]:
            return self._object(token.start())
        if token["closes"]:
            # what opened it stood in the prompt: all that came before was reasoning
            self._found.clear()
            return token.end()
        if token["evidence"]:
            end = self._text.lower().find(f"</{token['tag'].lower()}>", token.end())
            return token.end() if end < 0 else end
        if token["quote"]:
            return token.end()
        return self._thinking(token)

    def _thinking(self, token: re.Match[str]) -> int:
        if token["opens"]:
            closer = rf"<\s*/\s*{token['name']}\s*>"
        elif token["harmony"]:
            closer = r"<\|channel\|>\s*final\b"
        else:
            closer = re.escape(_CLOSERS.get(token["bracket"], f"[/{token['bracket'][1:]}"))
        end = re.compile(closer, re.IGNORECASE).search(self._text, token.end())
        if end is None:
            raise unreadable("cut_off", "the reply ends inside its reasoning, without an answer")
        return end.end()

    def _object(self, start: int) -> int:
        self._seen += 1
        if self._seen > MOST_OBJECTS:
            raise unreadable("no_verdict", f"the reply holds more than {MOST_OBJECTS} objects")
        strict = _strict(self._text, start)
        end = strict[1] if strict else end_of_object(self._text, start)
        if end is None or (strict is None and _ANY_THINKING.search(self._text, start, end)):
            return self._unfinished(start)
        raw = self._text[start:end]
        value = strict[0] if strict else _repaired(raw)
        if value is not None and not self._is_quoted(start, end):
            self._found.append(Found(raw, value))
        return end

    def _unfinished(self, start: int) -> int:
        """An object without an end: noise in reasoning whose start was not sent, or cut off."""
        closes = next((t for t in _NEXT.finditer(self._text, start + 1) if t["closes"]), None)
        if closes is None:
            raise unreadable("cut_off", "the reply was cut off inside its JSON object")
        if _KEY.search(self._text, start, closes.start()):
            raise unreadable("no_verdict", "the reply's reasoning and answer cannot be told apart")
        self._found.clear()
        return closes.end()

    def _is_quoted(self, start: int, end: int) -> bool:
        before, after = self._text[:start].rstrip(), self._text[end:].lstrip()
        if not before.strip(_QUOTES) and not after.strip(_QUOTES):
            return False  # the whole reply
        if self._text[max(0, start - 3) : start] == "```":
            return False
        left, right = self._text[start - 1 : start], self._text[end : end + 1]
        return bool(left and right) and left in _QUOTES and right in _QUOTES


# -- one object


def _strict(text: str, start: int) -> tuple[dict[str, Any], int] | None:
    """The object that begins at `start` if it is JSON, and where it ends."""
    decoder = json.JSONDecoder(
        strict=False,  # models break lines inside texts
        object_pairs_hook=_without_contradiction,
        parse_constant=str,  # NaN and the infinities stay words
    )
    try:
        value, end = decoder.raw_decode(text, start)
    except JudgeFault:
        raise
    except (ValueError, RecursionError):
        return None
    return value, end


def _without_contradiction(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise unreadable("conflicting", f"the key {key[:40]!r} stands twice in one object")
        found[key] = value
    return found


def _repaired(raw: str) -> dict[str, Any] | None:
    """An object that is nearly JSON, None if it is no verdict anyway."""
    stands = Counter(found[1].lower() for found in _KEY.finditer(raw))
    if not stands["score"]:
        return None
    score = _SCORE.search(raw)
    value = _repair(raw)
    alike = value is not None and Counter(_fields(value)) == stands and stands["score"] == 1
    if value is None or score is None or not alike:
        raise unreadable("no_verdict", "the reply's JSON object is too broken to be read safely")
    # the text as it stands counts, not what a repair makes of `80%` or `0,8`
    literal = next(part for part in score.groups() if part is not None)
    key = next(key for key in value if key.strip().lower() == "score")
    quoted = score["bare"] is None
    return {**value, key: literal if quoted else _bare(literal.strip())}


def _bare(literal: str) -> Any:
    """A value without quotes; words such as `true` are no texts and no score."""
    return None if literal.lower() in {"true", "false", "null", "none"} else literal


def _repair(raw: str) -> dict[str, Any] | None:
    import json_repair

    try:
        value: Any = json_repair.loads(raw)
    except (ValueError, RecursionError, IndexError, TypeError, AttributeError):
        return None
    top = isinstance(value, dict) and any(str(key).strip().lower() == "score" for key in value)
    return {str(key): item for key, item in value.items()} if top else None


def _fields(value: Any) -> Iterator[str]:
    """Names of the deciding fields anywhere in a value, each as often as it is there."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            yield from (name for key in item if (name := str(key).strip().lower()) in _FIELDS)
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
