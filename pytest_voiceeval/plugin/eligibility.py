"""Which items may have their call run before it is their turn.

A call that runs ahead starts before its item's set-up. So it may depend on nothing but what is
already there: session fixtures that are up, with the values this item will get.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

OUR_FIXTURES = f"{__package__}.fixtures"
"""Module of the fixtures whose work the engine does itself."""
BUILT_IN = frozenset({"call", "voice_scenario"})
GIVEN = ("agent_bot", "caller_bot", "agent_state")
_NO_PARAM = object()

FixtureDef = pytest.FixtureDef[Any]


class SessionFixtures:
    """The session-scoped fixtures that are up, and what they returned."""

    def __init__(self) -> None:
        self._up: dict[FixtureDef, tuple[Any, object]] = {}

    def came_up(self, definition: FixtureDef, request: pytest.FixtureRequest, value: Any) -> None:
        """Note a fixture that was set up."""
        if definition.scope == "session":
            self._up[definition] = (value, getattr(request, "param", _NO_PARAM))

    def went_down(self, definition: FixtureDef) -> None:
        """Note a fixture that was torn down; harmless for one that was not up."""
        self._up.pop(definition, None)

    def value(self, definition: FixtureDef) -> Any:
        """What one that is up returned."""
        return self._up[definition][0]

    def has(self, need: _Need) -> bool:
        """Whether what is needed is up."""
        return need.definition in self._up and self._up[need.definition][1] is need.param

    def has_another(self, need: _Need) -> bool:
        """Whether it is up, but with another parameter."""
        return need.definition in self._up and self._up[need.definition][1] is not need.param


@dataclass(frozen=True, slots=True)
class _Need:
    """A session fixture that an item uses."""

    name: str
    definition: FixtureDef
    param: object


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is true of an item for the whole run: why its call can never run ahead, its needs."""

    refusal: str | None
    needs: Sequence[_Need]


class Eligible:
    """Decides about items, given what is up."""

    def __init__(self) -> None:
        self.fixtures = SessionFixtures()
        self._known: dict[pytest.Item, _Facts] = {}

    def why_not(self, item: pytest.Item) -> str | None:
        """Why the call of `item` must wait for its turn, in words; None if it need not."""
        facts = self._facts(item)
        if facts.refusal is not None:
            return facts.refusal
        for need in facts.needs:
            if not self.fixtures.has(need):
                return f"the fixture {need.name!r} was not up yet"
        return None

    def is_border(self, item: pytest.Item) -> bool:
        """Whether a session fixture will be set up again before `item`, with another parameter.

        Calls beyond it would lose the bots they began with.
        """
        return any(map(self.fixtures.has_another, self._facts(item).needs))

    def given(self, item: pytest.Item) -> tuple[Any, Any, Any]:
        """What `agent_bot`, `caller_bot` and `agent_state` are for an item that is eligible."""
        values = (self.fixtures.value(_definitions(item, name)[-1]) for name in GIVEN)
        agent, caller, state = values
        return agent, caller, state

    def _facts(self, item: pytest.Item) -> _Facts:
        if item not in self._known:
            self._known[item] = _Facts(_refusal(item), tuple(_needs(item)))
        return self._known[item]


def _refusal(item: pytest.Item) -> str | None:
    names = getattr(item, "fixturenames", ())
    if "call" not in names:
        return "it makes no call"
    if any(map(_may_skip, item.iter_markers())):
        return "it has a mark that may skip it"
    return next(filter(None, (_obstacle(item, name) for name in names)), None)


def _may_skip(mark: pytest.Mark) -> bool:
    return mark.name in {"skip", "skipif"} or (
        mark.name == "xfail" and mark.kwargs.get("run") is False
    )


def _obstacle(item: pytest.Item, name: str) -> str | None:
    """What about the fixture `name` keeps the call from running ahead, whatever is up."""
    definitions = _definitions(item, name)
    if not definitions:
        return None if name == "request" else f"there is no fixture {name!r}"
    nearest = definitions[-1]
    if name in BUILT_IN:
        ours = nearest.func.__module__ == OUR_FIXTURES
        return None if ours else f"the fixture {name!r} is overridden"
    if nearest.scope == "session" or _is_parameter(nearest):
        return None
    return f"the fixture {name!r} is {nearest.scope}-scoped"


def _needs(item: pytest.Item) -> list[_Need]:
    params: dict[str, object] = item.callspec.params if hasattr(item, "callspec") else {}
    return [
        _Need(name, definition, params.get(name, _NO_PARAM))
        for name in getattr(item, "fixturenames", ())
        for definition in _definitions(item, name)[-1:]
        if definition.scope == "session" and not _is_parameter(definition)
    ]


def _definitions(item: pytest.Item, name: str) -> Sequence[FixtureDef]:
    """The definitions of a fixture that count for an item, the nearest last."""
    # pytest has no public name for it
    info = getattr(item, "_fixtureinfo", None)
    return info.name2fixturedefs.get(name, ()) if info is not None else ()


def _is_parameter(definition: FixtureDef) -> bool:
    """Whether this is the fixture that pytest makes up for a plain parameter of a test."""
    return getattr(definition.func, "__name__", "") == "get_direct_param_fixture_func"
