"""Which scenarios there are. Packs are loaded when one of their scenarios is first asked for."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_voiceeval.data.root import refuse_other_edition
from pytest_voiceeval.packs import PackError, list_packs, load_pack, pack_of_module
from pytest_voiceeval.scenario.entries import (
    BadScenarioName,
    DuplicateScenario,
    Entries,
    Entry,
    RegistryError,
    UnknownDomain,
    UnknownScenario,
    closest,
    prefix_of,
    short_of,
)
from pytest_voiceeval.scenario.model import Scenario
from pytest_voiceeval.scenario.origins import Origin

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

__all__ = [
    "BadScenarioName",
    "DomainInfo",
    "DuplicateScenario",
    "RegistryError",
    "UnknownDomain",
    "UnknownScenario",
    "domain_info",
    "domain_of",
    "get_eval_scenario",
    "list_eval_scenarios",
    "load_all_packs",
    "location_of",
    "register_domain_info",
    "register_eval_scenario",
    "register_scenario_factory",
    "require_scenario_name",
    "scenarios_of",
]

ScenarioClass = TypeVar("ScenarioClass", bound=type[Scenario])


@dataclass(frozen=True, slots=True)
class DomainInfo:
    """Which copy of a domain's data is in use.

    Attributes:
        edition: `voiceeval` for ours, `upstream` for the benchmark's own, else `custom`.
        fingerprint: 12 hexadecimal digits of the data's content.
        root: the folder the data were found in.
    """

    edition: str
    fingerprint: str
    root: str


_entries = Entries()
_describers: dict[str, Callable[[], DomainInfo]] = {}


def register_eval_scenario(scenario_class: ScenarioClass) -> ScenarioClass:
    """Register a scenario class under its `name`; without one, under the name of the class.

    A class in a pack belongs to the pack's domain, any other to what stands before the first
    `__` of its name.

    Raises:
        ValueError: not a subclass of `Scenario`.
        DuplicateScenario: the name is taken; the text names both places. (The reference harness
            overwrites silently.)
        BadScenarioName: the name cannot be used.
    """
    if not (inspect.isclass(scenario_class) and issubclass(scenario_class, Scenario)):
        raise ValueError(f"{scenario_class!r} is not a subclass of Scenario")
    name = getattr(scenario_class, "name", None)
    name = name if isinstance(name, str) else scenario_class.__name__
    origin = Origin.of_frame(_caller())
    domain = pack_of_module(origin.module) or prefix_of(name) or scenario_class.domain
    _entries.add(Entry(name, domain, scenario_class, origin))
    return scenario_class


def register_scenario_factory(
    name: str,
    domain: str,
    factory: Callable[..., Scenario],
    location: tuple[Path, int] | None = None,
    *,
    origin: Origin | None = None,
) -> None:
    """Register a scenario that has no class of its own, such as a record of a dataset.

    Args:
        name: full name, `<domain>__<id>`.
        domain: the domain it is selected by.
        factory: makes the scenario; takes the keyword arguments of `get_eval_scenario`.
        location: file and line (from 1) that define it; the place of this call by default.
        origin: the module it belongs to; the one that calls by default.

    Raises:
        DuplicateScenario: the name is taken; the text names both places.
        BadScenarioName: the name cannot be used.
    """
    origin = origin or Origin.of_frame(_caller())
    _entries.add(Entry(name, domain, factory, origin, location or (Path(origin.file), origin.line)))


def register_domain_info(domain: str, describe: Callable[[], DomainInfo]) -> None:
    """Let a pack tell which edition of its data is in use; `describe` runs when asked for."""
    _describers[domain] = describe


def domain_info(domain: str) -> DomainInfo | None:
    """Return which data a domain uses, or None if its pack does not tell.

    Raises:
        PackError: the domain's pack cannot be loaded.
        DataError: the data are not of the edition that was asked for.
        Exception: what the pack raises when its data are not usable.
    """
    _load(domain)
    describe = _describers.get(domain)
    info = describe() if describe else None
    if info is not None:
        refuse_other_edition(domain, info.edition, info.root)
    return info


def get_eval_scenario(name: str, **kwargs: Any) -> Scenario | None:
    """Make the scenario of this full name, or return None if there is none.

    Args:
        name: full name.
        kwargs: arguments of the scenario's constructor.

    Raises:
        PackError: the pack that should hold it cannot be loaded.
    """
    entry = _find(name)
    if entry is None:
        return None
    scenario = entry.build(**kwargs)
    if getattr(scenario, "name", None) is None:  # a class registered under its own name
        scenario.name = entry.name
    return scenario


def list_eval_scenarios() -> list[str]:
    """Return the names of all scenarios of all packs that can be loaded, as registered."""
    load_all_packs()
    return [entry.name for entry in _entries]


def load_all_packs() -> list[PackError]:
    """Load every pack and return the errors of those that cannot be loaded."""
    errors = []
    for pack in list_packs():
        try:
            load_pack(pack.domain)
        except PackError as error:
            errors.append(error)
    return errors


def scenarios_of(domain: str) -> list[str]:
    """Return the full names of a domain's scenarios, in the order of registration.

    Raises:
        UnknownDomain: there is no such domain; the text names the closest ones.
        PackError: its pack cannot be loaded.
    """
    has_pack = _load(domain)
    names = [entry.name for entry in _entries if entry.domain == domain]
    if not names and not has_pack:
        raise _unknown_domain(domain)
    return names


def require_scenario_name(text: str) -> str:
    """Return the full name that `text` means: a full name, or a short one that is unique.

    Raises:
        UnknownDomain: `text` begins with a domain that does not exist.
        UnknownScenario: none has this name, or several have; the text names the closest ones.
        PackError: the pack that should hold it cannot be loaded.
    """
    entry = _find(text)
    if entry is not None:
        return entry.name
    named = [entry.name for entry in _entries if entry.short == text]
    if len(named) == 1:
        return named[0]
    if named:
        raise UnknownScenario(f"several scenarios are named {text!r}: {', '.join(named)}")
    raise _unknown_scenario(text)


def domain_of(name: str) -> str:
    """Return the domain by which a registered scenario is selected.

    Raises:
        UnknownScenario: no scenario has this full name.
    """
    return _require(name).domain


def location_of(name: str) -> tuple[Path, int]:
    """Return the file and the line, counted from 1, that define a registered scenario.

    Raises:
        UnknownScenario: no scenario has this full name.
    """
    return _require(name).place


def _find(name: str) -> Entry | None:
    """Look a name up, loading the pack that may hold it; `domain__short` will do as well."""
    entry = _entries.find(name)
    prefix = prefix_of(name)
    if entry is None and prefix:
        _load(prefix)
    elif entry is None:
        load_all_packs()
    return _entries.find(name) or _entries.find_short(prefix or "", short_of(name))


def _require(name: str) -> Entry:
    entry = _find(name)
    if entry is None:
        raise _unknown_scenario(name)
    return entry


def _load(domain: str) -> bool:
    """Load the pack of a domain; return whether there is one."""
    if all(pack.domain != domain for pack in list_packs()):
        return False
    load_pack(domain)
    return True


def _known_domains() -> list[str]:
    return sorted({*(pack.domain for pack in list_packs()), *(entry.domain for entry in _entries)})


def _unknown_domain(domain: str) -> UnknownDomain:
    known = _known_domains()
    hint = closest(domain, {name: name for name in known})
    return UnknownDomain(
        f"no domain named {domain!r}; {hint or 'known domains: ' + (', '.join(known) or 'none')}"
    )


def _unknown_scenario(text: str) -> RegistryError:
    prefix = prefix_of(text)
    if prefix is not None and prefix not in _known_domains():
        return _unknown_domain(prefix)
    candidates = [entry for entry in _entries if prefix in (None, entry.domain)]
    hint = closest(short_of(text), {entry.short: entry.name for entry in candidates})
    advice = f"`voiceeval list {prefix or 'DOMAIN'}` shows the scenarios of a domain"
    return UnknownScenario(f"no scenario named {text!r}; {hint or advice}")


def _caller() -> FrameType:
    """Return the frame that called the function which calls this one."""
    frame = inspect.currentframe()
    assert frame is not None  # noqa: S101 - CPython always has frames
    assert frame.f_back is not None  # noqa: S101 - our caller
    assert frame.f_back.f_back is not None  # noqa: S101 - the caller's caller
    return frame.f_back.f_back
