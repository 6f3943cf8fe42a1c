"""Collection: one module node per domain, one ordinary test item per scenario."""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.plugin.conftests import SessionHooks
from pytest_voiceeval.plugin.ids import item_name, keywords_of
from pytest_voiceeval.plugin.markers import judge_mark
from pytest_voiceeval.plugin.selection import short_name
from pytest_voiceeval.plugin.variants import Variant, variants_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_voiceeval.plugin.selection import Selection


class DomainModule(pytest.Module):
    """One domain; its node id is the domain's name on every machine.

    It is a module node, so that fixtures of every scope, `request.module`, a `pytestmark` in the
    pack and plugins that group items by module find what they look for.
    """

    selection: Selection

    @classmethod
    def of(
        cls, session: pytest.Session, domain: str, path: Path, selection: Selection
    ) -> DomainModule:
        """Make the node below `session`, holding the domain's part of the selection."""
        node: DomainModule = cls.from_parent(session, name=domain, path=path, nodeid=domain)
        node.name = domain  # file system collectors name themselves after their path
        node.selection = selection
        return node

    @cached_property
    def ihook(self) -> Any:
        """Hooks of all plugins that see the whole session, wherever the pack is installed."""
        return SessionHooks(self.config)

    def _getobj(self) -> ModuleType:
        from pytest_voiceeval.packs import list_packs, load_pack

        if any(pack.domain == self.name for pack in list_packs()):
            return load_pack(self.name)
        return ModuleType(self.name)  # a domain that a conftest registered

    def collect(self) -> Iterator[ScenarioItem]:
        """Yield the items of every scenario, in the order of the selection."""
        names = self.selection.by_domain[self.name]
        if not names:
            return
        definition = ScenarioItem.of(self, names[0], Variant.only(None))
        from pytest_voiceeval.plugin.overrides import refuse_ineffective

        refuse_ineffective(self, definition)
        variants = variants_of(self, definition)
        for name in names:
            for variant in self._wanted(name, variants):
                yield ScenarioItem.of(self, name, variant)

    def _wanted(self, name: str, variants: Sequence[Variant]) -> Sequence[Variant]:
        """Of a scenario asked for with parameters alone, only these variants."""
        only = self.selection.variants.get(name)
        if only is None:
            return variants
        known = {variant.parameters: variant for variant in variants}
        for parameters in sorted(only):
            if parameters not in known:
                shown = ", ".join(f"[{one}]" for one in known if one is not None)
                raise self.CollectError(
                    f"{self.name}::{item_name(short_name(self.name, name))} has no variant "
                    f"[{parameters}]; " + (f"it has {shown}" if shown else "it has none at all")
                )
        if name in self.selection.whole:
            return variants
        return [known[parameters] for parameters in known if parameters in only]


def check_call(call: Any, request: pytest.FixtureRequest) -> None:
    """Body of every packaged item: the call must have passed."""
    if not call.passed:
        from pytest_voiceeval.plugin.outcome import CallFailed
        from pytest_voiceeval.plugin.runtime import runtime_of

        raise CallFailed(runtime_of(request.config).failure_text(request.node.nodeid, call))


class ScenarioItem(pytest.Function):
    """A packaged scenario: a function item that asks for the `call` fixture."""

    scenario_name: str

    @classmethod
    def of(cls, parent: DomainModule, scenario_name: str, variant: Variant) -> ScenarioItem:
        """Make the item `domain::short`, or `domain::short[parameters]`."""
        short = short_name(parent.name, scenario_name)
        name = item_name(short)
        item: ScenarioItem = cls.from_parent(
            parent, callobj=check_call, originalname=name, **variant.arguments(name)
        )
        item.scenario_name = scenario_name
        item.path = item._place()[0]
        item.extra_keyword_matches |= {scenario_name, *keywords_of(short)}
        item.add_marker(pytest.mark.voiceeval)
        mark = judge_mark(scenario_name)
        if mark is not None:
            item.add_marker(mark)
        # plugins add to an item's fixtures, and the variants share theirs
        item.fixturenames = list(item.fixturenames)
        return item

    @property
    def ihook(self) -> Any:
        """The hooks of its domain."""
        return self.parent.ihook if self.parent is not None else super().ihook

    def setup(self) -> None:
        """Fill the fixtures; what is no verdict at all is an error, not the agent's failure."""
        super().setup()
        if self.config.option.setupplan:
            return  # fixtures were named, not run
        call = self.funcargs["call"]
        if getattr(call, "passed", None) not in (True, False):
            from pytest_voiceeval.plugin.outcome import NotMeasured

            raise NotMeasured(
                f"the fixture 'call' gave {call!r:.80}; an override must return the CallResult of "
                "the fixture it replaces"
            )

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the scenario is defined, for editors and `-vv`."""
        path, line = self._place()
        return path, max(line - 1, 0), self.nodeid

    def _place(self) -> tuple[Path, int]:
        from pytest_voiceeval.scenario.registry import location_of

        return location_of(self.scenario_name)


def domain_modules(session: pytest.Session, selection: Selection) -> list[DomainModule]:
    """The collectors of a selection."""
    from pytest_voiceeval.packs import list_packs

    # a domain registered by a conftest alone has no pack
    files = {pack.domain: pack.path / "__init__.py" for pack in list_packs()}
    return [
        DomainModule.of(session, domain, files.get(domain, session.path), selection)
        for domain in selection.by_domain
    ]
