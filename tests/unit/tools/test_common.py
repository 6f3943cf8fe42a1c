"""The tools every domain shares."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_voiceeval.tools import get_schema_tool_for_eval

EXIT = {"text": "<exit>The task is finished.</exit>"}
EXIT_SENT = {"success": True, "message": "Exit message sent."}


@pytest.mark.parametrize("name", ["EndConversationTool", "SendExitMessageTool"])
@pytest.mark.parametrize("arguments", [None, {"reason": "done"}], ids=repr)
async def test_exit_comes_after_the_result(
    name: str, arguments: Any, make_call: Any, make_rtvi: Any
) -> None:
    call = make_call(arguments)
    await get_schema_tool_for_eval(name, rtvi=make_rtvi(call.log))(call)
    assert call.log == [("result", EXIT_SENT), ("push", EXIT)]


@pytest.mark.parametrize(
    ("name", "message", "text"),
    [
        ("SendRTVIMessageTool", "hello", "hello"),
        ("SendScenarioSummaryTool", "[]", "<final_response>[]</final_response>"),
        ("SendScenarioSummaryTool", {"a": 1}, '<final_response>{"a": 1}</final_response>'),
    ],
    ids=["plain", "summary", "summary of an object"],
)
async def test_messages_come_before_the_result(
    name: str, message: str, text: Any, make_call: Any, make_rtvi: Any
) -> None:
    call = make_call({"message": message})
    await get_schema_tool_for_eval(name, rtvi=make_rtvi(call.log))(call)
    assert [kind for kind, _ in call.log] == ["push", "result"]
    assert call.pushed == [{"text": text}]
    assert call.results[0]["success"] is True


async def test_without_a_message_nothing_is_sent(make_call: Any, make_rtvi: Any) -> None:
    call = make_call({})
    await get_schema_tool_for_eval("SendScenarioSummaryTool", rtvi=make_rtvi(call.log))(call)
    assert call.pushed == []
    assert call.results[0]["error_type"] == "execution_error"
    assert "'message'" in call.results[0]["message"]


async def test_the_rtvi_of_the_shared_state_will_do(make_call: Any, make_rtvi: Any) -> None:
    call = make_call()
    state = {"__rtvi__": make_rtvi(call.log)}
    await get_schema_tool_for_eval("EndConversationTool", shared_state=state)(call)
    assert call.pushed == [EXIT]


async def test_without_rtvi_the_answer_is_the_same(make_call: Any) -> None:
    call = make_call()
    await get_schema_tool_for_eval("EndConversationTool")(call)
    assert call.log == [("result", EXIT_SENT)]


def test_invoke_sends_nothing(make_call: Any, make_rtvi: Any) -> None:
    call = make_call()
    tool = get_schema_tool_for_eval("EndConversationTool", rtvi=make_rtvi(call.log))
    assert tool.invoke() == EXIT_SENT
    assert call.log == []


def test_schemas() -> None:
    end = get_schema_tool_for_eval("end_conversation").schema
    assert (end.name, end.properties, end.required) == ("end_conversation", {}, ())
    summary = get_schema_tool_for_eval("send_scenario_summary").schema
    assert summary.properties["message"]["type"] == "string"
    assert summary.required == ("message",)
