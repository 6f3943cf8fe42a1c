"""Initialization actions: changes to a database before the call, as a scenario declares them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from pytest_voiceeval.scenario.functions import FunctionRegistry

F = TypeVar("F", bound=Callable[..., Any])

_registry = FunctionRegistry("initialization function")


def register_initialization_function(domain: str) -> Callable[[F], F]:
    """Register `fn(db, **arguments)`, which changes `db` in place, under its own name.

    Raises:
        ValueError: the domain already has a function of that name.
    """
    return lambda function: _registry.add(domain, function.__name__, function)


def apply_initialization_actions(
    domain: str, actions: Iterable[Mapping[str, Any]] | None, db: dict[str, Any] | None
) -> dict[str, Any]:
    """Apply actions to `db` in order; one that fails does not stop the later ones.

    Args:
        domain: whose functions to use.
        actions: records `{"func_name", "arguments", "side"}`; the side is not looked at.
        db: the database, changed in place.

    Returns:
        `{"success": bool, "errors": [str, ...]}`, each error naming the action's index.
    """
    if db is None:
        return {"success": False, "errors": ["No db provided; cannot apply initialization."]}
    errors = [
        f"[action {index}] {problem}"
        for index, action in enumerate(actions or ())
        if (problem := _apply(domain, action, db))
    ]
    return {"success": not errors, "errors": errors}


def _apply(domain: str, action: Mapping[str, Any], db: dict[str, Any]) -> str | None:
    """Apply one action and return what went wrong, if anything did."""
    name = str(action.get("func_name"))
    function = _registry.find(domain, name)
    if function is None:
        hint = _closest(name, _registry.names(domain))
        return f"No initialization function '{name}' registered under domain={domain!r}{hint}"
    try:
        function(db, **(action.get("arguments") or {}))
    except Exception as error:  # noqa: BLE001 - a domain's function may raise anything
        return f"'{name}' raised: {type(error).__name__}: {error}"
    return None


def _closest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean '{close[0]}'?" if close else ""
