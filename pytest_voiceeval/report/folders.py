"""Where a run keeps its files: names that become paths, and folders nobody else has."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

RESULTS = "eval_results"

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_OURS = re.compile(
    r"(?i)(bot_logs|evaluation_log|run_args|results|all_(metrics|latencies|summary))(\..*)?"
)
_LONGEST = 100
_ATTEMPTS = 10_000


def default_run_folder(base: Path, now: datetime, suffix: str = "") -> Path:
    """`eval_results/eval_<timestamp>` below `base`, the reference's name for a session."""
    return base / RESULTS / f"eval_{now:%Y%m%d_%H%M%S}{suffix}"


def safe_name(name: str) -> str:
    """A folder name for `name`: itself if harmless, else cleaned and told apart by a digest.

    Harmless is what is a plain name on every file system, and no name of the run's own files.
    """
    plain = len(name) <= _LONGEST and _SAFE.fullmatch(name) and not name.endswith(".")
    if plain and not _OURS.fullmatch(name):
        return name
    cleaned = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[: _LONGEST - 9].strip("_")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{cleaned or 'call'}-{digest}"


def new_folder(parent: Path, name: str) -> Path:
    """Create `parent/name`, or `name.2`, `name.3`, … when that is taken, also by another worker."""
    stem = safe_name(name)
    for attempt in range(1, _ATTEMPTS):
        folder = parent / (stem if attempt == 1 else f"{stem}.{attempt}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(f"{parent} holds {_ATTEMPTS} folders for {stem}: empty it")


def claim_folder(folder: Path, other: Path) -> Path:
    """Create `folder`, or `other` if another run was faster, and say which."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        other.mkdir(parents=True, exist_ok=True)
        return other
    return folder


def drop_if_empty(folder: Path) -> None:
    """Remove a folder that nothing was written to, and `eval_results` if it was the only one."""
    with suppress(OSError):
        folder.rmdir()
        if folder.parent.name == RESULTS:
            folder.parent.rmdir()
