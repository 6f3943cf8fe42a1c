"""The address that requests to a judge go to."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from pytest_voiceeval.wire.urls import mask_url, problem_of_http_url

_COMPLETIONS = "/chat/completions"


def completions_url(url: str) -> str:
    """Return the address requests go to: a base that ends in `/v1` gets its `/chat/completions`.

    Raises:
        ValueError: It is no http address; the text shows it without its secrets.
    """
    problem = problem_of_http_url(url)
    if problem:
        raise ValueError(
            f"the judge's address {mask_url(url)!r} cannot be used: {problem}; expected such as "
            "http://HOST:PORT/v1/chat/completions"
        )
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=path + _COMPLETIONS)) if path.endswith("/v1") else url
