"""The control messages of a bot, ready to install in any Pipecat pipeline.

A harness prepares and reads a bot through RTVI client messages. Each factory makes one
`(message type, handler)` pair; `register_client_message_handlers` installs them:

    task_ref, shared_state_ref = TaskRef(), SharedStateRef()
    register_client_message_handlers(rtvi, [
        create_reset_context_action(task_ref, user_agg, assistant_agg, messages, [stt, tts]),
        create_update_system_prompt_action(task_ref, user_agg, assistant_agg, messages, [stt, tts],
            llm=llm, context=context, rtvi=rtvi, shared_state_ref=shared_state_ref),
        create_get_context_history_action(task_ref, assistant_agg),
        create_get_scenario_summary_action(task_ref, shared_state_ref),
        create_apply_initialization_action(shared_state_ref),
        create_apply_sync_delta_action(shared_state_ref),
        create_configure_output_action(task_ref),        # only for bots that can be silent
    ])

A bot written for the reference harness changes its import lines and nothing else. What differs
from the reference is said at each factory. The rule behind it: a request that failed is answered
by an error-response with the cause, so that the harness can show why.

Handlers run one at a time, in the order of their messages, and never end the pipeline: the
WebSocket server of a single-client bot lives inside it.
"""

from __future__ import annotations

import asyncio
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
from pytest_voiceeval.bots.handlers_context import (
    create_configure_output_action,
    create_get_context_history_action,
    create_reset_context_action,
    create_update_system_prompt_action,
)
from pytest_voiceeval.bots.handlers_scrub import sanitize_context_for_transport
from pytest_voiceeval.bots.handlers_state import (
    create_apply_initialization_action,
    create_apply_sync_delta_action,
    create_get_scenario_summary_action,
)
from pytest_voiceeval.bots.handlers_tools import register_schema_tools_to_llm

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "ClientMessageHandler",
    "ControlMessageError",
    "SharedStateRef",
    "TaskRef",
    "create_apply_initialization_action",
    "create_apply_sync_delta_action",
    "create_configure_output_action",
    "create_get_context_history_action",
    "create_get_scenario_summary_action",
    "create_reset_context_action",
    "create_update_system_prompt_action",
    "register_client_message_handlers",
    "register_schema_tools_to_llm",
    "sanitize_context_for_transport",
]


def register_client_message_handlers(rtvi: Any, actions: Iterable[ClientMessageHandler]) -> None:
    """Answer the given message types, and all others with an error-response.

    Call it once per RTVI processor: a second dispatcher would refuse the types of the first.

    Args:
        rtvi: Pipecat's `RTVIProcessor`.
        actions: Pairs from the factories of this module, or of your own.

    Raises:
        ValueError: Two pairs are for the same message type.
    """
    pairs = list(actions)
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError(f"a message type has two handlers: {sorted(name for name, _ in pairs)}")
    # Pipecat runs every event in a task of its own; the lock keeps the order of the messages, so
    # that an initialization sent right after a prompt cannot be cleared by it.
    turn = asyncio.Lock()

    async def on_client_message(rtvi_processor: Any, message: Any) -> None:
        async with turn:
            await _answer(rtvi_processor, message, table)

    rtvi.add_event_handler("on_client_message", on_client_message)


async def _answer(rtvi: Any, message: Any, table: Mapping[str, Any]) -> None:
    handler = table.get(message.type)
    if handler is None:
        await rtvi.send_error_response(message, f"unknown message type: {message.type}")
        return
    try:
        reply = await handler(rtvi, _arguments(message))
        _check_sendable(reply)
    except Exception as error:  # noqa: BLE001 - whatever failed is the harness's to show
        cause = f"{kind_of(error)}: {error}"
        known = isinstance(error, ControlMessageError)
        logger.opt(exception=None if known else error).error(f"{message.type!r} failed: {cause}")
        await rtvi.send_error_response(message, cause)
        return
    await rtvi.send_server_response(message, reply)


def _arguments(message: Any) -> dict[str, Any]:
    arguments = {} if message.data is None else message.data
    if not isinstance(arguments, dict):
        raise ControlMessageError(f"the arguments must be an object, got {kind_of(arguments)}")
    return arguments


def _check_sendable(reply: Any) -> None:
    """Pipecat drops a message it cannot encode, and the harness would wait in vain."""
    try:
        json.dumps(reply, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ControlMessageError(f"the reply cannot be sent as JSON: {error}") from error
