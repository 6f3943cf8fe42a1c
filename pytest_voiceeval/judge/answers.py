"""What an HTTP answer that is no verdict means, in words, and whether asking again can help."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pytest_voiceeval.judge.faults import JudgeFault
from pytest_voiceeval.wire.retry_after import retry_after

SHOWN: Final = 300
"""Most characters of an endpoint's own words in a message."""

_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
_SPENT = re.compile(r"insufficient_quota|credit balance|billing", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context.?length|maximum context|context window|too long|too many tokens", re.IGNORECASE
)


def status_fault(status: int, headers: Mapping[str, str], body: str) -> JudgeFault:
    """The fault an HTTP answer other than 200 stands for.

    Args:
        status: Its status.
        headers: Its headers.
        body: Its body; what it says is part of the text.
    """
    words = brief(body)
    passing = status in _PASSING and not (status == 429 and _SPENT.search(body))
    return JudgeFault(
        _code(status, body),
        f"HTTP {status}{': ' if words else ''}{words}{_way_out(status, body)}",
        status=status,
        passing=passing,
        retry_after=retry_after(headers) if passing else None,
    )


def _code(status: int, body: str) -> str:
    if _is_too_long(status, body):
        return "too_long"
    known = {401: "unauthorized", 403: "unauthorized", 404: "not_found", 429: "rate_limited"}
    return known.get(status, "server_error" if status >= 500 else "http_error")


def _is_too_long(status: int, body: str) -> bool:
    return status in {400, 413, 422} and bool(status == 413 or _TOO_LONG.search(body))


def _way_out(status: int, body: str) -> str:
    if _is_too_long(status, body):
        return "; the evidence is too long for this model: --judge-compact-context shortens it"
    if 300 <= status < 400:
        return "; it points elsewhere, where keys are not sent: give the final address"
    if status in {401, 403}:
        return "; check the key in the environment variable of --judge-api-key-name"
    if status == 404:
        return "; check --judge-url (with its /v1/chat/completions) and --judge-model"
    return ""


def brief(body: str) -> str:
    """What a body says, on one line and cut: its error message, or its text without markup."""
    try:
        said = _message(json.loads(body))
    except (ValueError, RecursionError):
        said = ""
    line = " ".join((said or re.sub(r"<[^>]*>", " ", body[:20_000])).split())
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"


def _message(body: Any) -> str:
    """The message in the error objects that endpoints send."""
    while isinstance(body, Mapping):
        body = next((body[key] for key in ("error", "message", "detail") if body.get(key)), "")
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
