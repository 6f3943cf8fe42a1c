"""Collection: one directory node per domain, one ordinary test item per scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_voiceeval.plugin.selection import Selection


class DomainDirectory(pytest.Directory):
    """The pack folder of one domain; its node id is the domain's name on every machine."""

    scenario_names: tuple[str, ...]

    @classmethod
    def of(
        cls, session: pytest.Session, domain: str, path: Path, names: tuple[str, ...]
    ) -> DomainDirectory:
        """Make the node below `session`, holding the scenarios `names`."""
        node = cls.from_parent(session, name=domain, path=path, nodeid=domain)
        node.name = domain  # file system collectors name themselves after their path
        node.scenario_names = names
        return node

    def collect(self) -> Iterator[ScenarioItem]:
        """Yield one item per scenario, in registration order."""
        prefix = f"{self.name}__"
        for name in self.scenario_names:
            yield ScenarioItem.of(self, name, name.removeprefix(prefix))


def check_call(call: Any, request: pytest.FixtureRequest) -> None:
    """Body of every packaged item: the call must have passed."""
    if not call.passed:
        from pytest_voiceeval.plugin.outcome import CallFailed
        from pytest_voiceeval.plugin.runtime import runtime_of

        text = runtime_of(request.config).failure_text(request.node.nodeid, call)
        raise CallFailed(text)


class ScenarioItem(pytest.Function):
    """A packaged scenario: a function item that asks for the `call` fixture."""

    scenario_name: str

    @classmethod
    def of(cls, parent: DomainDirectory, scenario_name: str, short: str) -> ScenarioItem:
        """Make the item `domain::short`."""
        item: ScenarioItem = cls.from_parent(parent, name=short, callobj=check_call)
        item.scenario_name = scenario_name
        item.extra_keyword_matches.update({scenario_name, parent.name})
        return item

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the scenario is defined, for editors and `-vv`."""
        from pytest_voiceeval.scenario.registry import location_of

        path, line = location_of(self.scenario_name)
        return path, max(line - 1, 0), f"{self.nodeid}"


def domain_nodes(session: pytest.Session, selection: Selection) -> list[DomainDirectory]:
    """The collectors of a selection."""
    from pytest_voiceeval.packs import list_packs

    # a domain registered by a conftest alone has no pack
    folders = {pack.domain: pack.path for pack in list_packs()}
    return [
        DomainDirectory.of(session, domain, folders.get(domain, session.path), names)
        for domain, names in selection.by_domain.items()
    ]
