"""Asks a model behind an OpenAI-compatible endpoint, with patience, and counts what it cost.

A request is answered by a value, never by an exception that came through the HTTP library: the
frames of that library hold the key, and a traceback may show the variables of each frame.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from pytest_voiceeval.call.caller_stats import CallerStats, Handled
from pytest_voiceeval.call.chat_answer import read_answer, read_text
from pytest_voiceeval.call.chat_faults import ChatError, cut, status_fault
from pytest_voiceeval.call.chat_reply import ChatReply, FunctionCall
from pytest_voiceeval.call.chat_request import Dialect
from pytest_voiceeval.call.rate_cap import CapError, RateCap
from pytest_voiceeval.call.usage import UsageMeter
from pytest_voiceeval.wire.secret import (
    Secret,
    masked,
    problem_of_key,
    secrets_in_query,
    unmistakable,
)
from pytest_voiceeval.wire.urls import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from aiohttp import ClientSession
    from tenacity import RetryCallState

    from pytest_voiceeval.call.caller_model import CallerModel

    Json = dict[str, Any]
    Compose = Callable[[bool], Sequence[Json]]

CONNECT_DEADLINE = 10.0
"""Seconds to open a connection."""
KEEP_ALIVE = 4.0
"""Seconds an idle connection is used again; common servers close theirs after five."""
FIRST_BACKOFF, LONGEST_BACKOFF, JITTER = 0.5, 20.0, 1.0
"""Seconds: the first wait, which doubles each time, its limit, and the most added at random."""


class ChatClient:
    """One caller's line to its model. Use it as an async context manager.

    Args:
        model: Where the model is and how it is asked.
        stats: Takes the count of what had to be handled.
        environ: Environment variables; None means those of the process.
        dialect: What is known of the endpoint, such as an earlier client has learned.

    Attributes:
        meter: Tokens so far.
        dialect: What the endpoint takes, as far as its refusals told.
    """

    def __init__(
        self,
        model: CallerModel,
        stats: CallerStats | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        dialect: Dialect | None = None,
    ) -> None:
        self.model = model
        self.stats = stats or CallerStats()
        self.meter = UsageMeter()
        self.dialect = dialect or Dialect()
        self._environ = os.environ if environ is None else environ
        self._key: Secret | None = None
        self._secrets = secrets_in_query(model.url)
        self._open = AsyncExitStack()
        self._session: ClientSession | None = None
        name = f"{model.endpoint} {model.model} {model.api_key_env}"
        self._cap = None if model.rpm is None else RateCap(model.rpm, model.rpm_dir, name)

    async def __aenter__(self) -> Self:
        """Read the key and get ready; nothing is sent yet.

        Raises:
            ChatError: The key's environment variable has none.
        """
        self._key = self._read_key()
        self._secrets += [self._key] if self._key else []
        self._session = await self._open.enter_async_context(self._new_session())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()
        self._session = None

    def _read_key(self) -> Secret | None:
        name = self.model.api_key_env
        if name is None:
            return None
        problem = problem_of_key(self._environ.get(name))
        if problem:
            raise ChatError(
                f"the environment variable {name}, which is to hold the key of the caller's model "
                f"(--caller-api-key-name), {problem}"
            )
        return Secret(self._environ[name].strip())

    def _new_session(self) -> ClientSession:
        import aiohttp

        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(keepalive_timeout=KEEP_ALIVE),
            headers={"Authorization": f"Bearer {self._key.reveal()}"} if self._key else None,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_DEADLINE),
            read_bufsize=2**16,
        )

    async def ask(self, compose: Compose, tools: Sequence[Json] = ()) -> ChatReply:
        """Get an answer; what passes is tried again, what the endpoint refuses is left out.

        Args:
            compose: Gives the messages, told whether the endpoint takes tools.
            tools: The model may call these.

        Raises:
            ChatError: There is none; the text says why, how often it was tried and where.
        """
        while True:
            messages = compose(self.dialect.tools)
            body = self.dialect.request(self.model, messages, tools)
            outcome = await self._insist(body)
            if isinstance(outcome, ChatReply):
                return outcome
            adapted = self.dialect.adapted(body, outcome)
            if adapted is None:
                raise outcome
            self.dialect, handled, parameter = adapted
            self.stats.note(handled, parameter)

    async def _insist(self, body: Json) -> ChatReply | ChatError:
        """Try until there is an answer, a fault that does not pass, or no patience left."""
        limit = asyncio.timeout(self.model.patience)
        try:
            async with limit:
                return await self._retrying(body)
        except TimeoutError:
            if not limit.expired():
                raise
        return self._shown(
            ChatError(
                f"no answer within {self.model.patience:g} s, all attempts together (patience)"
            )
        )

    async def _retrying(self, body: Json) -> ChatReply | ChatError:
        from tenacity import (
            AsyncRetrying,
            retry_if_result,
            stop_after_attempt,
            stop_before_delay,
            wait_exponential,
            wait_random,
        )

        spread = wait_random(0, JITTER)
        backoff = wait_exponential(multiplier=FIRST_BACKOFF, max=LONGEST_BACKOFF) + spread

        def pause(state: RetryCallState) -> float:
            asked = _fault_of(state).retry_after
            # those who were all told the same time are spread as well
            return backoff(state) if asked is None else asked + spread(state)

        retrying = AsyncRetrying(
            stop=stop_after_attempt(self.model.attempts) | stop_before_delay(self.model.patience),
            wait=pause,
            retry=retry_if_result(lambda outcome: getattr(outcome, "handled", None) is not None),
            before_sleep=self._note_retry,
            retry_error_callback=_given_up,
        )
        outcome: ChatReply | ChatError = await retrying(self._attempt, body)
        return outcome

    def _note_retry(self, state: RetryCallState) -> None:
        handled = _fault_of(state).handled
        if handled is not None:
            self.stats.note(handled)

    # -- one request

    async def _attempt(self, body: Json) -> ChatReply | ChatError:
        """Send one request. Faults are returned; only cancellation is raised."""
        outcome = await self._turn() or await self._exchange(body)
        if isinstance(outcome, ChatReply):
            self.meter.add(outcome.usage)
            return self._unrepeated(outcome)
        if outcome.started:
            self.meter.add(None)
        if self._cap is not None and outcome.handled is Handled.RATE_LIMITED:
            await self._cap.pause(min(outcome.retry_after or 0.0, self.model.patience))
        return self._shown(outcome)

    async def _turn(self) -> ChatError | None:
        """Wait for a place under the rate cap."""
        if self._cap is None:
            return None
        try:
            self.stats.waited += await self._cap.slot(self.model.patience)
        except CapError as error:
            return ChatError(str(error))
        return None

    def _shown(self, fault: ChatError) -> ChatError:
        """The fault with the endpoint's name and without the key, which endpoints may repeat."""
        text = f"{self.model.shown_url} (model {self.model.model!r}): {fault}"
        return ChatError(
            self._redacted(text),
            handled=fault.handled,
            retry_after=fault.retry_after,
            status=fault.status,
            words=self._redacted(fault.words),
        )

    def _redacted(self, text: str) -> str:
        return masked(text, self._secrets)

    def _unrepeated(self, reply: ChatReply) -> ChatReply:
        """An answer without the key: some endpoints repeat what they were sent."""
        secrets = unmistakable(self._secrets)
        calls = (
            FunctionCall(masked(call.name, secrets), masked(call.arguments, secrets))
            for call in reply.calls
        )
        text, refusal = masked(reply.text, secrets), masked(reply.refusal, secrets)
        return replace(reply, text=text, refusal=refusal, calls=tuple(calls))

    async def _exchange(self, body: Json) -> ChatReply | ChatError:
        limit = asyncio.timeout(self.model.timeout)
        try:
            async with limit:
                return await self._post(body)
        except ChatError as error:
            return error
        except asyncio.CancelledError as cancelled:
            self.meter.add(None)
            # of no interest to anybody further out, and its frames hold the key
            raise cancelled.with_traceback(None) from None
        except Exception as error:  # noqa: BLE001 - the library's errors have no common base
            return self._too_late() if limit.expired() else _connection_fault(error)

    def _too_late(self) -> ChatError:
        return ChatError(
            f"no complete answer within {self.model.timeout:g} s (timeout)",
            handled=Handled.TIMED_OUT,
            started=True,
        )

    async def _post(self, body: Json) -> ChatReply:
        if self._session is None:
            raise ChatError("the caller's model was asked before its client was opened")
        # keys are sent to the given address only, wherever it points
        request = self._session.post(
            self.model.endpoint,
            json=body,
            allow_redirects=False,
            proxy=_proxy_for(self.model.url),
        )
        async with request as response:
            if response.status != 200:
                body_text = await read_text(response)
                raise status_fault(response.status, response.headers, body_text)
            return await read_answer(response, self.stats, streamed=bool(body.get("stream")))


def _connection_fault(error: Exception) -> ChatError:
    import aiohttp

    # its text would show the whole address
    said = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
    before = isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
    trusted = not isinstance(error, aiohttp.ClientSSLError)
    doing = "no connection" if before else "the connection broke"
    return ChatError(
        f"{doing} ({type(error).__name__}: {cut(said) or 'no more is known'})",
        handled=Handled.DISCONNECTED if trusted else None,
        started=not before,
    )


def _fault_of(state: RetryCallState) -> ChatError:
    fault = state.outcome.result() if state.outcome is not None else None
    if not isinstance(fault, ChatError):  # only faults are tried again
        raise TypeError(f"expected a fault, got {fault!r}")
    return fault


def _given_up(state: RetryCallState) -> ChatError:
    fault = _fault_of(state)
    seconds = state.seconds_since_start or 0.0
    tries = f"{state.attempt_number} attempt{'s' if state.attempt_number > 1 else ''}"
    asked = fault.retry_after
    wait = f"; it asked to wait {asked:g} s" if asked is not None else ""
    return ChatError(
        f"{fault} (given up after {tries} in {seconds:.1f} s{wait})",
        retry_after=asked,
        status=fault.status,
        words=fault.words,
    )


def _proxy_for(url: str) -> str | None:
    """The proxy of the environment; not the library's own way, which would read ~/.netrc too."""
    host = urlsplit(url).hostname or ""
    if is_loopback(url) or proxy_bypass(host):
        return None
    return getproxies().get(urlsplit(url).scheme)
