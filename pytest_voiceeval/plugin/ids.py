r"""Item names of scenarios, and what of a command line may name one. Standard library only.

An item's name is the scenario's short name. What pytest gives a meaning of its own in node ids
(`::`, `/`, `\`, brackets) and what cannot be typed is percent-encoded, so that an id stays one id
in every tool that takes it apart. On the command line the plain spelling works as well.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SEPARATOR = "::"
PACK_FILE = "pack.toml"

_DEPTH_OF_A_PACK = 4
"""How many folders above a file are looked at for the pack it belongs to."""

# a percent sign only where it would read as an escape, so that two names never share an id
_SPECIAL = re.compile(r"::|[/\\\[\]]|^\s|\s$|%(?=[0-9A-Fa-f]{2})")
_NO_KEYWORD = re.compile(r"[^\w.+-]+")


def item_name(short: str) -> str:
    """Name of the item of a scenario: different for different scenarios, the same everywhere."""
    escaped = _SPECIAL.sub(lambda found: _percent(found[0]), short)
    return "".join(char if char.isprintable() else _percent(char) for char in escaped)


def keywords_of(short: str) -> set[str]:
    """What `-k` finds a scenario by: its name, and the name in characters that `-k` can spell."""
    return {short, _NO_KEYWORD.sub("_", short)}


class ItemNames:
    """The scenarios of one domain by whatever an id may call them.

    Args:
        shorts: their short names.
    """

    def __init__(self, shorts: Iterable[str]) -> None:
        names = list(shorts)
        # what is shown beats what is merely spelled like it
        self._spelled = {_composed(short): short for short in names}
        self._spelled |= {_composed(item_name(short)): short for short in names}

    def find(self, text: str) -> tuple[str, str | None] | None:
        """Find the scenario that stands behind `domain::`, as shown or as it spells itself.

        Returns:
            Its short name and the parameters in brackets (None for all variants), or None if
            there is no such scenario.
        """
        wanted = _composed(text)
        if wanted in self._spelled:
            return self._spelled[wanted], None
        name, bracket, parameters = wanted.partition("[")
        if bracket and name in self._spelled:
            return self._spelled[name], parameters.removesuffix("]")
        return None


def may_be_item(base: Path, argument: str) -> bool:
    """Whether an argument may name a scenario; false for the ids of ordinary test files.

    Args:
        base: the current directory.
        argument: as given on the command line.
    """
    head, separator, _ = argument.partition(SEPARATOR)
    if not separator:
        return False
    path = base / head
    return not path.is_file() or pack_folder_of(path) is not None


def pack_folder_of(path: Path) -> Path | None:
    """The folder of the pack in which a file lies, None if it lies in none."""
    folders = islice(path.parents, _DEPTH_OF_A_PACK)
    return next((folder for folder in folders if (folder / PACK_FILE).is_file()), None)


def _percent(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass")


def _composed(text: str) -> str:
    # file systems and terminals hand letters with accents over in either form
    return unicodedata.normalize("NFC", text)
