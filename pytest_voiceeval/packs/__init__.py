"""Domain packs, importable as `pytest_voiceeval.packs.<domain>` wherever their folder lies.

A pack is a folder with a `pack.toml` and an `__init__.py`. Packs come from the user's `scenarios/`
folders, from the package itself, and from installed distributions (entry points
`voiceeval.domains`), in this order of precedence.
"""

from __future__ import annotations

from pytest_voiceeval.packs._discovery import (
    PACKS_VARIABLE,
    add_user_folder,
    find_pack,
    list_packs,
    remove_user_folder,
    user_folders,
)
from pytest_voiceeval.packs._importing import (
    install_finder,
    load_pack,
    pack_of_module,
    place_in_pack,
    unload_pack,
)
from pytest_voiceeval.packs._pack import Pack, PackError

__all__ = [
    "PACKS_VARIABLE",
    "Pack",
    "PackError",
    "add_user_folder",
    "find_pack",
    "list_packs",
    "load_pack",
    "pack_of_module",
    "place_in_pack",
    "remove_user_folder",
    "unload_pack",
    "user_folders",
]

install_finder()
