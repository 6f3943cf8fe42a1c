"""`voiceeval data fetch`: what it takes, and what it says."""

from __future__ import annotations

import argparse
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.data.fetch import DEADLINE, Fetched, FetchError, fetch, upstream_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def add_to(commands: Any) -> None:
    """Add the command to those of `voiceeval data`."""
    parser = commands.add_parser("fetch", help="bring a benchmark's own data, for --edition")
    parser.add_argument("domain", help="eva_airline")
    parser.add_argument(
        "--from",
        dest="source",
        metavar="PATH|URL",
        help="a mirror: a git repository, or a folder with the plain files",
    )
    parser.add_argument("--force", action="store_true", help="replace what is there")
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=DEADLINE,
        metavar="SECONDS",
        help=f"most time of the transfer (default: {DEADLINE:g})",
    )
    parser.set_defaults(run=run)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):  # NaN fails it too
        raise argparse.ArgumentTypeError(f"must be a positive number of seconds, not {text}")
    return seconds


def run(options: argparse.Namespace) -> tuple[list[str], bool]:
    """Fetch, and tell what is there now.

    Raises:
        FetchError: nothing was installed; the text says why.
    """
    upstream = upstream_of(options.domain)
    if not upstream.folder.is_dir() or options.force:
        whence = "the mirror" if options.source else upstream.repository
        within = f"within {options.timeout:g} s"
        sys.stderr.write(f"fetching {upstream.project} {upstream.tag} from {whence}, {within}\n")
    with _ended_like_an_interrupt():
        found = fetch(upstream, options.source, force=options.force, seconds=options.timeout)
    lines = list(_told(found))
    if options.source and not found.is_new:
        lines.append("--from:   not used, the data are there; --force takes them from it")
    return lines, False


def _told(found: Fetched) -> Iterator[str]:
    upstream = found.upstream
    happened = "fetched" if found.is_new else "already there"
    yield f"{upstream.domain}: {upstream.project} {upstream.tag}, {happened}"
    yield f"commit:   {_commit(found)}"
    yield f"licence:  {upstream.licence}, {found.copyright}"
    yield f"files:    {found.files}, all as published (sha256)"
    yield f"folder:   {found.folder}"
    yield f"use it:   pytest --domain {upstream.domain} --edition upstream"


def _commit(found: Fetched) -> str:
    pinned = found.upstream.commit
    if found.commit is None:
        return f"not known, taken from a plain folder; published as {pinned}"
    same = found.commit.startswith(pinned)
    return found.commit if same else f"{found.commit}, of a mirror; published as {pinned}"


@contextmanager
def _ended_like_an_interrupt() -> Iterator[None]:
    """Clean up on SIGTERM as on Ctrl-C, and end with one line."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        raise FetchError("interrupted; nothing was installed") from None
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)
