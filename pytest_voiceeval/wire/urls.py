"""URLs: checked before use, masked before they are shown."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from urllib.parse import urlsplit

from pytest_voiceeval.wire.errors import ConnectFailed

MASK = "***"
HOSTS_FILE = Path("/etc/hosts")

# User part (greedy: a raw "/" in a password puts the "@" into the path), then host, port and path.
_PLACE = re.compile(r"(?P<user>.*@)?(?P<rest>(\[[^\]/]*\]|[^:/\[\]]*)(:[0-9]*)?(/.*)?)", re.DOTALL)
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]")


def mask_url(url: str) -> str:
    """Return the URL with everything that may be a secret replaced by ``***``.

    Masked are the user part, the value of every query parameter (there is no safe list of names),
    a query without names, and the fragment. Scheme, host, port and path stay, unless the text is no
    proper URL: then a password may hide anywhere, and only the scheme stays.

    Args:
        url: Any text given as a URL.

    Returns:
        Text that is safe to print on one line.
    """
    bare, hash_mark, fragment = url.partition("#")
    base, question_mark, query = bare.partition("?")
    parameters = re.split("[&;]", query)
    scheme, slashes, place = base.partition("://") if "://" in base else ("", "", base)
    match = _PLACE.fullmatch(place)
    # A raw "?" or "#" in a password ends the authority early and leaves the "@" behind it.
    stray = any("@" in text.partition("=")[0] for text in [fragment, *parameters])
    if match is None or stray or (slashes and not scheme.isalnum()):
        return f"{scheme}://{MASK}" if slashes and scheme.isalnum() else MASK
    masked = f"{scheme}{slashes}{MASK + '@' if match['user'] else ''}{match['rest']}"
    if question_mark:
        masked += "?" + "&".join(map(_mask_parameter, parameters))
    return _one_line(masked + (hash_mark + MASK if hash_mark else ""))


def _mask_parameter(part: str) -> str:
    name, equals, _ = part.partition("=")
    return f"{name}={MASK}" if equals else MASK


def _one_line(text: str) -> str:
    return _UNPRINTABLE.sub("_", text)


def check_url(url: str) -> None:
    """Refuse what cannot be a bot's address, before anything is opened.

    Args:
        url: The address to connect to.

    Raises:
        ConnectFailed: Not ``ws://`` or ``wss://``, no host, an IPv6 address without brackets, a bad
            port, blanks or control characters. The text shows the masked URL.
    """
    problem = _problem_of(url, "ws", "wss")
    if problem:
        raise ConnectFailed(
            f"{mask_url(url)!r} is not a bot's address: {problem}; "
            "expected ws://HOST:PORT/PATH or wss://HOST:PORT/PATH"
        )


def problem_of_http_url(url: str) -> str:
    """What is wrong with the address of an HTTP API, empty if nothing is.

    A user or password in it is: what holds a key is an environment variable.
    """
    problem = _problem_of(url, "http", "https")
    if not problem and "@" in urlsplit(url).netloc:
        return "a user or password belongs into an environment variable"
    return problem


def _problem_of(url: str, *schemes: str) -> str:
    if _UNPRINTABLE.search(url):
        return "it holds blanks or control characters"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return _authority_problem(url, schemes[0])
    if parts.scheme not in schemes:
        return f"its scheme is {parts.scheme!r}" if "://" in url else "it has no scheme"
    faults = {
        "it names no host": not host,
        "port 0 cannot be connected to": port == 0,
        "it has a fragment (#)": parts.fragment,
    }
    return next((fault for fault, found in faults.items() if found), "")


def _authority_problem(url: str, scheme: str) -> str:
    authority = re.split("[/?#]", url.partition("://")[2], maxsplit=1)[0].rpartition("@")[2]
    if authority.count(":") > 1 and not authority.startswith("["):
        return f"an IPv6 address needs brackets, as in {scheme}://[::1]:8765"
    return "its host or port is malformed"


def is_loopback(url: str) -> bool:
    """Whether a URL's host is this machine, which no name server is asked.

    It is `localhost`, a loopback address, or a name to which the machine's own hosts file gives
    loopback addresses only.
    """
    try:
        host = (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    addresses = _addresses_in_hosts_file(host) or [host]
    return all(map(_is_loopback_address, addresses))


def _is_loopback_address(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).is_loopback
    except ValueError:
        return False


def _addresses_in_hosts_file(host: str) -> list[str]:
    try:
        lines = HOSTS_FILE.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    entries = [line.partition("#")[0].lower().split() for line in lines]
    return [entry[0] for entry in entries if host in entry[1:]]
