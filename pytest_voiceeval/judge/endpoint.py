"""One request to a chat endpoint, again if that can help, with a limit to everything.

What goes wrong inside the HTTP library comes back as a value and is raised out here: the frames of
that library hold the key, and a traceback may show the variables of each frame.
"""

from __future__ import annotations

import json
import logging
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from pytest_voiceeval.judge.answers import brief, status_fault
from pytest_voiceeval.judge.faults import JudgeFault
from pytest_voiceeval.wire.secret import Secret, masked, secrets_in_query
from pytest_voiceeval.wire.urls import is_loopback, mask_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import requests
    from tenacity import RetryCallState

CONNECT_DEADLINE: Final = 10.0
"""Seconds to open a connection."""
ATTEMPTS: Final = 4
"""Most requests for one answer; only faults that pass are tried again."""
PATIENCE: Final = 60.0
"""Most seconds from the first request to the start of the last one."""
MOST_BYTES: Final = 8 * 2**20
"""Of an answer."""

ANSWERED: Final = "answered"
"""What is noted of an attempt that gave an answer, whatever it says."""

_ASKING: ContextVar[bool] = ContextVar("voiceeval_judge_asking", default=False)


class Key:
    """Puts the key into a request's header, and shows itself nowhere.

    As the `auth` of a request it also keeps the HTTP library from looking into `~/.netrc`.
    """

    __slots__ = ("_secret",)

    def __init__(self, value: str | None) -> None:
        self._secret = Secret(value) if value else None

    def __call__(self, request: Any) -> Any:
        """Sign a request."""
        request.headers.update(self.header)
        return request

    def __repr__(self) -> str:
        return f"Key({self._secret!r})"

    @property
    def header(self) -> dict[str, str]:
        """The header that carries it; none without a key."""
        return {"Authorization": f"Bearer {self._secret.reveal()}"} if self._secret else {}

    @property
    def secrets(self) -> list[Secret]:
        """What is not to be shown."""
        return [self._secret] if self._secret else []


class Endpoint:
    """Where the judge's model is.

    Args:
        url: Address of its chat completions.
        key: Its key.
        timeout: Seconds for one request.
        sleep: Waits between attempts.
    """

    def __init__(
        self, url: str, key: Key, timeout: float, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.url = url
        self.timeout = timeout
        self._key = key
        self._sleep = sleep

    def __repr__(self) -> str:
        return f"Endpoint({mask_url(self.url)!r})"

    def complete(self, payload: dict[str, Any], note: Callable[[float, str], None]) -> Any:
        """Return the chat completion, as JSON.

        Args:
            payload: The request.
            note: Told of every attempt: its seconds, and `ANSWERED` or the code of its fault.

        Raises:
            JudgeFault: There is none; the text says why, how often it was tried, and where.
        """
        body = json.dumps(payload, allow_nan=False).encode()
        outcome = self._retrying(body, note)
        if isinstance(outcome, JudgeFault):
            raise outcome
        try:
            return json.loads(outcome)
        except (ValueError, RecursionError):
            said = self.redacted(brief(outcome))
            raise JudgeFault("bad_response", f"the answer is no JSON: {said!r}") from None

    def _retrying(self, body: bytes, note: Callable[[float, str], None]) -> str | JudgeFault:
        from tenacity import (
            Retrying,
            retry_if_result,
            stop_after_attempt,
            stop_before_delay,
            wait_exponential,
            wait_random,
        )

        backoff = wait_exponential(multiplier=0.5, max=10) + wait_random(0, 0.25)

        def pause(state: RetryCallState) -> float:
            asked = _fault_of(state).retry_after
            return backoff(state) if asked is None else asked

        retrying = Retrying(
            stop=stop_after_attempt(ATTEMPTS) | stop_before_delay(PATIENCE),
            wait=pause,
            retry=retry_if_result(lambda outcome: getattr(outcome, "passing", False)),
            retry_error_callback=_given_up,
            sleep=self._sleep,
        )
        outcome: str | JudgeFault = retrying(self._attempt, body, note)
        return outcome

    def _attempt(self, body: bytes, note: Callable[[float, str], None]) -> str | JudgeFault:
        began = time.monotonic()
        with _unlogged():
            outcome = self._exchange(body)
        seconds = time.monotonic() - began
        if isinstance(outcome, JudgeFault):
            note(seconds, outcome.code)
            return self._shown(outcome)
        note(seconds, ANSWERED)
        return outcome

    def _exchange(self, body: bytes) -> str | JudgeFault:
        import requests

        try:
            with requests.post(
                self.url,
                data=body,
                headers={"Content-Type": "application/json", "Accept-Encoding": "identity"},
                auth=self._key,
                timeout=(min(CONNECT_DEADLINE, self.timeout), self.timeout),
                # a key is sent to the given address only, wherever it points
                allow_redirects=False,
                stream=True,
                proxies={"http": "", "https": ""} if is_loopback(self.url) else None,
            ) as response:
                text = self._read(response)
                if isinstance(text, str) and response.status_code != 200:
                    return status_fault(response.status_code, response.headers, text)
                return text
        except Exception as error:  # noqa: BLE001 - the library's errors have no common base
            return self._connection_fault(error)

    def _read(self, response: requests.Response) -> str | JudgeFault:
        """The body, within the limits of time and size; the library has none for the whole."""
        deadline = time.monotonic() + self.timeout
        parts, size = [], 0
        for part in response.iter_content(2**16):
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                return JudgeFault("bad_response", f"the answer has more than {MOST_BYTES:,} bytes")
            if time.monotonic() > deadline:
                return self._too_late()
        return b"".join(parts).decode("utf-8", "replace")

    def _too_late(self) -> JudgeFault:
        # not tried again: it would be as slow a second time, and cost as much
        return JudgeFault(
            "timeout", f"no complete answer within {self.timeout:g} s (--judge-timeout)"
        )

    def _connection_fault(self, error: Exception) -> JudgeFault:
        import requests

        # while a body is read, the library reports a timeout as a broken connection
        slow = isinstance(error, requests.ReadTimeout) or "Read timed out" in str(error)
        if slow:
            return self._too_late()
        useless = (requests.exceptions.InvalidURL, requests.exceptions.SSLError)
        return JudgeFault(
            "unreachable",
            f"no answer ({type(error).__name__}: {brief(_cause(error))})",
            passing=not isinstance(error, useless),
        )

    def _shown(self, fault: JudgeFault) -> JudgeFault:
        """The fault with the endpoint's address and without secrets, which endpoints may repeat."""
        return JudgeFault(
            fault.code,
            self.redacted(f"{mask_url(self.url)}: {fault}"),
            status=fault.status,
            passing=fault.passing,
            retry_after=fault.retry_after,
        )

    def redacted(self, text: str) -> str:
        """The text without the key and without what the address holds of secrets."""
        return masked(text, (*self._key.secrets, *secrets_in_query(self.url)))


def _cause(error: BaseException) -> str:
    """What the system said; the library's own words would show the whole address."""
    inner = error.__cause__ or error.__context__
    return _cause(inner) if inner is not None else getattr(error, "strerror", None) or str(error)


def _fault_of(state: RetryCallState) -> JudgeFault:
    fault = state.outcome.result() if state.outcome is not None else None
    if not isinstance(fault, JudgeFault):  # only faults are tried again
        raise TypeError(f"expected a fault, got {fault!r}")
    return fault


def _given_up(state: RetryCallState) -> JudgeFault:
    fault = _fault_of(state)
    tries = f"{state.attempt_number} attempt{'s' if state.attempt_number > 1 else ''}"
    asked = fault.retry_after
    wait = f", it asked to wait {asked:g} s" if asked else ""
    text = f"{fault} (given up after {tries}{wait})"
    return JudgeFault(fault.code, text, status=fault.status)


# -- the HTTP library's own log shows the whole address, its query included


@contextmanager
def _unlogged() -> Iterator[None]:
    logger = logging.getLogger("urllib3.connectionpool")
    if _not_of_a_judge not in logger.filters:
        logger.addFilter(_not_of_a_judge)
    token = _ASKING.set(True)
    try:
        yield
    finally:
        _ASKING.reset(token)


def _not_of_a_judge(record: logging.LogRecord) -> bool:  # noqa: ARG001 - a filter's signature
    return not _ASKING.get()
