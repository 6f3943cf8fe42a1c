"""The tools every domain shares: ending the call and talking to the client directly."""

from __future__ import annotations

import json
from typing import Any

from pytest_voiceeval.tools import push
from pytest_voiceeval.tools.answers import is_error
from pytest_voiceeval.tools.base import CallParams, StandardSchemaTool
from pytest_voiceeval.tools.registry import register_schema_tool_for_eval


class _ClientTool(StandardSchemaTool):
    """A tool whose effect is a message to the client.

    Args:
        rtvi: The bot's RTVI processor. Default: the one in the shared state.
        shared_state: The bot's dictionary for this scenario.
    """

    def __init__(self, rtvi: Any = None, shared_state: dict[str, Any] | None = None) -> None:
        super().__init__()
        self._rtvi = rtvi
        self._shared_state = {} if shared_state is None else shared_state

    async def _send(self, text: str) -> None:
        rtvi = self._rtvi if self._rtvi is not None else self._shared_state.get("__rtvi__")
        await push.push_server_message(rtvi, {"text": text}, f"message of {self.name}")


@register_schema_tool_for_eval
class SendExitMessageTool(_ClientTool):
    """Ends the call: after its answer was delivered the client gets the exit message."""

    description = "Tell the system that the conversation is over. Takes no arguments."
    ends_call = True

    # A model that adds a reason or the like still ends the call.
    def _execute(self, /, **_ignored: Any) -> dict[str, Any]:
        return {"success": True, "message": "Exit message sent."}

    async def _after_result(self, params: CallParams) -> None:  # noqa: ARG002
        await self._send(push.EXIT_TASK_FINISHED)


@register_schema_tool_for_eval
class EndConversationTool(SendExitMessageTool):
    """`SendExitMessageTool` under the name an agent on the phone understands."""

    description = (
        "End the call. Use it once the caller needs nothing else and you have said goodbye; "
        "nothing can be said afterwards. Takes no arguments."
    )


class _MessageTool(_ClientTool):
    """A client tool with one parameter, `message`, sent before its answer is delivered."""

    what = "The text to send."
    confirmation = "Message sent."

    @property
    def properties(self) -> dict[str, Any]:
        return {"message": {"type": "string", "description": self.what}}

    @property
    def required_properties(self) -> list[str]:
        return ["message"]

    def _execute(self, message: Any) -> dict[str, Any]:  # noqa: ARG002 - sent by _perform
        return {"success": True, "message": self.confirmation}

    async def _perform(self, params: CallParams) -> Any:
        answer = await super()._perform(params)
        if not is_error(answer):
            await self._send(self._wrap(_as_text(params.arguments["message"])))
        return answer

    def _wrap(self, message: str) -> str:
        return message


@register_schema_tool_for_eval
class SendRTVIMessageTool(_MessageTool):
    """Sends a text to the client as it is."""

    description = "Send a message to the client application. The caller does not hear it."


@register_schema_tool_for_eval
class SendScenarioSummaryTool(_MessageTool):
    """Hands in the final result of a conversation, which the scenario compares."""

    description = "Hand in the final result of the conversation, once everything is settled."
    what = "The result as JSON text."
    confirmation = "Summary sent."

    def _wrap(self, message: str) -> str:
        return push.final_response(message)


def _as_text(message: Any) -> str:
    return message if isinstance(message, str) else json.dumps(message)
