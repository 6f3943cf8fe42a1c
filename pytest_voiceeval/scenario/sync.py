"""Keeping two sides' databases in step: how a delta from the other side is applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_voiceeval.scenario.functions import FunctionRegistry

SyncApplier = Callable[[dict[str, Any], Mapping[str, Any]], Any]

_APPLIER = "applier"
_registry = FunctionRegistry("sync")


def register_sync_applier(domain: str) -> Callable[[SyncApplier], SyncApplier]:
    """Register `fn(db, delta)`, which applies a delta to `db` in place, for one domain.

    Raises:
        ValueError: the domain already has one.
    """
    return lambda function: _registry.add(domain, _APPLIER, function)


def apply_sync_delta(domain: str, delta: Mapping[str, Any], db: dict[str, Any]) -> None:
    """Apply a delta with the domain's applier, else by dotted paths.

    Raises:
        KeyError: without an applier, when a parent in a path does not exist.
        Exception: whatever the domain's applier raises.
    """
    applier = _registry.find(domain, _APPLIER)
    if applier is not None:
        applier(db, delta)
        return
    for path, value in delta.items():
        _assign(db, path, value)


def _assign(db: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    target: Any = db
    for depth, key in enumerate(parents, 1):
        if not isinstance(target, dict) or key not in target:
            raise KeyError(f"the database has no {'.'.join(parents[:depth])!r} to set {path!r} in")
        target = target[key]
    target[last] = value
