"""`voiceeval data fetch`: bring an upstream edition into the user's data directory.

It appears there in one piece, or not at all: everything is put together and verified in a folder
beside it, which is renamed at the end.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_voiceeval.data.editions import UPSTREAM, Upstream
from pytest_voiceeval.data.git import GitError, NoSuchRef, Repository, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DEADLINE = 300.0
"""Seconds that a transfer may take, unless told otherwise."""
ORIGIN_FILE = "fetched.json"
"""Beside the files: which commit they were taken from."""

_NAMED_FILES = 3
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[^/\s]+:")


class FetchError(RuntimeError):
    """Data could not be fetched; nothing was installed or changed."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """An edition as it lies in the user's data directory, verified.

    Attributes:
        upstream: what it is.
        folder: where it is: a data root.
        commit: full name of the commit it was taken from, None if it came from a plain folder.
        files: how many files were verified.
        is_new: whether it was fetched just now.
    """

    upstream: Upstream
    folder: Path
    commit: str | None
    files: int
    is_new: bool

    @property
    def copyright(self) -> str:
        """The line of the licence that names its owner; empty if there is none."""
        lines = (self.folder / "LICENSE").read_text(encoding="utf-8").splitlines()
        return next((line.strip() for line in lines if line.startswith("Copyright")), "")


def upstream_of(domain: str) -> Upstream:
    """Return what can be fetched for a domain.

    Raises:
        FetchError: nothing can; the text names the domains that have something.
    """
    if domain in UPSTREAM:
        return UPSTREAM[domain]
    close = difflib.get_close_matches(domain, UPSTREAM, n=1)
    hint = f", did you mean {close[0]!r}?" if close else ""
    known = ", ".join(UPSTREAM)
    raise FetchError(f"{domain!r} has no upstream edition{hint}; domains that have one: {known}")


def fetch(
    upstream: Upstream,
    source: str | None = None,
    *,
    force: bool = False,
    seconds: float = DEADLINE,
    checksums: Mapping[str, str] | None = None,
) -> Fetched:
    """Fetch an edition, or verify the one that is there.

    Args:
        upstream: which.
        source: a mirror: a git repository (folder or address), or a folder with the plain files;
            by default the benchmark's own repository.
        force: fetch it although it is there, and replace it.
        seconds: deadline of the transfer.
        checksums: what the files must be, by path; by default the list that ships with us.

    Raises:
        FetchError: it cannot be had, or is not what it should be; what was there is unchanged.
    """
    expected = upstream.checksums if checksums is None else checksums
    target = upstream.folder
    try:
        if target.is_dir() and not force:
            _verify(target, expected, "fetch it anew with --force")
            return Fetched(upstream, target, _origin(target), len(expected), is_new=False)
        with _workshop(target.parent) as work:
            commit = _obtain(upstream, source, expected, work, seconds)
            _put_in_place(work / "tree", target, work / "old")
    except OSError as error:
        where = error.filename or target
        raise FetchError(f"{where}: {error.strerror or error}; nothing was installed") from None
    return Fetched(upstream, target, commit, len(expected), is_new=True)


@contextmanager
def _workshop(beside: Path) -> Iterator[Path]:
    """A folder on the same disk that is gone afterwards, however that ends."""
    beside.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".fetching-", dir=beside))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _obtain(
    upstream: Upstream, source: str | None, expected: Mapping[str, str], work: Path, seconds: float
) -> str | None:
    """Put the files, verified, and their origin into `work/tree`; return the commit if known."""
    tree, address = work / "tree", upstream.repository if source is None else source
    tree.mkdir()
    plain = None if source is None else _plain_folder(source)
    commit = None
    if plain is not None:
        _copy(plain, tree, upstream, expected)
    else:
        commit = _clone(upstream, address, work, expected, seconds)
    _verify(tree, expected, "nothing was installed", f"{shown(address)}: ")
    origin = {"domain": upstream.domain, "project": upstream.project, "tag": upstream.tag}
    text = json.dumps({**origin, "commit": commit}, indent=2)
    (tree / ORIGIN_FILE).write_text(f"{text}\n", encoding="utf-8")
    return commit


def _plain_folder(source: str) -> Path | None:
    """Return the folder that `source` names, if it is none of git's."""
    if not source.strip():
        raise FetchError("--from is empty: name a folder or an address")
    folder = Path(source).expanduser()
    if not folder.exists():
        if _ADDRESS.match(source):
            return None
        raise FetchError(f"--from {source}: there is no such folder, and it is no address")
    bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir()
    is_git = folder.is_file() or (folder / ".git").exists() or bare
    return None if is_git else folder


def _copy(source: Path, tree: Path, upstream: Upstream, expected: Mapping[str, str]) -> None:
    present = [path for path in expected if (source / path).is_file()]
    if not present:
        raise FetchError(
            f"--from {source}: is neither a git repository nor a copy of {upstream.project}: none "
            f"of its {len(expected)} files is there"
        )
    for path in present:
        _write(tree / path, (source / path).read_bytes())


def _clone(
    upstream: Upstream, address: str, work: Path, expected: Mapping[str, str], seconds: float
) -> str:
    """Take the files from the tag, or from the head of a mirror that has no such tag."""
    folder = Path(address).expanduser()
    place = str(folder.absolute()) if folder.exists() else address
    try:
        ours = Repository(work / "git", seconds)
        try:
            commit = ours.fetch(place, f"refs/tags/{upstream.tag}")
        except NoSuchRef:
            if address == upstream.repository:
                raise
            commit = ours.fetch(place, "HEAD")
        for path, content in ours.read(expected):
            _write(work / "tree" / path, content)
    except GitError as error:
        way_out = "; a copy of it will do, see --from" if address == upstream.repository else ""
        raise FetchError(f"{shown(address)}: {error}; nothing was installed{way_out}") from None
    return commit


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def _put_in_place(new: Path, target: Path, old: Path) -> None:
    """Replace `target`, if it is there, by `new`; it is never absent for longer than a moment."""
    try:
        if target.exists():
            target.rename(old)
        new.rename(target)
    except BaseException:  # also an interruption between the two
        if old.exists() and not target.exists():
            old.rename(target)
        raise


def _verify(folder: Path, expected: Mapping[str, str], then: str, before: str = "") -> None:
    """Compare every file with its digest; the first that differ are named with both."""
    wrong = [
        f"  {path}: expected sha256 {digest}, found {found or 'no such file'}"
        for path, digest in expected.items()
        if (found := _digest(folder / path)) != digest
    ]
    if wrong:
        more = len(wrong) - _NAMED_FILES
        rest = [f"  and {more} more"] if more > 0 else []
        head = (
            f"{before or f'{folder}: '}{len(wrong)} of {len(expected)} files are not as published"
        )
        raise FetchError("\n".join([f"{head}; {then}", *wrong[:_NAMED_FILES], *rest]))


def _digest(file: Path) -> str | None:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None


def _origin(folder: Path) -> str | None:
    try:
        origin = json.loads((folder / ORIGIN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    commit = origin.get("commit") if isinstance(origin, dict) else None
    return commit if isinstance(commit, str) else None
