"""An answer of the stock bot's model, chunk by chunk, put right for Pipecat.

Pipecat looks at the first call of a chunk only, tells calls apart by numbers that count from 0, and
drops without a word what it cannot use, so that nobody answers. So calls are put together here, and
handed over whole at the answer's end, which is when Pipecat makes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from openai.types.chat import ChatCompletionChunk

from pytest_voiceeval.wire.function_calls import StreamedCall, StreamedCalls

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

    from openai import AsyncStream

    Chunks = AsyncStream[ChatCompletionChunk]

STOPPED = {
    "length": "ended the answer at its token limit",
    "content_filter": "ended the answer by its content filter",
}
"""Finish reasons after which something is missing."""


class NoCompletion(Exception):
    """What came is not the chunks of a completion; nothing is known about the model.

    Attributes:
        status: The number that an error object names, if there is one.
        passes: Whether the same request may succeed later.
        spent: Whether the model may have worked on it.
    """

    def __init__(
        self, text: str, *, status: int | None = None, passes: bool = False, spent: bool = False
    ) -> None:
        super().__init__(text)
        self.status = status
        self.passes = passes
        self.spent = spent


class UnusableCall(Exception):
    """The model calls a function with arguments that nobody can read."""


class Answer:
    """The chunks of one answer. It is what Pipecat takes for the client's stream.

    Args:
        stream: The client's.
        begun: Awaited when the model has begun to answer.
        note: Takes what is worth knowing about it, in words that follow the endpoint's name.
        owed: Whether an answer without words and calls is worth knowing.
    """

    def __init__(
        self,
        stream: Chunks,
        begun: Callable[[], Awaitable[object]],
        note: Callable[[str], Awaitable[object]],
        *,
        owed: bool = True,
    ) -> None:
        self._stream = stream
        self._begun = begun
        self._note = note
        self._owed = owed
        self._chunks = self._checked()
        self._held: list[Any] = []

    async def until_words(self) -> Self:
        """Wait for the first words, or the end: until then the same can be asked again.

        Raises:
            NoCompletion: The endpoint sent something else, or less.
            UnusableCall: The model calls a function that cannot be called like that.
        """
        try:
            async for chunk in self._chunks:
                self._held.append(chunk)
                if chunk.choices and chunk.choices[0].delta.content:
                    break
        except BaseException:
            await self.close()
            raise
        return self

    async def __aiter__(self) -> AsyncIterator[Any]:
        """The chunks, those that were waited for first."""
        for chunk in self._held:
            yield chunk
        async for chunk in self._chunks:
            yield chunk

    async def close(self) -> None:
        """Give the connection back."""
        await self._chunks.aclose()
        await self._stream.close()

    async def _checked(self) -> AsyncGenerator[Any, None]:
        calls = StreamedCalls()
        finish, words = None, False
        async for chunk in _readable(self._stream):
            choice = _first_choice(chunk)
            if choice is not None:
                await self._begun()
                finish = getattr(choice, "finish_reason", None) or finish
                _take_calls(choice, calls)
                words = bool(choice.delta.content) or words
            yield chunk
        if finish is None:
            raise _broken("broke off before the end of its answer (no finish_reason)")
        if finish in STOPPED:
            await self._note(f"{STOPPED[finish]} (finish_reason {finish})")
        elif self._owed and not words and not calls.calls:
            await self._note("answered with no words and no calls")
        for number, call in enumerate(calls.calls):
            yield _as_chunk(call, number, finish)


async def _readable(stream: Chunks) -> AsyncIterator[Any]:
    """The chunks; what is none of them is no completion."""
    try:
        async for chunk in stream:
            _refuse_error(chunk)
            yield chunk
    except ValueError:
        raise _broken("answered with a chunk that is not JSON") from None


def _refuse_error(chunk: Any) -> None:
    """vLLM's errors in a stream, which have no key `error`."""
    if not isinstance(getattr(chunk, "choices", None) or [], list):
        raise _broken("answered with chunks that are not those of a completion")
    if getattr(chunk, "object", None) == "error":
        code, said = getattr(chunk, "code", None), getattr(chunk, "message", "")
        status = code if isinstance(code, int) else None
        raise NoCompletion(f"broke off with an error: {said}", status=status, spent=True)


def _first_choice(chunk: Any) -> Any:
    """The choice that Pipecat looks at, its words as text, None if it says nothing."""
    choice = chunk.choices[0] if chunk.choices else None
    if choice is None or not getattr(choice, "delta", None):
        return None
    content = choice.delta.content
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, Mapping))
        choice.delta.content = "".join(part for part in parts if isinstance(part, str))
    return choice


def _take_calls(choice: Any, calls: StreamedCalls) -> None:
    for piece in choice.delta.tool_calls or ():
        calls.add(piece.to_dict(warnings=False))
    choice.delta.tool_calls = None


def _as_chunk(call: StreamedCall, number: int, finish: str) -> ChatCompletionChunk:
    """A whole call, as Pipecat reads it."""
    made = {
        "index": number,
        # endpoints that give none refuse the answer to a call without one
        "id": call.id or f"call_{uuid4().hex}",
        "type": "function",
        "function": {"name": call.name, "arguments": _checked_arguments(call, finish)},
    }
    choice = {"index": 0, "delta": {"tool_calls": [made]}, "finish_reason": None}
    head = {"id": "", "created": 0, "model": "", "object": "chat.completion.chunk"}
    return ChatCompletionChunk.model_validate(head | {"choices": [choice]})


def _checked_arguments(call: StreamedCall, finish: str) -> str:
    written = call.arguments.strip() or "{}"
    try:
        usable = isinstance(json.loads(written), dict)
    except (ValueError, RecursionError):
        usable = False
    if not usable:
        why = f"; it {STOPPED[finish]}" if finish in STOPPED else ""
        raise UnusableCall(
            f"called {call.name} with arguments that are no JSON object: {written!r:.80}{why}"
        )
    return written


def _broken(text: str) -> NoCompletion:
    return NoCompletion(text, passes=True, spent=True)
