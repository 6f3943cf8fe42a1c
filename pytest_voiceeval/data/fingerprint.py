"""A short name for the exact content of some files."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def fingerprint(paths: Iterable[Path]) -> str:
    """Return 12 hexadecimal digits of the names and bytes of `paths`, the same on every machine.

    A folder stands for all files below it. Order and location do not count, nor do the line
    ends a checkout on another system may have changed.

    Raises:
        FileNotFoundError: one of the paths is not there.
    """
    digest = hashlib.sha256()
    for name, content in sorted(_contents(paths)):
        digest.update(f"{len(name)}:{name}:{content}\n".encode())
    return digest.hexdigest()[:12]


def _contents(paths: Iterable[Path]) -> Iterable[tuple[str, str]]:
    for path in paths:
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.is_file())
            yield from ((file.relative_to(path).as_posix(), _digest(file)) for file in files)
        else:
            yield path.name, _digest(path)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
