"""One domain pack as found on disk, and the file that makes a folder a pack."""

from __future__ import annotations

import difflib
import keyword
import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

PACK_FILE = "pack.toml"

Source = Literal["user", "shipped", "entry point"]

_KEYS = {"description": str, "data": str, "version": str, "license": str, "url": str}


class PackError(ImportError):
    """A pack is not there, is not well formed, or failed while it was loaded."""


@dataclass(frozen=True, slots=True)
class Pack:
    """A domain pack.

    Attributes:
        domain: name of the domain, which is the folder's name.
        path: the folder, with symbolic links resolved.
        source: who brought it.
        description: one line for listings, from `pack.toml`.
        data: name of its folder below the data root; the domain's own name unless given.
        overrides: folders of other packs of the same name that this one hides.
        problem: why it cannot be loaded, or None.
    """

    domain: str
    path: Path
    source: Source
    description: str = ""
    data: str = ""
    overrides: tuple[Path, ...] = ()
    problem: str | None = None


def read_pack(folder: Path, domain: str, source: Source) -> Pack:
    """Read a folder that holds a `pack.toml`; what is wrong with it becomes `Pack.problem`."""
    pack = Pack(domain, folder.resolve(), source, data=domain)
    if not domain.isidentifier() or keyword.iskeyword(domain) or domain.startswith("_"):
        return replace(pack, problem=f"{domain!r} cannot be a domain: it is imported by its name")
    if not (folder / "__init__.py").is_file():
        return replace(pack, problem=f"{folder} has a {PACK_FILE} but no __init__.py")
    try:
        settings = tomllib.loads((folder / PACK_FILE).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return replace(pack, problem=f"{folder / PACK_FILE}: {error}")
    if problem := _check(settings):
        return replace(pack, problem=f"{folder / PACK_FILE}: {problem}")
    data = settings.get("data", domain)
    return replace(pack, description=settings["description"], data=data)


def _check(settings: dict[str, Any]) -> str | None:
    for key, value in settings.items():
        if key not in _KEYS:
            return f"unknown key {key!r}{suggest(key, _KEYS)}; known are {', '.join(_KEYS)}"
        if not isinstance(value, _KEYS[key]) or not value.strip():
            return f"{key!r} must be a text that is not empty, got {value!r}"
    return None if "description" in settings else "the key 'description' is missing"


def suggest(word: str, known: Any) -> str:
    """Return ", did you mean 'x'?" with the closest of the known words, or nothing."""
    close = difflib.get_close_matches(word, list(known), n=3, cutoff=0.6)
    return f", did you mean {' or '.join(map(repr, close))}?" if close else ""
