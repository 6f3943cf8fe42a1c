"""From what a model wrote to the words a caller speaks: each rule takes one kind of litter away."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_voiceeval.call.caller_stats import Handled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_I, _M, _S = re.IGNORECASE, re.MULTILINE, re.DOTALL

_TAGS = "(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad)"
_THOUGHT = re.compile(rf"<{_TAGS}>.*?</{_TAGS}>", _I | _S)
_THOUGHT_TO = re.compile(rf"^.*</{_TAGS}>", _I | _S)
_THOUGHT_FROM = re.compile(rf"<{_TAGS}>.*$", _I | _S)
_CHANNEL = re.compile(r"<\|channel\|>\s*(?:analysis|commentary).*?(?=<\|channel\|>\s*final|$)", _S)
_FINAL = re.compile(r"<\|channel\|>\s*final\s*<\|message\|>")
_TOKEN = re.compile(r"<\|[^|<>\n]{1,40}\|>|</?s>|\[/?INST\]")

_AGENT = re.compile(
    r"^[\W_]*(?:agent|assistant|representative|operator|support|customer (?:service|support))"
    r"[\W_]{0,3}:",
    _I | _M,
)
_CALLERS = ("caller", "user", "customer", "passenger", "client", "human", "me")

_ACTS = (
    "sigh|paus|laugh|chuckl|clear|hesitat|nod|groan|whisper|mutter|smil|frown|think|wait|breath|"
    "cough|sniff|silen|typ|listen|look|shrug|yawn|gasp|giggl|relie|frustrat|speak|say|read|hold|"
    "tak|check|background|beat"
)
_STAGE = re.compile(
    rf"(?:\*{{1,2}}|[(\[])\s*(?:(?:\w+ly|a|long|short|brief|deep|slight|heavy|in|with)\s+)*"
    rf"(?:{_ACTS})\w*\b[^*()\[\]\n?]{{0,60}}(?:\*{{1,2}}|[)\]])",
    _I,
)

_NOTE = re.compile(r"\[\[.*?\]\]", _S)
_XML = re.compile(r"</?[A-Za-z][\w-]*>")
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)\1", _S)
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)\*(?![\w*])")
_LEAD = re.compile(r"^[ \t]*(?:#{1,6}|[-*\u2022>]|\d{1,2}[.)])[ \t]+", _M)
_FENCE = re.compile(r"```\w*\n?|`")
_QUOTED = re.compile(r'^(["\u201c])([^"\u201c\u201d]*)["\u201d]$', _S)

_SENTENCE = re.compile(r".*[.!?](?=[\"'\u201d)]?(?:\s|$))", _S)


def without_thinking(text: str) -> str:
    """Leave out what a model thinks aloud; what is never closed was cut off while thinking."""
    text = _THOUGHT.sub(" ", text)
    # some chat templates write the opening tag themselves
    text = _THOUGHT_FROM.sub("", _THOUGHT_TO.sub("", text))
    return _FINAL.sub("", _CHANNEL.sub("", text))


def without_agent_lines(text: str) -> str:
    """End where the model goes on as the agent, under the agent's name."""
    found = _AGENT.search(text)
    return text[: found.start()] if found else text


def without_prefix(text: str, names: Iterable[str] = ()) -> str:
    """Leave out the caller's name, or part, in front of a line."""
    known = "|".join(map(re.escape, sorted((*_CALLERS, *names), key=len, reverse=True)))
    prefix = rf"^[ \t*_\"'>-]*(?:the )?(?:{known})[*_]*\s*(?:\([^)\n]{{0,40}}\))?\s*:[*_]*[ \t]*"
    return re.sub(prefix, "", text, flags=_I | _M)


def without_stage_directions(text: str) -> str:
    """Leave out ``*sighs*``, ``(pauses)``, ``[laughs softly]``, and notes of the simulation."""
    return _STAGE.sub(" ", _NOTE.sub(" ", text))


def without_markup(text: str) -> str:
    """Leave out Markdown, tags and quotes around it all; keep the words."""
    text = _FENCE.sub("", _XML.sub(" ", text))
    text = _EMPHASIS.sub(r"\1", _STRONG.sub(r"\2", text))
    return _QUOTED.sub(r"\2", _LEAD.sub("", text).strip())


def one_line(text: str) -> str:
    """Join lines and collapse blanks."""
    return re.sub(r"\s+([.,!?;:])(?=\s|$)", r"\1", " ".join(_TOKEN.sub(" ", text).split()))


def to_last_sentence(text: str) -> str:
    """Cut after the last whole sentence; a text without one stays as it is."""
    found = _SENTENCE.match(text)
    return found[0] if found else text


def shortened(text: str, max_words: int) -> str:
    """Keep whole sentences of at most so many words, or as many words of the first one."""
    words = text.split()
    return text if len(words) <= max_words else to_last_sentence(" ".join(words[:max_words]))


def cleaned(text: str, names: Iterable[str] = ()) -> tuple[str, list[Handled]]:
    """The words on one line, and what was taken away from them."""
    rules: tuple[tuple[Handled, Callable[[str], str]], ...] = (
        (Handled.THOUGHT, without_thinking),
        (Handled.BOTH_PARTS, without_agent_lines),
        (Handled.STAGE_DIRECTION, without_stage_directions),  # one may stand before the name
        (Handled.PREFIX, lambda text: without_prefix(text, names)),
        (Handled.MARKUP, without_markup),
    )
    handled: list[Handled] = []
    for kind, rule in rules:
        left = rule(text)
        if one_line(left) != one_line(text):
            handled.append(kind)
        text = left
    return one_line(text), handled
