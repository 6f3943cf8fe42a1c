"""The table of registered scenarios: what one entry is, and which entries are refused."""

from __future__ import annotations

import difflib
import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.packs import pack_of_module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pytest_voiceeval.scenario.model import Scenario
    from pytest_voiceeval.scenario.origins import Origin

_DOMAIN = re.compile(r"[\w-]+")
_LONGEST = 200


class RegistryError(Exception):
    """Something about the names of domains or scenarios; the base of the errors below."""


class UnknownDomain(RegistryError, LookupError):
    """No pack and no registered scenario is of this domain."""


class UnknownScenario(RegistryError, LookupError):
    """No scenario has this name."""


class DuplicateScenario(RegistryError, ValueError):
    """Two scenarios have one name."""


class BadScenarioName(RegistryError, ValueError):
    """A name that cannot be typed, or that says another domain than its pack."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A registered scenario: its full name, the domain it is selected by, how to make it."""

    name: str
    domain: str
    build: Callable[..., Scenario]
    origin: Origin
    location: tuple[Path, int] | None = None

    @property
    def short(self) -> str:
        """The name without its domain, unique within the domain."""
        return short_of(self.name)

    @property
    def place(self) -> tuple[Path, int]:
        """The file and line that define the scenario."""
        return self.location or _defined_at(self.build, self.origin)


class Entries:
    """Scenarios in the order of registration, without those whose module was replaced."""

    def __init__(self) -> None:
        self._by_name: dict[str, Entry] = {}
        self._by_short: dict[tuple[str, str], str] = {}

    def __iter__(self) -> Iterator[Entry]:
        return (entry for entry in self._by_name.values() if entry.origin.is_current)

    def find(self, name: str) -> Entry | None:
        """Return the entry of this full name, or None."""
        entry = self._by_name.get(name)
        return entry if entry is not None and entry.origin.is_current else None

    def find_short(self, domain: str, short: str) -> Entry | None:
        """Return the entry of this domain and short name, or None."""
        return self.find(self._by_short.get((domain, short), ""))

    def add(self, entry: Entry) -> None:
        """Add an entry at the end.

        Raises:
            BadScenarioName: see there.
            DuplicateScenario: a current entry has its full name, or its short name and domain.
        """
        _check_name(entry)
        other = self.find(entry.name) or self.find_short(entry.domain, entry.short)
        if other is not None:
            raise DuplicateScenario(_duplicate(entry, other))
        self._by_name.pop(entry.name, None)  # one that is no longer current loses its place
        self._by_name[entry.name] = entry
        self._by_short[entry.domain, entry.short] = entry.name


def short_of(name: str) -> str:
    """Return what stands after the first `__` of a name, or the whole name."""
    return name.partition("__")[2] or name


def prefix_of(name: str) -> str | None:
    """Return what stands before the first `__` of a name, or None."""
    head, separator, _ = name.partition("__")
    return head if separator and head else None


def closest(word: str, names: Mapping[str, str]) -> str:
    """Return "did you mean 'a' or 'b'?" with the values whose keys are close to `word`, or ""."""
    hits = difflib.get_close_matches(word, list(names), n=3, cutoff=0.5)
    found = dict.fromkeys(names[hit] for hit in hits)
    return f"did you mean {' or '.join(map(repr, found))}?" if found else ""


def _check_name(entry: Entry) -> None:
    place = f"(at {_show(entry.place)})"
    name = entry.name
    if not (0 < len(name) <= _LONGEST and name.isprintable() and name == name.strip()):
        raise BadScenarioName(
            f"scenario name {name!r} {place} cannot be used: it has 1 to {_LONGEST} characters "
            "that can be printed, no blank at either end"
        )
    prefix = prefix_of(name)
    if prefix and name == f"{prefix}__":
        raise BadScenarioName(f"scenario name {name!r} {place} has nothing after the domain")
    if prefix and not _DOMAIN.fullmatch(prefix):
        raise BadScenarioName(
            f"scenario name {name!r} {place} begins with the domain {prefix!r}: a domain has only "
            "letters, digits, '_' and '-'"
        )
    if prefix and pack_of_module(entry.origin.module) and prefix != entry.domain:
        raise BadScenarioName(
            f"scenario {entry.name!r} {place} is in the pack {entry.domain!r}, so its name must "
            f"begin with '{entry.domain}__'"
        )


def _duplicate(entry: Entry, other: Entry) -> str:
    places = [_show(other.place), _show(entry.place)]
    same = " (one file imported under two names: use relative imports inside a pack)"
    why = same if places[0] == places[1] and entry.origin.module != other.origin.module else ""
    names = " and ".join(repr(name) for name in dict.fromkeys((other.name, entry.name)))
    return f"two scenarios are named {names}: {places[0]} and {places[1]}{why}"


def _defined_at(build: Callable[..., Any], origin: Origin) -> tuple[Path, int]:
    """Find the class that `build` is, else the line that registered it."""
    if getattr(build, "__module__", None) != origin.module:
        try:
            return Path(inspect.getfile(build)), inspect.getsourcelines(build)[1]
        except (OSError, TypeError):
            pass
    return Path(origin.file), origin.line


def _show(place: tuple[Path, int]) -> str:
    return f"{place[0]}:{place[1]}"
