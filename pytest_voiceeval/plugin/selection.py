"""Which scenarios a run asked for: `--domain`, `--scenarios` and ids on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_voiceeval.plugin.options import Settings

SEPARATOR = "::"


@dataclass(frozen=True, slots=True)
class Selection:
    """Selected scenarios by domain, both in the order in which they were asked for."""

    by_domain: dict[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """Full names of all selected scenarios."""
        return tuple(name for names in self.by_domain.values() for name in names)


def split_arguments(config: pytest.Config) -> tuple[list[str], list[str]]:
    """Part the command line's arguments into paths and scenario ids such as `domain::name`."""
    paths: list[str] = []
    ids: list[str] = []
    for argument in config.args:
        (ids if _is_scenario_id(config, argument) else paths).append(argument)
    return paths, ids


def _is_scenario_id(config: pytest.Config, argument: str) -> bool:
    head, separator, _ = argument.partition(SEPARATOR)
    if not separator or (config.invocation_params.dir / head).exists():
        return False
    # pytest shows ids relative to the current directory, so `../domain::name` is pasted too
    domain = Path(head).name
    if not domain.isidentifier() or domain.endswith(".py"):
        return False
    from pytest_voiceeval.packs import list_packs

    return any(pack.domain == domain for pack in list_packs())


def resolve(settings: Settings, ids: Iterable[str]) -> Selection | None:
    """Turn options and ids into scenarios; None when the run selects none.

    Raises:
        pytest.UsageError: for an unknown domain or scenario, with the closest names.
    """
    from pytest_voiceeval.packs import PackError
    from pytest_voiceeval.scenario.registry import RegistryError

    wanted = [*settings.scenarios, *ids]
    if not settings.domain and not wanted:
        return None
    try:
        return Selection(_group(settings.domain, wanted))
    except (PackError, RegistryError) as error:
        raise pytest.UsageError(str(error)) from error


def _group(domains: Iterable[str], wanted: Iterable[str]) -> dict[str, tuple[str, ...]]:
    from pytest_voiceeval.scenario.registry import scenarios_of

    chosen: dict[str, dict[str, None]] = {}
    for domain in domains:
        chosen.setdefault(domain, {}).update(dict.fromkeys(scenarios_of(domain)))
    for text in wanted:
        domain, name = _find(text)
        chosen.setdefault(domain, {})[name] = None
    return {domain: tuple(names) for domain, names in chosen.items()}


def _find(text: str) -> tuple[str, str]:
    """Domain and full name of `domain::name`, `domain__name` or a name without a domain."""
    from pytest_voiceeval.scenario.registry import domain_of, require_scenario_name

    head, separator, short = text.partition(SEPARATOR)
    name = require_scenario_name(f"{Path(head).name}__{short}" if separator else text)
    return domain_of(name), name
