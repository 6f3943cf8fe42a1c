"""The stock bot's model: Pipecat's service for OpenAI-compatible APIs, and what its faults mean.

What passes is tried again; what does not is told to the client as a fatal error, because no reply
will come. The texts name the endpoint and hold no key, which endpoints like to repeat.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from loguru import logger
from openai import NOT_GIVEN, APIConnectionError, APIError, APIStatusError
from pipecat.services.openai.llm import OpenAILLMService
from tenacity import (
    AsyncRetrying,
    retry_if_exception,
    stop_after_attempt,
    stop_before_delay,
    wait_exponential,
    wait_random,
)

from pytest_voiceeval.bots.stock_answer import Answer, NoCompletion, UnusableAnswer, status_in
from pytest_voiceeval.scenario.dialogue import ENDING_CALLS
from pytest_voiceeval.wire.retry_after import retry_after
from pytest_voiceeval.wire.secret import masked, unmistakable

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from tenacity import RetryCallState

    from pytest_voiceeval.bots.stock_config import ModelConfig

ATTEMPTS = 4
PATIENCE = 60.0
"""Seconds for all attempts together."""
FIRST_BACKOFF, LONGEST_BACKOFF, JITTER = 0.5, 8.0, 0.5
"""Seconds: the first wait, which doubles each time, its limit, and the most added at random."""
PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
"""HTTP statuses after which the same request may succeed."""
SHOWN = 200
"""Most characters of an endpoint's own words in a message."""

_SPENT = re.compile(r"insufficient_quota|credit balance|billing", re.IGNORECASE)
"""A 429 that no waiting cures."""
_NO_STREAM = {"text/html": "a web page", "application/json": "one piece, not a stream"}
_LONGEST_BODY = 100_000
"""Bytes of an answer that is no stream, beyond which nobody looks for an error in it."""


class Messages(Protocol):
    """How the client is told."""

    async def send_error(self, data: Mapping[str, Any]) -> None:
        """Send an RTVI message of the type `error`."""


@dataclass(frozen=True)
class Fault:
    """Why there was no answer.

    Attributes:
        words: In words, as they follow the endpoint's name.
        status: HTTP status, None if there was no answer.
        passes: Whether the same request may succeed later.
        spent: Whether the model may have worked on it, so that it is charged.
        retry_after: Seconds the endpoint asks to wait, None if it does not.
        no_credit: The account is empty.
        of_model: It is what the model answered, not what the endpoint did.
    """

    words: str
    status: int | None = None
    passes: bool = False
    spent: bool = False
    retry_after: float | None = None
    no_credit: bool = False
    of_model: bool = False


class ModelService(OpenAILLMService):
    """Pipecat's service for OpenAI-compatible APIs, on the process's one HTTP client.

    Pipecat makes a client per service and never closes it: 30 ms and some sockets a connection.

    Args:
        client: For the session's base URL.
        model: How it is asked.
        messages: Where faults are told.
        options: Of Pipecat's service.
    """

    def __init__(
        self, client: AsyncOpenAI, model: ModelConfig, messages: Messages, **options: Any
    ) -> None:
        # tried again here, where the client can be told why it waits
        self._shared_client = client.with_options(max_retries=0)
        self._asked = model
        self._messages = messages
        super().__init__(**options)

    def create_client(self, *_args: Any, **_options: Any) -> AsyncOpenAI:
        """The given client; called by Pipecat's constructor."""
        return self._shared_client

    def build_chat_completion_params(self, params_from_context: Any) -> dict[str, Any]:
        """The parameters of a request, with what is long about them as they are.

        The client compares messages and tools with its types, piece by piece, which takes a fifth
        of the bot's time; it sends `extra_body` unchanged.
        """
        params = super().build_chat_completion_params(params_from_context)
        blank: dict[str, Any] = {"messages": [], "tools": NOT_GIVEN}
        long = {key: params[key] for key in blank if isinstance(params.get(key), list)}
        body = {**params.get("extra_body", {}), **long}
        return params | {key: blank[key] for key in long} | {"extra_body": body}

    async def get_chat_completions(self, context: Any) -> Any:
        """The chunks of a completion; what passes is tried again, as long as nothing was said."""
        retrying = AsyncRetrying(
            stop=stop_after_attempt(ATTEMPTS) | stop_before_delay(PATIENCE),
            wait=_pause,
            retry=retry_if_exception(_passes),
            before_sleep=self._tell_retry,
            reraise=True,
        )
        return await retrying(self._begin, context)

    async def _begin(self, context: Any) -> Answer:
        stream = await super().get_chat_completions(context)
        kind = stream.response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in _NO_STREAM:
            raise await _not_streamed(stream, kind)
        answer = Answer(
            stream,
            self.stop_ttfb_metrics,
            self._tell_note,
            owed=_owes_words(context.messages),
            secrets=unmistakable(self._asked.secrets),
        )
        return await answer.until_words()

    async def push_error(
        self, error_msg: str, exception: Exception | None = None, *given: Any, **options: Any
    ) -> None:
        """Tell a fault of the endpoint in our words; any other is Pipecat's to tell."""
        fault = None if exception is None else fault_of(exception)
        if fault is None:
            await super().push_error(error_msg, exception, *given, **options)
        else:
            await self._tell(fault, fatal=True)

    async def _tell_retry(self, state: RetryCallState) -> None:
        fault = _fault_in(state)
        pause = state.upcoming_sleep
        await self._tell(fault, f"; asked again after {pause:.1f} s", fatal=False)

    async def _tell_note(self, words: str) -> None:
        await self._tell(Fault(words, of_model=True), fatal=False)

    async def _tell(self, fault: Fault, more: str = "", *, fatal: bool) -> None:
        text = f"the endpoint {self._asked.shown_url} {fault.words}{more}"
        text = masked(text, self._asked.secrets)
        logger.log("ERROR" if fatal else "WARNING", "{}", text)
        data: dict[str, Any] = {"error": text, "fatal": fatal}
        if not fault.of_model:
            # a key of its own beside those of the protocol, by which whose fault it is can be told
            data["model_endpoint"] = {"status": fault.status, "spent": fault.spent} | (
                {"no_credit": True} if fault.no_credit else {}
            )
        await self._messages.send_error(data)


def _owes_words(messages: Sequence[Any]) -> bool:
    """Whether an empty answer leaves the caller without one: not after a call that ends it all."""
    spoken = [message for message in messages if isinstance(message, Mapping)]
    last = next((m for m in reversed(spoken) if m.get("role") != "tool"), {})
    calls = last.get("tool_calls") or ()
    return not any(call["function"]["name"] in ENDING_CALLS for call in calls)


async def _not_streamed(stream: Any, kind: str) -> NoCompletion:
    """What an answer in one piece says: some send errors with status 200."""
    body = b""
    try:
        async for piece in stream.response.aiter_bytes():
            body += piece
            if len(body) > _LONGEST_BODY:
                break
        error = json.loads(body).get("error")
    except (ValueError, AttributeError, RecursionError):
        error = None
    finally:
        await stream.close()
    if not error:
        return NoCompletion(f"answered with {_NO_STREAM[kind]} ({kind})")
    code = error.get("code") if isinstance(error, Mapping) else None
    status = status_in(code)
    words = f"answered with an error: {_words_of(error)}"
    return NoCompletion(words, status=status, passes=status in PASSING, spent=True)


def fault_of(error: BaseException) -> Fault | None:
    """What went wrong at the endpoint, None if it was something else."""
    match error:
        case APIStatusError():
            return _by_status(error)
        case APIConnectionError():
            # its own text is the same for everything
            return _by_connection(error.__cause__ or error)
        case APIError():
            words = f"broke off with an error: {_cut(error.message)}"
            return Fault(words, status=status_in(error.code), spent=True)
        case NoCompletion():
            return Fault(_cut(str(error)), error.status, error.passes, error.spent)
        case UnusableAnswer():
            return Fault(f"brought an answer that {error}", of_model=True, spent=True)
    return _by_connection(error) if _is(error, "HTTPError") else None


def _by_connection(error: BaseException) -> Fault:
    never_sent = _is(error, "ConnectError", "ConnectTimeout", "PoolTimeout")
    doing = "cannot be reached" if never_sent else "broke off"
    return Fault(f"{doing} ({_named(error)})", passes=True, spent=not never_sent)


def _is(error: BaseException, *names: str) -> bool:
    """Whether it is one of these errors of the HTTP library, which the client's version chooses."""
    kinds = (kind for kind in type(error).__mro__ if kind.__module__.startswith("httpx"))
    return any(kind.__name__ in names for kind in kinds)


def _by_status(error: APIStatusError) -> Fault:
    words = _words_of(error.body)
    spent = error.status_code in {402, 403, 429} and bool(_SPENT.search(str(error.body)))
    return Fault(
        f"answered HTTP {error.status_code}" + (f": {words}" if words else ""),
        status=error.status_code,
        passes=error.status_code in PASSING and not spent,
        retry_after=retry_after(error.response.headers),
        no_credit=spent,
    )


def _words_of(body: Any) -> str:
    """What a body says, on one line and cut."""
    while body and isinstance(body, Mapping | list):
        keys = ("message", "error", "detail", "msg")
        body = body[0] if isinstance(body, list) else next(filter(None, map(body.get, keys)), "")
    return _cut(re.sub(r"<[^>]*>", " ", str(body or "")))


def _cut(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 2] + " …"


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {_cut(str(error)) or 'no more is known'}"


def _passes(error: BaseException) -> bool:
    fault = fault_of(error)
    return fault is not None and fault.passes


def _fault_in(state: RetryCallState) -> Fault:
    error = state.outcome.exception() if state.outcome is not None else None
    return (error and fault_of(error)) or Fault("did not answer")


def _pause(state: RetryCallState) -> float:
    spread = wait_random(0, JITTER)(state)
    asked = _fault_in(state).retry_after
    if asked is not None:
        return asked + spread
    return wait_exponential(multiplier=FIRST_BACKOFF, max=LONGEST_BACKOFF)(state) + spread
