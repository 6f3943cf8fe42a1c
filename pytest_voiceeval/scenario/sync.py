"""Keeping two sides' databases in step: what each must see of the other, and how it is applied."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.scenario.functions import FunctionRegistry

if TYPE_CHECKING:
    from pytest_voiceeval.scenario.model import Scenario

SIDES = ("agent", "user")

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


class SyncError(RuntimeError):
    """A scenario's `sync_state` raised, or gave no deltas; the text names the scenario."""


def keeps_in_step(scenario: Scenario) -> bool:
    """Whether a scenario keeps both sides' databases in step: its class overrides `sync_state`."""
    from pytest_voiceeval.scenario.model import Scenario

    own = getattr(type(scenario), "sync_state", Scenario.sync_state)
    return own is not Scenario.sync_state


def deltas_of(
    scenario: Scenario, agent_db: dict[str, Any] | None, user_db: dict[str, Any] | None
) -> dict[str, dict[str, Any]]:
    """Ask a scenario what each side must see of the other; a side that must see nothing is absent.

    It is asked with copies, so that what it changes in them is changed nowhere else. (The reference
    harness asks with a replay of its own of what the tools did, which goes on with such changes.)

    Raises:
        SyncError: It raised, or its answer is not `{"agent": {...}, "user": {...}}` in JSON.
    """
    name = scenario.name
    try:
        answer = scenario.sync_state(copy.deepcopy(agent_db or {}), copy.deepcopy(user_db or {}))
    except Exception as error:  # scenarios are foreign code
        raise SyncError(f"{name}: sync_state raised {type(error).__name__}: {error}") from error
    if not isinstance(answer, Mapping) or not set(answer) <= set(SIDES):
        raise SyncError(f"{name}: sync_state gave {answer!r:.80}, {EXPECTED}")
    deltas = {side: answer[side] for side in SIDES if answer.get(side)}
    for side, delta in deltas.items():
        if not isinstance(delta, Mapping):
            raise SyncError(f"{name}: sync_state gave {delta!r:.80} for the {side}, {EXPECTED}")
    try:
        sent: dict[str, dict[str, Any]] = json.loads(json.dumps(deltas, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise SyncError(f"{name}: sync_state gave what is not JSON: {error}") from error
    return sent


EXPECTED = 'expected {"agent": {path: value}, "user": {path: value}}'


def _assign(db: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    target: Any = db
    for depth, key in enumerate(parents, 1):
        if not isinstance(target, dict) or key not in target:
            raise KeyError(f"the database has no {'.'.join(parents[:depth])!r} to set {path!r} in")
        target = target[key]
    target[last] = value
