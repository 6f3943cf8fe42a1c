"""A registry of functions by domain and name, as initialization and sync use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pytest_voiceeval.scenario.origins import Origin

F = TypeVar("F", bound=Callable[..., Any])


class FunctionRegistry:
    """Functions of each domain, each name once.

    Args:
        kind: what the functions are, for error texts.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._functions: dict[str, dict[str, Callable[..., Any]]] = {}

    def add(self, domain: str, name: str, function: F) -> F:
        """Register a function.

        Raises:
            ValueError: another one that is still loaded has this domain and name.
        """
        functions = self._functions.setdefault(domain, {})
        other = functions.get(name)
        if other is not None and Origin.of_function(other).is_current:
            raise ValueError(
                f"{self.kind} {name!r} is already registered under domain={domain!r}: "
                f"at {Origin.of_function(other)} and at {Origin.of_function(function)}"
            )
        functions[name] = function
        return function

    def find(self, domain: str, name: str) -> Callable[..., Any] | None:
        """Return the function of this domain and name, or None."""
        return self._functions.get(domain, {}).get(name)

    def names(self, domain: str) -> list[str]:
        """Return the names of a domain, in the order of registration."""
        return list(self._functions.get(domain, {}))
