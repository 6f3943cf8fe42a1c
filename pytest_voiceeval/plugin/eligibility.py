"""Which items may have their call run before it is their turn.

A call that runs ahead starts before its item's set-up. So it may depend on nothing but what is
already there: session fixtures that are up, with the values this item will get.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

OUR_FIXTURES = f"{__package__}.fixtures"
"""Module of the fixtures whose work the engine does itself."""
BUILT_IN = frozenset({"call", "voice_scenario"})
BOTS = ("agent_bot", "caller_bot")
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

    def has(self, definition: FixtureDef, param: object = _NO_PARAM) -> bool:
        """Whether it is up, with this parameter."""
        return definition in self._up and self._up[definition][1] is param

    def has_another(self, definition: FixtureDef, param: object) -> bool:
        """Whether it is up, with another parameter."""
        return definition in self._up and self._up[definition][1] is not param

    def value(self, definition: FixtureDef) -> Any:
        """What it returned."""
        return self._up[definition][0]


class Eligible:
    """Decides about items, given what is up."""

    def __init__(self) -> None:
        self.fixtures = SessionFixtures()

    def why_not(self, item: pytest.Item) -> str | None:
        """Why the call of `item` must wait for its turn, in words; None if it need not."""
        if not isinstance(item, pytest.Function) or "call" not in item.fixturenames:
            return "it makes no call"
        if any(_may_not_run(mark) for mark in item.iter_markers()):
            return "it is marked to be skipped"
        for name in item.fixturenames:
            reason = self._obstacle(item, name)
            if reason is not None:
                return reason
        return None

    def is_border(self, item: pytest.Item) -> bool:
        """Whether a session fixture will be set up again before `item`, with another parameter.

        Calls beyond it would lose the bots they began with.
        """
        return any(
            self.fixtures.has_another(definition, _parameters(item).get(name, _NO_PARAM))
            for name in getattr(item, "fixturenames", ())
            for definition in _definitions(item, name)[-1:]
        )

    def bots(self, item: pytest.Function) -> tuple[Any, Any]:
        """What `agent_bot` and `caller_bot` will be for an item that is eligible."""
        agent, caller = (self.fixtures.value(_definitions(item, name)[-1]) for name in BOTS)
        return agent, caller

    def _obstacle(self, item: pytest.Function, name: str) -> str | None:
        definitions = _definitions(item, name)
        if not definitions:
            return None if name == "request" else f"there is no fixture {name!r}"
        nearest = definitions[-1]
        if name in BUILT_IN:
            ours = nearest.func.__module__ == OUR_FIXTURES
            return None if ours else f"it overrides the fixture {name!r}"
        if _is_parameter(nearest):
            return None
        if nearest.scope != "session":
            return f"its fixture {name!r} is {nearest.scope}-scoped"
        param = _parameters(item).get(name, _NO_PARAM)
        if not self.fixtures.has(nearest, param):
            return f"its fixture {name!r} is not up yet"
        return None


def _may_not_run(mark: pytest.Mark) -> bool:
    return mark.name in {"skip", "skipif"} or (
        mark.name == "xfail" and mark.kwargs.get("run") is False
    )


def _definitions(item: pytest.Item, name: str) -> Sequence[FixtureDef]:
    """The definitions of a fixture that count for an item, the nearest last."""
    # pytest has no public name for it
    info = getattr(item, "_fixtureinfo", None)
    return info.name2fixturedefs.get(name, ()) if info is not None else ()


def _parameters(item: pytest.Item) -> dict[str, object]:
    return item.callspec.params if hasattr(item, "callspec") else {}


def _is_parameter(definition: FixtureDef) -> bool:
    """Whether this is the fixture that pytest makes up for a plain parameter of a test."""
    return getattr(definition.func, "__name__", "") == "get_direct_param_fixture_func"
