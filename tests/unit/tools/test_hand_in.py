"""Results that a write tool hands in: pushed before the answer, kept for a replay."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_voiceeval.tools import ReadScenarioTool, ToolError, WriteScenarioTool


class OrderTool(WriteScenarioTool):
    """Hands in what it is given."""

    description = "Order."
    ACTION_TYPES = ("order",)

    def _execute(self, result: Any, record: bool = False, fail: bool = False) -> Any:
        if record:
            self._record_action({"action_type": "order"})
        self._hand_in(result)
        if fail:
            raise ToolError("late", "too late")
        return {"status": "success"}


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"dish": "Soupe à l'oignon"}, '{"dish": "Soupe à l\'oignon"}'),
        ("as it is", "as it is"),
        ([1], "[1]"),
    ],
    ids=["object", "text", "list"],
)
async def test_it_is_pushed_before_the_answer(
    make_call: Any, make_rtvi: Any, result: Any, text: str
) -> None:
    call = make_call({"result": result})
    state: dict[str, Any] = {"__rtvi__": make_rtvi(call.log)}
    await OrderTool(shared_state=state)(call)
    assert call.log == [
        ("push", {"text": f"<final_response>{text}</final_response>"}),
        ("result", {"status": "success"}),
    ]
    assert state["_final_responses"] == [result]


async def test_an_action_is_announced_first_and_a_refusal_takes_nothing_back(
    make_call: Any, make_rtvi: Any
) -> None:
    call = make_call({"result": {}, "record": True, "fail": True})
    await OrderTool(shared_state={"__rtvi__": make_rtvi(call.log)})(call)
    assert [kind for kind, _ in call.log] == ["push", "push", "result"]
    assert call.pushed[0]["type"] == "action-applied"
    assert call.pushed[1] == {"text": "<final_response>{}</final_response>"}


def test_it_is_a_copy_of_a_state_that_changes_later() -> None:
    waiting = ["Ann"]
    state: dict[str, Any] = {}
    tool = OrderTool(shared_state=state)
    tool.invoke(result={"waiting": waiting})
    waiting.append("Bo")
    assert state["_final_responses"] == [{"waiting": ["Ann"]}]


def test_what_is_not_json_is_a_crash_of_the_tool() -> None:
    state: dict[str, Any] = {}
    answer = OrderTool(shared_state=state).invoke(result={1, 2})
    assert answer["error_type"] == "execution_error"
    assert "not JSON" in answer["message"]
    assert state == {}


async def test_without_a_client_it_is_only_kept(make_call: Any) -> None:
    call = make_call({"result": 1})
    state: dict[str, Any] = {}
    await OrderTool(shared_state=state)(call)
    assert call.log == [("result", {"status": "success"})]
    assert state["_final_responses"] == [1]


def test_a_read_tool_shares_the_state() -> None:
    class LookTool(ReadScenarioTool):
        description = "Look."

        def _execute(self) -> Any:
            return self.shared_state["db"]

    assert LookTool(shared_state={"db": {"a": 1}}).invoke() == {"a": 1}
    assert LookTool().shared_state == {}
