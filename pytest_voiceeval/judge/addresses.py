"""Addresses of judges, and texts without the secrets they may hold."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

MASK: Final = "***"

_COMPLETIONS = "/chat/completions"
_BLANK = re.compile(r"[\x00-\x20\x7f]")


def completions_url(url: str) -> str:
    """Return the address requests go to: a base that ends in `/v1` gets its `/chat/completions`.

    Raises:
        ValueError: It is no http address; the text shows it without its secrets.
    """
    problem = _problem(url)
    if problem:
        raise ValueError(
            f"the judge's address {masked(url)!r} cannot be used: {problem}; expected such as "
            "http://HOST:PORT/v1/chat/completions"
        )
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=path + _COMPLETIONS)) if path.endswith("/v1") else url


def masked(url: str) -> str:
    """The address as it may be shown: user part, query values and fragment hold secrets."""
    place, mark, query = url.partition("#")[0].partition("?")
    scheme, slashes, rest = place.rpartition("://")
    host = rest.rpartition("@")[2]
    shown = re.sub(r"=[^&;]*", f"={MASK}", query)
    return f"{scheme}{slashes}{host}{mark}{shown}"


def secrets_in(url: str) -> list[str]:
    """Values inside an address that are not to be shown, as they stand there and decoded."""
    parts = urlsplit(url)
    raw = [parameter.partition("=")[2] for parameter in re.split("[&;]", parts.query)]
    found = [*raw, *(value for _, value in parse_qsl(parts.query)), parts.password or ""]
    return [value for value in {*found, *map(unquote, found)} if len(value) > 3]


def is_loopback(url: str) -> bool:
    """Whether an address is of this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _problem(url: str) -> str:
    if _BLANK.search(url):
        return "it holds blanks or control characters"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "its host or port is malformed"
    faults = {
        "its scheme is not http or https": parts.scheme not in {"http", "https"},
        "it names no host": not host,
        "port 0 cannot be connected to": port == 0,
        "a user or password belongs into an environment variable": "@" in parts.netloc,
    }
    return next((fault for fault, found in faults.items() if found), "")
