"""Messages a tool sends to the client by itself, through whatever RTVI processor the bot has."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

logger = logging.getLogger(__name__)

TOOL_PUSH_DEADLINE = 5.0
"""Seconds the `tool push` may take before the tool goes on without it."""

EXIT_TASK_FINISHED = "<exit>The task is finished.</exit>"
EXIT_TRANSFER_COMPLETE = "<exit>Transfer complete.</exit>"


def final_response(result: Any) -> str:
    """The text that hands in a result: a text as it is, anything else as JSON."""
    payload = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    return f"<final_response>{payload}</final_response>"


def can_push(rtvi: Any) -> bool:
    """Whether `rtvi` offers `async send_server_message(data)`, as Pipecat's RTVIProcessor does."""
    return callable(getattr(rtvi, "send_server_message", None))


async def push_server_message(rtvi: Any, message: Any, what: str) -> None:
    """Send one server message; a failure is logged and never reaches the tool's caller.

    Args:
        rtvi: The RTVI processor, or anything shaped like it. Without one this does nothing.
        message: The JSON value to send as the message's `data`.
        what: What the message is, for the log.
    """
    if not can_push(rtvi):
        return
    try:
        async with asyncio.timeout(TOOL_PUSH_DEADLINE):
            await rtvi.send_server_message(message)
    except TimeoutError:
        logger.exception("%s: not sent within the %s s of `tool push`", what, TOOL_PUSH_DEADLINE)
    except Exception:
        logger.exception("%s could not be sent", what)
