"""Editions of a domain's data: ours, which ship with us, and the upstream benchmark's own.

What upstream has published is not shipped. `voiceeval data fetch` brings it, once, into the user's
data directory; `--edition upstream` then selects it. Only domains in `UPSTREAM` have a choice.
"""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_voiceeval.data.errors import DataError, MissingData

if TYPE_CHECKING:
    from collections.abc import Mapping

EDITION_VARIABLE = "VOICEEVAL_EDITION"
"""Environment variable of the edition asked for: how bots and workers learn of `--edition`."""

OURS, UPSTREAMS = "ours", "upstream"
EDITIONS = (OURS, UPSTREAMS)
NAMES = {OURS: "voiceeval", UPSTREAMS: "upstream"}
"""What may be asked for, and the names that results give these editions."""

_CHECKSUMS = Path(__file__).parent / "checksums"


@dataclass(frozen=True, slots=True)
class Upstream:
    """What a benchmark has published, at the one commit we know.

    Attributes:
        domain: the domain whose scenarios are read from it.
        project: its name for people.
        repository: address of its git repository.
        tag: the tag that is fetched.
        commit: the first digits of the tag's commit.
        licence: short name of its licence; the text is its file `LICENSE`.
    """

    domain: str
    project: str
    repository: str
    tag: str
    commit: str
    licence: str

    @property
    def checksums(self) -> Mapping[str, str]:
        """SHA-256 in hexadecimal of every file we use, by its path in the repository."""
        return read_checksums(_CHECKSUMS / f"{self.domain}.sha256")

    @property
    def folder(self) -> Path:
        """Where it lies once it is fetched: a data root, in the user's data directory."""
        from platformdirs import user_data_path

        base = user_data_path("pytest-voiceeval", appauthor=False)
        return base / UPSTREAMS / f"{self.domain}-{self.tag}-{self.commit}"


UPSTREAM: Mapping[str, Upstream] = MappingProxyType(
    {
        "eva_airline": Upstream(
            domain="eva_airline",
            project="ServiceNow/eva",
            repository="https://github.com/ServiceNow/eva",
            tag="0.1.3",
            commit="58637852",
            licence="MIT",
        )
    }
)
"""The domains that have an upstream edition."""


@functools.lru_cache(maxsize=8)
def read_checksums(file: Path) -> Mapping[str, str]:
    """Read a list in the format of `sha256sum`: digest, two blanks, path."""
    lines = (line.partition("  ") for line in file.read_text(encoding="utf-8").splitlines())
    return MappingProxyType({path: digest for digest, _, path in lines})


def edition_asked_for() -> str | None:
    """Return `ours` or `upstream` if somebody asked for one, by `--edition` or its variable.

    Raises:
        DataError: the variable holds something else.
    """
    asked = os.environ.get(EDITION_VARIABLE, "").strip()
    if asked and asked not in EDITIONS:
        known = " or ".join(EDITIONS)
        raise DataError(f"{EDITION_VARIABLE} is {asked!r}, not {known}", path=Path.cwd())
    return asked or None


def fetched_root(upstream: Upstream) -> Path:
    """Return the data root of a fetched edition.

    Raises:
        MissingData: it has not been fetched; the text has the command that does.
    """
    if not upstream.folder.is_dir():
        raise MissingData(
            f"the upstream edition of {upstream.domain} is not here; fetch it once with "
            f"`voiceeval data fetch {upstream.domain}`, or take --edition {OURS}",
            path=upstream.folder,
        )
    return upstream.folder
