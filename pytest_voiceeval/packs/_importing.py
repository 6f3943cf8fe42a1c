"""Importing packs: a finder for `pytest_voiceeval.packs.<domain>`, and loading with clear texts."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.packs._discovery import find_pack, list_packs
from pytest_voiceeval.packs._pack import Pack, PackError

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

PREFIX = "pytest_voiceeval.packs."

_failed: dict[tuple[str, Path], PackError] = {}


class PackFinder(MetaPathFinder):
    """Finds the package of a pack; what lies inside is then found as in any package."""

    def find_spec(self, fullname: str, _path: Any, _target: Any = None) -> ModuleSpec | None:
        """Return where `pytest_voiceeval.packs.<domain>` is, None for any other name."""
        domain = fullname.removeprefix(PREFIX)
        if domain == fullname or "." in domain or domain.startswith("_"):
            return None
        pack = next((pack for pack in list_packs() if pack.domain == domain), None)
        if pack is None:
            return None
        if pack.problem:
            raise PackError(pack.problem)
        _forget_modules(domain)  # of an import that failed half way
        return importlib.util.spec_from_file_location(
            fullname, pack.path / "__init__.py", submodule_search_locations=[str(pack.path)]
        )


def install_finder() -> None:
    """Make packs importable in this process; again is harmless."""
    if not any(isinstance(finder, PackFinder) for finder in sys.meta_path):
        sys.meta_path.append(PackFinder())


def load_pack(domain: str) -> ModuleType:
    """Import a pack, so that what it registers is registered.

    A pack that failed is not tried again; one that was loaded from another folder than the one
    that counts now is loaded anew.

    Raises:
        PackError: no such pack, one that is not well formed, or the import failed: then the text
            says where, and the original exception is the cause.
    """
    pack = find_pack(domain)
    if pack.problem:
        raise PackError(pack.problem)
    key = (domain, pack.path)
    if key in _failed:
        raise _failed[key]
    loaded = sys.modules.get(PREFIX + domain)
    if loaded is not None and _folder(loaded) != pack.path:
        unload_pack(domain)
    try:
        return importlib.import_module(PREFIX + domain)
    except (Exception, SystemExit) as error:  # a pack is somebody's code and may raise anything
        unload_pack(domain)
        _failed[key] = PackError(_describe(pack, error))
        raise _failed[key] from error


def unload_pack(domain: str) -> None:
    """Forget the modules of a pack, so that it is imported anew."""
    for key in [key for key in _failed if key[0] == domain]:
        del _failed[key]
    _forget_modules(domain)


def _forget_modules(domain: str) -> None:
    name = PREFIX + domain
    for module in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
        del sys.modules[module]


def pack_of_module(name: str) -> str | None:
    """Return the domain of the pack that a module belongs to, or None."""
    return name.removeprefix(PREFIX).split(".")[0] if name.startswith(PREFIX) else None


def _folder(module: ModuleType) -> Path | None:
    return Path(module.__file__).resolve().parent if module.__file__ else None


def _describe(pack: Pack, error: BaseException) -> str:
    place = _last_line_in(pack.path, error) or str(pack.path)
    what = f"{type(error).__name__}: {error}"
    return f"the {pack.source} pack {pack.domain!r} cannot be loaded ({place}): {what}"


def place_in_pack(domain: str, error: BaseException) -> str:
    """Return the innermost line of a pack's own code that an error went through, or ""."""
    try:
        return _last_line_in(find_pack(domain).path, error)
    except PackError:
        return ""


def _last_line_in(folder: Path, error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else ""
