"""Answers in OpenAI's chat format, whole or in pieces, as leniently as providers need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_voiceeval.call.usage import Usage, parse_usage
from pytest_voiceeval.wire.function_calls import StreamedCalls

Json = Mapping[str, Any]


class ReplyError(ValueError):
    """What came is no answer.

    Attributes:
        body: The error object the endpoint sent instead, None if it sent something else.
    """

    def __init__(self, text: str, body: Json | None = None) -> None:
        super().__init__(text)
        self.body = body


@dataclass(frozen=True)
class FunctionCall:
    """A call of a function: its name and the arguments as the model wrote them."""

    name: str
    arguments: str = ""


@dataclass(frozen=True)
class ChatReply:
    """One answer of a model.

    Attributes:
        text: Its words, thinking aside where the endpoint keeps it apart.
        calls: Functions it calls.
        finish: Why it stopped (``stop``, ``tool_calls``, ``length``, ...), None if untold.
        refusal: What it said instead of an answer, where the endpoint keeps that apart.
        usage: None if the endpoint did not tell.
    """

    text: str = ""
    calls: tuple[FunctionCall, ...] = ()
    finish: str | None = None
    refusal: str = ""
    usage: Usage | None = None


@dataclass
class ReplyBuilder:
    """Puts the chunks of a streamed answer together."""

    text: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    finish: str | None = None
    usage: Usage | None = None
    chunks: int = 0
    _calls: StreamedCalls = field(default_factory=StreamedCalls)

    def add(self, chunk: Any) -> None:
        """Take one chunk.

        Raises:
            ReplyError: It is no object, or an error.
        """
        if not isinstance(chunk, Mapping):
            raise ReplyError(f"a chunk of the answer is {chunk!r:.60}, expected an object")
        refuse_error(chunk)
        self.chunks += 1
        groq = chunk.get("x_groq")
        told = chunk.get("usage") or (groq.get("usage") if isinstance(groq, Mapping) else None)
        self.usage = parse_usage(told) or self.usage
        for choice in _objects(chunk.get("choices")):
            if choice.get("index") in {None, 0}:
                self._add_choice(choice)

    def _add_choice(self, choice: Json) -> None:
        self.finish = _text(choice.get("finish_reason")) or self.finish
        # some endpoints stream whole messages
        delta = choice.get("delta") or choice.get("message")
        if not isinstance(delta, Mapping):
            return
        self.text.append(_words(delta.get("content")))
        self.refusal.append(_words(delta.get("refusal")))
        for call in _calls_of(delta):
            self._calls.add(call)

    def finished(self) -> ChatReply:
        """The answer so far."""
        calls = (FunctionCall(call.name, call.arguments) for call in self._calls.calls)
        return ChatReply(
            text="".join(self.text),
            calls=tuple(calls),
            finish=self.finish,
            refusal="".join(self.refusal),
            usage=self.usage,
        )


def parse_completion(body: Any) -> ChatReply:
    """Read an answer that came whole.

    Raises:
        ReplyError: It is an error, or no answer at all.
    """
    if isinstance(body, Sequence) and len(body) == 1:
        body = body[0]
    if not isinstance(body, Mapping):
        raise ReplyError(f"the answer is {body!r:.60}, expected an object")
    refuse_error(body)
    if not _objects(body.get("choices")):
        raise ReplyError(f"the answer has no 'choices': it has {', '.join(map(str, body))[:80]}")
    builder = ReplyBuilder()
    builder.add(body)
    return builder.finished()


def refuse_error(body: Json) -> None:
    """Raise what an object says went wrong, if it says so.

    Raises:
        ReplyError: It does.
    """
    failed = body.get("object") == "error"
    if body.get("error") or failed:
        raise ReplyError(error_message(body) or "an error without a message", body)


def error_message(body: Any) -> str:
    """The message of an error body, in any of the shapes providers use; empty if there is none."""
    if isinstance(body, Sequence) and not isinstance(body, str):
        body = body[0] if body else None
    if not isinstance(body, Mapping):
        return _text(body)
    for key in ("error", "message", "detail", "msg"):
        if body.get(key):
            return error_message(body[key])
    return ""


def _objects(value: Any) -> list[Json]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _words(content: Any) -> str:
    """Text of a message's content, which may be a list of parts."""
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in _objects(content))
    return _text(content)


def _calls_of(delta: Json) -> list[Json]:
    legacy = delta.get("function_call")
    single: list[Json] = [{"function": legacy}] if isinstance(legacy, Mapping) else []
    return _objects(delta.get("tool_calls")) or single
