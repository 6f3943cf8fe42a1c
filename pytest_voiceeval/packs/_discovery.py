"""Finding packs: which folders are searched, and which pack of several of one name is used."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_voiceeval.packs._pack import PACK_FILE, Pack, PackError, Source, read_pack, suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from importlib.metadata import EntryPoint

PACKS_VARIABLE = "VOICEEVAL_PACKS"
ENTRY_POINTS = "voiceeval.domains"

_PACKAGE = Path(__file__).resolve().parent.parent
_user_folders: list[Path] = []


def add_user_folder(path: str | Path) -> None:
    """Search `path` for packs from now on, before the shipped ones; again is harmless.

    A process started later does not know of it: hand it `user_folders()` in `VOICEEVAL_PACKS`.

    Raises:
        PackError: `path` is not a folder.
    """
    folder = Path(path).resolve()
    if not folder.is_dir():
        raise PackError(f"no folder of scenarios at {folder}")
    if folder not in _user_folders:
        _user_folders.append(folder)


def remove_user_folder(path: str | Path) -> None:
    """Search `path` no longer; what was loaded from it stays loaded."""
    folder = Path(path).resolve()
    if folder in _user_folders:
        _user_folders.remove(folder)


def user_folders() -> tuple[Path, ...]:
    """Return the user's folders of packs: those added, then those of `VOICEEVAL_PACKS`."""
    named = filter(None, os.environ.get(PACKS_VARIABLE, "").split(os.pathsep))
    return tuple(dict.fromkeys([*_user_folders, *(Path(text).resolve() for text in named)]))


def list_packs() -> list[Pack]:
    """Return every pack that can be used, one per domain, in alphabetical order.

    Packs that are not well formed are listed too, with their `problem`.
    """
    by_domain: dict[str, list[Pack]] = {}
    for pack in _without_repeats(_all_packs()):
        by_domain.setdefault(pack.domain, []).append(pack)
    return [_choose(by_domain[domain]) for domain in sorted(by_domain)]


def find_pack(domain: str) -> Pack:
    """Return the pack of a domain.

    Raises:
        PackError: there is none; the text names the closest ones.
    """
    packs = {pack.domain: pack for pack in list_packs()}
    if domain not in packs:
        known = ", ".join(packs) or "none"
        raise PackError(f"no pack named {domain!r}{suggest(domain, packs)}; known packs: {known}")
    return packs[domain]


def shipped_folder() -> Path:
    """Return the folder of the shipped packs: inside the wheel, else beside it in a checkout."""
    inside = _PACKAGE / "_shipped" / "scenarios"
    return inside if inside.is_dir() else _PACKAGE.parent / "scenarios"


def _choose(candidates: list[Pack]) -> Pack:
    """Of packs of one name, in order of precedence, take the first and note what it hides."""
    chosen, *hidden = candidates
    rivals = [pack for pack in hidden if pack.source == chosen.source]
    if rivals:
        places = " and ".join(str(pack.path) for pack in (chosen, *rivals))
        problem = f"two {chosen.source} packs are named {chosen.domain!r}: {places}; rename one"
        return replace(chosen, problem=problem)
    return replace(chosen, overrides=tuple(pack.path for pack in hidden))


def _without_repeats(packs: Iterable[Pack]) -> Iterable[Pack]:
    """Keep one of the packs that are the same folder: first in place, last in source.

    So a checkout's own `scenarios/`, seen as the user's folder, still counts as shipped.
    """
    found: dict[Path, Pack] = {}
    for pack in packs:
        found[pack.path] = pack
    return found.values()


def _all_packs() -> Iterator[Pack]:
    for folder in user_folders():
        if not folder.is_dir():
            raise PackError(f"no folder of scenarios at {folder} (named by {PACKS_VARIABLE})")
        yield from _packs_in(folder, "user")
    yield from _packs_in(shipped_folder(), "shipped")
    yield from _installed_packs()


def _packs_in(folder: Path, source: Source) -> Iterator[Pack]:
    files = sorted(folder.glob(f"*/{PACK_FILE}"))
    return (read_pack(file.parent, file.parent.name, source) for file in files)


def _installed_packs() -> Iterator[Pack]:
    from importlib.metadata import entry_points  # 20 ms, and many a process never gets here

    for point in entry_points(group=ENTRY_POINTS):
        yield _installed_pack(point)


def _installed_pack(point: EntryPoint) -> Pack:
    try:
        spec = importlib.util.find_spec(point.value)
    except Exception as error:  # noqa: BLE001 - the parent packages are somebody else's code
        return _unusable(point, f"{type(error).__name__}: {error}")
    folder = Path(spec.origin).parent if spec and spec.origin else None
    if folder is None or not (folder / PACK_FILE).is_file():
        return _unusable(point, f"it is not a package with a {PACK_FILE}")
    return read_pack(folder, point.name, "entry point")


def _unusable(point: EntryPoint, why: str) -> Pack:
    problem = f"the entry point {point.name} = {point.value!r} cannot be used: {why}"
    return Pack(point.name, Path(point.value), "entry point", data=point.name, problem=problem)
