"""An answer of the stock bot's model, chunk by chunk, put right for Pipecat.

Pipecat looks at the first call of a chunk only, tells calls apart by numbers that count from 0, and
drops without a word what it cannot use, so that nobody answers. So calls are put together here, and
handed over whole at the answer's end, which is when Pipecat makes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import ChoiceDelta

from pytest_voiceeval.bots.thoughts import Thoughts
from pytest_voiceeval.wire.function_calls import StreamedCall, StreamedCalls
from pytest_voiceeval.wire.secret import StreamedMask, masked

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence

    from openai import AsyncStream

    from pytest_voiceeval.wire.secret import Secret

    Chunks = AsyncStream[ChatCompletionChunk]

STOPPED = {
    "length": "ended the answer at its token limit",
    "content_filter": "ended the answer by its content filter",
}
"""Finish reasons after which something is missing."""


LONGEST = 100_000
"""Characters of an answer: two hours of speech. Some models go on until they are stopped."""


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


class UnusableAnswer(Exception):
    """The model answers what nobody can use: a call that cannot be read, or words without end."""


class Answer:
    """The chunks of one answer. It is what Pipecat takes for the client's stream.

    Args:
        stream: The client's.
        begun: Awaited when the model has begun to answer.
        note: Takes what is worth knowing about it, in words that follow the endpoint's name.
        owed: Whether an answer without words and calls is worth knowing.
        secrets: Masked in it: some endpoints repeat what they were sent.
    """

    def __init__(
        self,
        stream: Chunks,
        begun: Callable[[], Awaitable[object]],
        note: Callable[[str], Awaitable[object]],
        *,
        owed: bool = True,
        secrets: Sequence[Secret] = (),
    ) -> None:
        self._stream = stream
        self._begun = begun
        self._note = note
        self._owed = owed
        self._secrets = secrets
        self._chunks = self._checked()
        self._held: list[Any] = []

    async def until_words(self) -> Self:
        """Wait for the first words, or the end: until then the same can be asked again.

        Raises:
            NoCompletion: The endpoint sent something else, or less.
            UnusableAnswer: The model calls a function that cannot be called like that.
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
        calls, thoughts, mask = StreamedCalls(), Thoughts(), StreamedMask(self._secrets)
        finish, said, read = None, 0, 0
        async for chunk in _readable(self._stream):
            choice = _put_right(chunk, calls)
            if choice is not None:
                await self._begun()
                finish = choice.finish_reason or finish
                read += len(choice.delta.content or "")
                choice.delta.content = mask.feed(thoughts.feed(choice.delta.content or ""))
                said += len(choice.delta.content)
            if read + sum(len(call.arguments) for call in calls.calls) > LONGEST:
                raise UnusableAnswer(f"is longer than {LONGEST} characters")
            yield chunk
        if finish is None:
            raise _broken("broke off before the end of its answer (no finish_reason)")
        rest = mask.feed(thoughts.end()) + mask.end()
        if rest:
            yield _chunk({"content": rest})
        if finish in STOPPED:
            await self._note(f"{STOPPED[finish]} (finish_reason {finish})")
        elif self._owed and not said and not rest and not calls.calls:
            await self._note("answered with no words and no calls")
        for number, call in enumerate(calls.calls):
            yield _as_chunk(self._unrepeated(call), number, finish)

    def _unrepeated(self, call: StreamedCall) -> StreamedCall:
        name, arguments = (masked(text, self._secrets) for text in (call.name, call.arguments))
        return replace(call, name=name, arguments=arguments)


async def _readable(stream: Chunks) -> AsyncIterator[Any]:
    """The chunks, as far as they are any."""
    try:
        async for chunk in stream:
            yield chunk
    except ValueError:
        raise _broken("answered with a chunk that is not JSON") from None


def _put_right(chunk: Any, calls: StreamedCalls) -> Any:
    """Take the calls out of a chunk, and what Pipecat cannot count or say; return its choice."""
    _refuse_error(chunk)
    try:
        chunk.usage = _usage_of(chunk)
        if not chunk.choices:
            return None
        choice = chunk.choices[0]
        if choice.delta is None:
            choice.delta = ChoiceDelta()
        choice.delta.content = _words_of(choice.delta.content)
        for piece in choice.delta.tool_calls or ():
            calls.add(piece.to_dict(warnings=False))
        choice.delta.tool_calls = None
    except (AttributeError, TypeError, LookupError):
        raise _broken("answered with chunks that are not those of a completion") from None
    return choice


def _refuse_error(chunk: Any) -> None:
    """An error in the shape of vLLM, which has no key `error`."""
    if getattr(chunk, "object", None) == "error":
        code, said = getattr(chunk, "code", None), getattr(chunk, "message", "")
        text = f"broke off with an error: {said}"
        raise NoCompletion(text, status=status_in(code), spent=True)


def status_in(code: Any) -> int | None:
    """The HTTP status that an error object names, as a number or a text."""
    return int(code) if str(code).isdecimal() else None


def _usage_of(chunk: Any) -> Any:
    """Its token counts, None unless there are both: some endpoints fill in zeros."""
    match chunk.usage and (chunk.usage.prompt_tokens, chunk.usage.completion_tokens):
        case (int(prompt), int(completion)) if prompt > 0 and completion >= 0:
            chunk.usage.total_tokens = prompt + completion
            return chunk.usage
    return None


def _words_of(content: Any) -> str | None:
    """Words of a chunk; Mistral's reasoning models send a list of parts."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    parts = (part.get("text") for part in content if isinstance(part, Mapping))
    return "".join(part for part in parts if isinstance(part, str))


def _as_chunk(call: StreamedCall, number: int, finish: str) -> ChatCompletionChunk:
    """A whole call, as Pipecat reads it."""
    made = {
        "index": number,
        # endpoints that give none refuse the answer to a call without one
        "id": call.id or f"call_{uuid4().hex}",
        "type": "function",
        "function": {"name": call.name, "arguments": _checked_arguments(call, finish)},
    }
    return _chunk({"tool_calls": [made]})


def _chunk(delta: dict[str, Any]) -> ChatCompletionChunk:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
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
        raise UnusableAnswer(
            f"calls {call.name} with arguments that are no JSON object: {written!r:.80}{why}"
        )
    return written


def _broken(text: str) -> NoCompletion:
    return NoCompletion(text, passes=True, spent=True)
