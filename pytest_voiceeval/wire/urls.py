"""URLs: checked before use, masked before they are shown."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from pytest_voiceeval.wire.errors import ConnectFailed

MASK = "***"

_AUTHORITY = re.compile(r"^(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*:)?//(?P<rest>.*)$", re.DOTALL)
_HOST = re.compile(r"^(\[[^\]]*\]|[^:\[\]]*)(:[0-9]*)?$")
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]")


def mask_url(url: str) -> str:
    """Return the URL with everything that may be a secret replaced by ``***``.

    Masked are the user part, the value of every query parameter (there is no safe list of names),
    a query without names, and the fragment. Scheme, host, port and path stay. Text that is no
    proper URL is masked as far as it could hold a password, never returned as it is.

    Args:
        url: Any text given as a URL.

    Returns:
        Text that is safe to print on one line.
    """
    bare, hash_mark, _ = url.partition("#")
    base, question_mark, query = bare.partition("?")
    masked = _mask_base(base)
    if question_mark:
        masked += "?" + "&".join(_mask_parameter(part) for part in re.split("[&;]", query))
    if hash_mark:
        masked += "#" + MASK
    return _UNPRINTABLE.sub("_", masked)


def _mask_base(base: str) -> str:
    match = _AUTHORITY.match(base)
    scheme, rest = (match["scheme"] or "", match["rest"]) if match else ("", base)
    slashes = "//" if match else ""
    # A raw "/" in a password moves the "@" into what parses as the path, so look at all of it.
    user, at, host_and_path = rest.rpartition("@")
    authority, slash, path = host_and_path.partition("/")
    if not _HOST.match(authority):
        # "user:pa" of "user:pa?ss@host": what looks like a port is the start of a password.
        authority = MASK
    return f"{scheme}{slashes}{MASK + at if user or at else ''}{authority}{slash}{path}"


def _mask_parameter(part: str) -> str:
    name, equals, _ = part.partition("=")
    return f"{name}={MASK}" if equals else MASK


def check_url(url: str) -> None:
    """Refuse what cannot be a bot's address, before anything is opened.

    Args:
        url: The address to connect to.

    Raises:
        ConnectFailed: Not ``ws://`` or ``wss://``, no host, an IPv6 address without brackets, a bad
            port, blanks or control characters. The text shows the masked URL.
    """
    problem = _problem_of(url)
    if problem:
        raise ConnectFailed(
            f"{mask_url(url)!r} is not a bot's address: {problem}; "
            "expected ws://HOST:PORT/PATH or wss://HOST:PORT/PATH"
        )


def _problem_of(url: str) -> str:
    if _UNPRINTABLE.search(url):
        return "it holds blanks or control characters"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return _authority_problem(url)
    if parts.scheme not in {"ws", "wss"}:
        return f"its scheme is {parts.scheme!r}" if "://" in url else "it has no scheme"
    faults = {
        "it names no host": not host,
        "port 0 cannot be connected to": port == 0,
        "WebSocket addresses have no fragment (#)": parts.fragment,
    }
    return next((fault for fault, found in faults.items() if found), "")


def _authority_problem(url: str) -> str:
    authority = re.split("[/?#]", url.partition("://")[2], maxsplit=1)[0].rpartition("@")[2]
    if authority.count(":") > 1 and not authority.startswith("["):
        return "an IPv6 address needs brackets, as in ws://[::1]:8765"
    return "its host or port is malformed"
