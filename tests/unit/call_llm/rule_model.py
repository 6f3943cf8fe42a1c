"""A "model" that answers by rule: a brain replayed over the messages of each request.

The endpoint keeps nothing between requests. A brain sees what the request holds, system prompt,
tools, words and tool results, and the same messages always get the same answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.unit.call_llm.provider import Request, Say

Json = dict[str, Any]


@dataclass(frozen=True)
class Speak:
    """Say something; the other side's words come back."""

    text: str


@dataclass(frozen=True)
class Use:
    """Call a tool; its result comes back."""

    name: str
    arguments: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Leave:
    """Say the last words and call the tool that ends the call."""

    text: str
    name: str
    arguments: Json = field(default_factory=dict)


Action = Speak | Use | Leave
Brain = Generator[Action | None, Any, None]
"""Yields None first and gets the first words; then each action gets what answers it."""

MakeBrain = Callable[[str, frozenset[str]], Brain]
"""Makes a brain from the system prompt and the names of the tools."""


def next_action(make: MakeBrain, request: Request) -> Action:
    """What a brain does next in a conversation."""
    tools = frozenset(tool["function"]["name"] for tool in request.body.get("tools", ()))
    brain = make(request.system, tools)
    action: Action | None = next(brain)
    try:
        for heard in _inputs(request.messages):
            action = brain.send(heard)
    except StopIteration:
        return Speak("Goodbye.")
    assert action is not None, "the first words are missing"
    return action


def _inputs(messages: list[Json]) -> Iterator[Any]:
    """What a brain is told: words as text, results of tools as objects."""
    words: list[str] = []
    for message in messages:
        if message["role"] == "user":
            words.append(_text(message["content"]))
            continue
        if words:
            yield "\n".join(words)
            words.clear()
        if message["role"] == "tool":
            yield json.loads(_text(message["content"]))
    if words:
        yield "\n".join(words)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(part.get("text", "") for part in content)
    return str(content)


def answer_by(make: MakeBrain, request: Request) -> Say:
    """The answer a brain gives to a request."""
    action = next_action(make, request)
    text, calls = "", ()
    match action:
        case Speak(text=text):
            pass
        case Use(name=name, arguments=arguments):
            calls = ((name, arguments),)
        case Leave(text=text, name=name, arguments=arguments):
            calls = ((name, arguments),)
    return Say(
        text,
        calls=calls,
        finish="tool_calls" if calls else "stop",
        usage=(len(json.dumps(request.body)) // 4, 8),
        split=61,
        call_id=f"call_{len(request.messages)}",  # a bot keeps the results by id
    )
