"""The variants in which packaged items run: one, or one per parameter of a fixture they use.

A parametrised fixture (an `agent_bot` with two agents, say) and plugins that repeat tests work
through pytest's own machinery. It is asked once per domain, since all items of a domain use the
same fixtures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

# pytest makes parametrised items only of functions it finds in test files, so these few of its
# private names are used here, and nowhere else
# ruff: noqa: SLF001


@dataclass(frozen=True, slots=True)
class Variant:
    """One set of parameters.

    Attributes:
        fixtureinfo: what the items' fixtures are, shared by all items of a domain.
        callspec: pytest's description of the parameters, None where there are none.
    """

    fixtureinfo: Any
    callspec: Any = None

    @classmethod
    def only(cls, fixtureinfo: Any) -> Variant:
        """The one variant of items without parameters."""
        return cls(fixtureinfo)

    @property
    def parameters(self) -> str | None:
        """What stands in the brackets of the item's name."""
        return str(self.callspec.id) if self.callspec is not None and self.callspec.id else None

    def arguments(self, name: str) -> dict[str, Any]:
        """Keyword arguments for the item called `name` in this variant."""
        if self.callspec is None:
            return {"name": name, "fixtureinfo": self.fixtureinfo}
        return {
            "name": f"{name}[{self.parameters}]" if self.parameters else name,
            "fixtureinfo": self.fixtureinfo,
            "callspec": self.callspec,
            "keywords": {str(self.callspec.id): True},
        }


def variants_of(module: pytest.Module, definition: pytest.Function) -> Sequence[Variant]:
    """Ask fixtures and plugins in which variants to run the items of `module`.

    Args:
        module: the domain.
        definition: an item like those to be made.
    """
    fixtureinfo = definition._fixtureinfo
    metafunc: Any = pytest.Metafunc(
        definition=definition,  # type: ignore[arg-type]
        fixtureinfo=fixtureinfo,
        config=module.config,
        module=module.obj,
        _ispytest=True,
    )
    module.ihook.pytest_generate_tests(metafunc=metafunc)
    if not metafunc._calls:
        return [Variant.only(fixtureinfo)]
    metafunc._recompute_direct_params_indices()
    fixtureinfo.prune_dependency_tree()
    return [Variant(fixtureinfo, callspec) for callspec in metafunc._calls]


def definitions_of(item: pytest.Function, name: str) -> Sequence[pytest.FixtureDef[Any]]:
    """The definitions of the fixture `name` that `item` sees; the last one counts."""
    definitions: Sequence[pytest.FixtureDef[Any]] = item._fixtureinfo.name2fixturedefs.get(name, ())
    return definitions
