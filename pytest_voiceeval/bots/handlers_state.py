"""The control messages about a bot's shared state: set it up, keep it in step, read it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loguru import logger

from pytest_voiceeval.bots.handlers_base import (
    ClientMessageHandler,
    ControlMessageError,
    SharedStateRef,
    TaskRef,
    kind_of,
)
from pytest_voiceeval.data.artifacts import load_db_artifact
from pytest_voiceeval.data.root import resolve_data_path
from pytest_voiceeval.packs import list_packs, load_pack
from pytest_voiceeval.scenario.initialization import apply_initialization_actions
from pytest_voiceeval.scenario.sync import apply_sync_delta
from pytest_voiceeval.scoring.db_hash import get_dict_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RUNTIME_KEYS = ("__rtvi__", "__tool_domain__", "__call_dir__")
"""Keys of the shared state that belong to the bot; no message may overwrite them."""


def create_get_scenario_summary_action(
    task_ref: TaskRef,  # noqa: ARG001 - part of the reference's signature
    shared_state_ref: SharedStateRef,
) -> ClientMessageHandler:
    """`get_scenario_summary`: what was done. Reply: `{"actions": [...], "db_hash": hex or null}`.

    Arguments: `include_db` (default false) adds `db`. Hash and db are null when the bot has no
    database or an empty one. A database that has no hash (NaN, a value that is not JSON) is an
    error-response naming its path; the reference answers no actions and a null hash.

    Args:
        task_ref: The pipeline worker.
        shared_state_ref: The state the tools share.
    """

    async def handler(_rtvi: Any, arguments: dict[str, Any]) -> dict[str, Any]:
        db = shared_state_ref.state.get("db") or None
        summary = {
            "actions": shared_state_ref.state.get("actions", []),
            "db_hash": None if db is None else get_dict_hash(db),
        }
        return {**summary, "db": db} if arguments.get("include_db", False) else summary

    return ("get_scenario_summary", handler)


def create_apply_initialization_action(shared_state_ref: SharedStateRef) -> ClientMessageHandler:
    """`apply_initialization`: the scenario's state. Reply: `{"success": bool, "errors": [text]}`.

    Arguments: `domain` (default `default`), `shared_state_init` (JSON text of an object merged
    into the shared state), `actions` (init function records). A `db_path` in the state is
    replaced by the database found there under the data root; paths that leave the root are
    refused. The bot's own keys cannot be overwritten.

    Args:
        shared_state_ref: The state the tools share.
    """
    return ("apply_initialization", _reporting(_initialize, shared_state_ref))


def create_apply_sync_delta_action(shared_state_ref: SharedStateRef) -> ClientMessageHandler:
    """`apply_sync_delta`: the other side changed this one's database.

    Arguments: `domain` (default `default`), `delta` (object). Reply: `{"success", "errors"}`. An
    applier that raises answers success false; the reference logs it and answers true.

    Args:
        shared_state_ref: The state the tools share.
    """
    return ("apply_sync_delta", _reporting(_apply_delta, shared_state_ref))


def _reporting(
    work: Callable[[dict[str, Any], Mapping[str, Any]], list[str]], ref: SharedStateRef
) -> Any:
    """A handler whose reply carries the failures, as these two messages document."""

    async def handler(_rtvi: Any, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            errors = work(ref.state, arguments)
        except ControlMessageError as error:
            errors = [str(error)]
        except Exception as error:  # noqa: BLE001 - any failure belongs in the reply
            logger.opt(exception=error).error(f"{work.__name__} failed")
            errors = [f"{kind_of(error)}: {error}"]
        return {"success": not errors, "errors": errors}

    return handler


def _initialize(state: dict[str, Any], arguments: Mapping[str, Any]) -> list[str]:
    actions = arguments.get("actions") or []
    if not isinstance(actions, list):
        raise ControlMessageError(f"`actions` payload must be a list, got {kind_of(actions)}.")
    runtime = {key: state[key] for key in RUNTIME_KEYS if key in state}
    state.update(_parse_init(arguments.get("shared_state_init", "{}")))
    state.update(runtime)
    _resolve_db_path(state)
    if not actions:
        return []
    if state.get("db") is None:
        raise ControlMessageError(
            f"No shared_state['db'] available; cannot apply {len(actions)} initialization "
            "action(s). Send `db` or `db_path` in shared_state_init."
        )
    outcome = apply_initialization_actions(_domain(arguments), actions, state["db"])
    return list(outcome["errors"])


def _domain(arguments: Mapping[str, Any]) -> str:
    """The domain of a message, its pack loaded: that registers its functions and appliers."""
    domain = str(arguments.get("domain", "default"))
    if any(pack.domain == domain for pack in list_packs()):
        load_pack(domain)
    return domain


def _parse_init(payload: Any) -> dict[str, Any]:
    try:
        decoded = json.loads(payload) if isinstance(payload, str) else payload
    except ValueError as error:
        raise ControlMessageError(f"Invalid shared_state_init JSON: {error}") from error
    if not isinstance(decoded, dict):
        kind = kind_of(decoded)
        raise ControlMessageError(f"shared_state_init must decode to a dict, got {kind}.")
    return decoded


def _resolve_db_path(state: dict[str, Any]) -> None:
    db_path = state.pop("db_path", None)
    if db_path is None or "db" in state:
        return
    if not isinstance(db_path, str):
        raise ControlMessageError(f"db_path must be a text, got {kind_of(db_path)}.")
    try:
        state["db"] = load_db_artifact(resolve_data_path(db_path))
    except FileNotFoundError as error:
        raise ControlMessageError(
            f"FileNotFoundError: Scenario DB not found for db_path={db_path!r}: {error} "
            "(the bot needs the same EVAL_DATA_ROOT as the tests)"
        ) from error


def _apply_delta(state: dict[str, Any], arguments: Mapping[str, Any]) -> list[str]:
    delta = arguments.get("delta", {})
    if not isinstance(delta, dict):
        raise ControlMessageError(f"`delta` payload must be a dict, got {kind_of(delta)}.")
    if state.get("db") is None:
        raise ControlMessageError(
            "No shared_state['db'] available; cannot apply sync delta "
            f"of {len(delta)} key(s) before the database was initialized."
        )
    apply_sync_delta(_domain(arguments), delta, state["db"])
    return []
