"""Why a request to a model failed, in words for people, and whether asking again can help."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from typing import Any

from pytest_voiceeval.call.caller_stats import Handled
from pytest_voiceeval.call.chat_reply import error_message
from pytest_voiceeval.wire.retry_after import retry_after

PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
"""HTTP statuses after which the same request may succeed."""

_SPENT = re.compile(r"insufficient_quota|credit balance|billing", re.IGNORECASE)
"""A 429 or 403 that no waiting cures."""

_OVERLOADED = re.compile(
    r"overloaded|rate.?limit|timeout|unavailable|server_error|internal", re.IGNORECASE
)

SHOWN = 300
"""Most characters of an endpoint's own words in a message."""


class ChatError(Exception):
    """A request failed. The text names the endpoint and holds no secret.

    Attributes:
        handled: How it is counted when it is tried again; None for a fault that does not pass.
        retry_after: Seconds the provider asked to wait, None if it did not.
        status: HTTP status, None if there was no answer.
        words: The endpoint's own words.
        started: The model may have worked on the request, so that tokens were spent.
    """

    def __init__(
        self,
        text: str,
        *,
        handled: Handled | None = None,
        retry_after: float | None = None,
        status: int | None = None,
        words: str = "",
        started: bool = False,
    ) -> None:
        super().__init__(text)
        self.handled = handled
        self.retry_after = retry_after
        self.status = status
        self.words = words
        self.started = started


def status_fault(status: int, headers: Mapping[str, str], body: str) -> ChatError:
    """The fault an HTTP answer other than 200 stands for.

    Args:
        status: Its status.
        headers: Its headers, names in any case.
        body: Its body.
    """
    words = brief(body)
    said = f": {words}" if words else ""
    handled = None
    if status in PASSING and not (status == 429 and _SPENT.search(body)):
        handled = Handled.RATE_LIMITED if status == 429 else Handled.SERVER_ERROR
    return ChatError(
        f"HTTP {status}{said}{_way_out(status, body)}",
        handled=handled,
        retry_after=retry_after(headers) if handled else None,
        status=status,
        words=words,
    )


def body_fault(body: Mapping[str, Any], words: str) -> ChatError:
    """The fault an error object stands for that came with status 200 or within a stream."""
    error = body.get("error")
    inner = error if isinstance(error, Mapping) else body
    code = inner.get("code")
    number = code if isinstance(code, int) else None
    passing = number in PASSING or bool(_OVERLOADED.search(f"{code} {inner.get('type')} {words}"))
    limited = number == 429
    handled = Handled.RATE_LIMITED if limited else Handled.SERVER_ERROR
    return ChatError(
        f"the endpoint answered with an error: {cut(words)}",
        handled=handled if passing else None,
        status=number,
        words=cut(words),
        started=True,
    )


def _way_out(status: int, body: str) -> str:
    if 300 <= status < 400:
        return "; it points elsewhere, where keys are not sent: give the final address"
    if status == 402 or (status in {401, 403, 429} and _SPENT.search(body)):
        return "; the account has no credit"
    if status in {401, 403}:
        return "; check the key in the environment variable of --caller-api-key-name"
    if status == 404:
        return "; check --caller-url (the base, such as http://HOST/v1) and --caller-model"
    if status == 429:
        return "; fewer calls at once or --caller-rpm keep below a provider's limit"
    return ""


def brief(body: str) -> str:
    """What a body says, on one line and cut: its error message, or the words of a page."""
    import json

    try:
        words = error_message(json.loads(body))
    except (ValueError, RecursionError):
        words = ""
    return cut(words or _page_words(body))


def _page_words(body: str) -> str:
    title = re.search(r"<title[^>]*>(.*?)</title", body[:20_000], re.IGNORECASE | re.DOTALL)
    text = title[1] if title else re.sub(r"<[^>]*>", " ", body[:20_000])
    return unescape(text)


def cut(words: str) -> str:
    """A text on one line, at most :data:`SHOWN` characters."""
    line = " ".join(words.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 2] + " …"


def is_page(body: str) -> bool:
    """Whether a body is an HTML page."""
    return body.lstrip()[:100].lower().startswith(("<!doctype html", "<html", "<head", "<body"))
