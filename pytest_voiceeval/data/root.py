"""Where the data of all domains lie: `$EVAL_DATA_ROOT`, else what ships with the package."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath, PureWindowsPath

from pytest_voiceeval.data.editions import (
    NAMES,
    UPSTREAM,
    UPSTREAMS,
    edition_asked_for,
    fetched_root,
)
from pytest_voiceeval.data.errors import DataError, MissingData

DATA_ROOT_VARIABLE = "EVAL_DATA_ROOT"

_PACKAGE = Path(__file__).resolve().parent.parent


def get_eval_data_root() -> Path:
    """Return the folder that holds one sub-folder of data per domain.

    The environment is read at each call, so that a test may change it.

    Raises:
        MissingData: `EVAL_DATA_ROOT` is empty or names no folder.
    """
    chosen = os.environ.get(DATA_ROOT_VARIABLE)
    if chosen is None:
        return shipped_data_root()
    if not chosen.strip():
        problem = f"{DATA_ROOT_VARIABLE} is set but empty; unset it, or name a folder of data"
        raise MissingData(problem, path=Path.cwd())
    root = Path(chosen).expanduser()
    if not root.is_dir():
        raise MissingData(
            f"{DATA_ROOT_VARIABLE} names no folder; unset it to use the data that ship with "
            "pytest-voiceeval",
            path=root,
        )
    return root


def data_root_of(domain: str) -> Path:
    """Return the data root that one domain is read from: `get_eval_data_root()` for almost all.

    Where `--edition upstream` was asked for, domains that have such an edition are read from what
    `voiceeval data fetch` brought. `EVAL_DATA_ROOT` comes before it, and says where all data are.

    Raises:
        MissingData: there is no such folder, or the edition has not been fetched.
        DataError: the edition asked for does not exist.
    """
    upstream = UPSTREAM.get(domain)
    chosen = DATA_ROOT_VARIABLE in os.environ
    if upstream is None or chosen or edition_asked_for() != UPSTREAMS:
        return get_eval_data_root()
    return fetched_root(upstream)


def refuse_other_edition(domain: str, found: str, root: str) -> None:
    """Check that the data in use are of the edition asked for.

    Args:
        domain: whose data.
        found: name of their edition, as in results.
        root: where they lie.

    Raises:
        DataError: they are not; a domain without a choice is never refused.
    """
    asked = edition_asked_for()
    if asked is None or domain not in UPSTREAM or found == NAMES[asked]:
        return
    by_root = DATA_ROOT_VARIABLE in os.environ
    whose = f"{DATA_ROOT_VARIABLE} names these data" if by_root else "the data in use are these"
    way_out = "drop one of the two" if by_root else "see `voiceeval data fetch`"
    raise DataError(
        f"--edition {asked} asks for the edition {NAMES[asked]!r}, but {whose}, of the edition "
        f"{found!r}: {way_out}",
        path=Path(root),
    )


def shipped_data_root() -> Path:
    """Return the data that came with this package: inside the wheel, else beside it in a checkout.

    Raises:
        MissingData: neither folder is there, that is, the installation is incomplete.
    """
    # a wheel's own copy comes first: site-packages may hold somebody else's `fixtures`
    candidates = (_PACKAGE / "_shipped" / "fixtures", _PACKAGE.parent / "fixtures")
    for candidate in candidates:
        if candidate.is_dir():
            return candidate
    looked = " and ".join(map(str, candidates))
    raise MissingData(
        f"no data were installed (looked for {looked}); reinstall pytest-voiceeval or set "
        f"{DATA_ROOT_VARIABLE}",
        path=_PACKAGE,
    )


def resolve_data_path(relative: str) -> Path:
    """Join a `db_path` to the data root, refusing whatever leads out of it.

    Raises:
        DataError: `relative` is absolute, or climbs with `..`.
    """
    root = get_eval_data_root()
    parts = PurePosixPath(relative).parts + PureWindowsPath(relative).parts
    if not relative or ".." in parts or PureWindowsPath(relative).anchor or relative[0] == "/":
        raise DataError(
            f"{relative!r} does not name a file below the data root; use a relative path such "
            "as 'my_domain/db.json'",
            path=root,
        )
    return root / relative
