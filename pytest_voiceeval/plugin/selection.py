"""Which scenarios a run asked for: `--domain`, `--scenarios` and ids on the command line."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_voiceeval.plugin.ids import SEPARATOR, ItemNames, may_be_item, pack_folder_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class ScenarioId:
    """What stands on the two sides of the first `::` in an item's id."""

    domain: str
    name: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Selected scenarios by domain, both in the order in which they were asked for.

    Attributes:
        by_domain: full names.
        variants: of a scenario asked for as `domain::name[parameters]`, these parameters.
        whole: scenarios that were also asked for with all of their variants.
    """

    by_domain: Mapping[str, tuple[str, ...]]
    variants: Mapping[str, frozenset[str]] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """Full names of all selected scenarios."""
        return tuple(name for names in self.by_domain.values() for name in names)


def short_name(domain: str, name: str) -> str:
    """A scenario's name inside its domain: what its item is called."""
    return name.removeprefix(f"{domain}__")


def split_arguments(config: pytest.Config) -> tuple[list[str], list[ScenarioId]]:
    """Part the command line's arguments into paths and scenario ids such as `domain::name`."""
    paths: list[str] = []
    ids: list[ScenarioId] = []
    for argument in config.args:
        found = _scenario_id(config.invocation_params.dir, argument)
        if found is None:
            paths.append(argument)
        else:
            ids.append(found)
    return paths, ids


def _scenario_id(base: Path, argument: str) -> ScenarioId | None:
    """Read an argument as pytest shows an id, or as an editor does, which names the file too."""
    if not may_be_item(base, argument):
        return None
    head, _, name = argument.partition(SEPARATOR)
    path = base / head
    if path.is_file():
        pack = pack_folder_of(path)
        asked = ScenarioId(pack.name if pack else "", name)
        return asked if _is_domain(asked.domain) and _Asked().find(asked) else None
    # pytest shows ids relative to the current directory, so `../domain::name` is pasted too
    asked = ScenarioId(Path(head).name, name)
    return asked if _is_domain(asked.domain) or _is_misspelled(path, asked.domain) else None


def _is_domain(name: str) -> bool:
    from pytest_voiceeval.packs import PackError, list_packs
    from pytest_voiceeval.scenario.registry import UnknownDomain, scenarios_of

    if any(pack.domain == name for pack in list_packs()):
        return True
    try:
        return bool(scenarios_of(name))  # a conftest may register a domain without a pack
    except (UnknownDomain, PackError):
        return False


def _is_misspelled(path: Path, name: str) -> bool:
    """Whether pytest could only say that there is no such file, where we know a close domain."""
    from pytest_voiceeval.packs import list_packs

    known = [pack.domain for pack in list_packs()]
    return not path.exists() and bool(difflib.get_close_matches(name, known))


def resolve(
    domains: Iterable[str], scenarios: Iterable[str], ids: Iterable[ScenarioId]
) -> Selection | None:
    """Turn options and ids into scenarios; None when the run selects none.

    Args:
        domains: what `--domain` says.
        scenarios: what `--scenarios` says.
        ids: what stands on the command line.

    Raises:
        pytest.UsageError: for an unknown domain or scenario, with the closest names.
    """
    from pytest_voiceeval.packs import PackError
    from pytest_voiceeval.scenario.registry import RegistryError

    asked = _Asked()
    try:
        for domain in domains:
            asked.add_domain(domain)
        for text in scenarios:
            asked.add_text(text)
        for one in ids:
            asked.add_id(one)
    except (PackError, RegistryError) as error:
        raise pytest.UsageError(str(error)) from error
    return asked.selection()


class _Asked:
    """Gathers what was asked for; a scenario named twice is still one."""

    def __init__(self) -> None:
        self._chosen: dict[str, dict[str, None]] = {}
        self._whole: set[str] = set()
        self._variants: dict[str, set[str]] = {}
        self._named: dict[str, tuple[ItemNames, dict[str, str]]] = {}

    def selection(self) -> Selection | None:
        """All that was added, None if nothing was."""
        by_domain = {domain: tuple(names) for domain, names in self._chosen.items()}
        variants = {name: frozenset(only) for name, only in self._variants.items()}
        return Selection(by_domain, variants, frozenset(self._whole)) if by_domain else None

    def add_domain(self, domain: str) -> None:
        """Add every scenario of a domain."""
        from pytest_voiceeval.scenario.registry import scenarios_of

        self._chosen.setdefault(domain, {})
        for name in scenarios_of(domain):
            self._add(domain, name)

    def add_text(self, text: str) -> None:
        """Add `domain::name`, `domain__name` or a name without a domain."""
        from pytest_voiceeval.scenario.registry import domain_of, require_scenario_name

        head, separator, name = text.partition(SEPARATOR)
        if separator:
            self.add_id(ScenarioId(Path(head).name, name))
        else:
            full = require_scenario_name(text)
            self._add(domain_of(full), full)

    def add_id(self, asked: ScenarioId) -> None:
        """Add what an item's id names, or raise with the closest names."""
        from pytest_voiceeval.scenario.registry import require_scenario_name

        found = self.find(asked)
        if found is None:
            full = require_scenario_name(f"{asked.domain}__{asked.name}")
            found = full, None
        self._add(asked.domain, *found)

    def find(self, asked: ScenarioId) -> tuple[str, str | None] | None:
        """Full name and parameters of what an id names, None if there is no such scenario."""
        from pytest_voiceeval.scenario.registry import scenarios_of

        if asked.domain not in self._named:
            shorts = {short_name(asked.domain, name): name for name in scenarios_of(asked.domain)}
            self._named[asked.domain] = ItemNames(shorts), shorts
        names, shorts = self._named[asked.domain]
        found = names.find(asked.name)
        return None if found is None else (shorts[found[0]], found[1])

    def _add(self, domain: str, name: str, parameters: str | None = None) -> None:
        self._chosen.setdefault(domain, {})[name] = None
        if parameters is None:
            self._whole.add(name)
        else:
            self._variants.setdefault(name, set()).add(parameters)
