"""`WriteScenarioTool`: action records, counters, and what it announces to the client."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import MagicMock

import pytest

from pytest_voiceeval.tools import ToolError, WriteScenarioTool, push
from pytest_voiceeval.tools.writes import changed_fields, fingerprint_records


class SetTool(WriteScenarioTool):
    """Sets fields of rows: `cells` is `[[table, row, field, value], ...]`."""

    description = "Set."
    ACTION_TYPES = ("set",)

    def _execute(self, cells: list[Any], fail: str = "", action: str = "set") -> Any:
        for table, row, name, value in cells:
            self.shared_state["db"].setdefault(table, {}).setdefault(row, {})[name] = value
        self._record_action({"action_type": action, "cells": cells})
        if fail == "refuse":
            raise ToolError("late", "too late")
        if fail:
            raise ValueError(fail)
        return {"status": "success"}

    async def _after_result(self, params: Any) -> None:
        await self._send_exit_message()


@pytest.fixture
def call(make_call: Any) -> Any:
    return make_call({"cells": [["rows", "r1", "x", 2]]})


@pytest.fixture
def state(call: Any, make_rtvi: Any) -> Any:
    return {
        "db": {"rows": {"r1": {"x": 1}, "r2": {"x": 1}}, "empty": {}, "day": "2026-03-10"},
        "__rtvi__": make_rtvi(call.log),
        "__tool_domain__": "shop",
    }


async def test_announces_before_the_result_and_exits_after_it(
    state: dict[str, Any], call: Any
) -> None:
    await SetTool(shared_state=state)(call)
    record = {"action_type": "set", "cells": [["rows", "r1", "x", 2]]}
    assert call.log == [
        (
            "push",
            {
                "type": "action-applied",
                "action": record,
                "tool_domain": "shop",
                "writes": [["rows", "r1"]],
                "fields": [["rows", "r1", "x"]],
            },
        ),
        ("result", {"status": "success"}),
        ("push", {"text": "<exit>Transfer complete.</exit>"}),
    ]
    assert state["actions"] == [record]


@pytest.mark.parametrize(
    ("cells", "writes", "fields"),
    [
        ([], [], []),
        ([["rows", "r1", "x", 1]], [], []),
        ([["rows", "r1", "x", 1.0]], [["rows", "r1"]], [["rows", "r1"]]),
        ([["rows", "r1", "x", True]], [["rows", "r1"]], [["rows", "r1", "x"]]),
        ([["rows", "r3", "x", 1]], [["rows", "r3"]], [["rows", "r3"]]),
        ([["empty", "e", "x", 1]], [["empty", "e"]], [["empty", "e"]]),
        ([["new", "n", "x", 1]], [["new", "n"]], [["new", "n"]]),
        (
            [["rows", "r2", "x", 9], ["rows", "r1", "y", 9]],
            [["rows", "r1"], ["rows", "r2"]],
            [["rows", "r1", "y"], ["rows", "r2", "x"]],
        ),
    ],
    ids=["none", "same", "float", "bool", "added", "first of table", "new table", "two"],
)
async def test_writes_are_what_changed(
    state: dict[str, Any], call: Any, cells: Any, writes: Any, fields: Any
) -> None:
    call.arguments = {"cells": cells}
    await SetTool(shared_state=state)(call)
    assert call.pushed[0]["writes"] == writes
    assert call.pushed[0]["fields"] == fields


def test_fields_name_list_elements_by_their_identity() -> None:
    def fields(before: Any, after: Any) -> list[list[str]]:
        pair = (fingerprint_records({"t": {"r": value}}) for value in (before, after))
        return changed_fields(*pair)

    legs = [{"id": "A", "seat": None}, {"id": "B", "seat": None}]
    seated = [legs[0], {"id": "B", "seat": "4C"}]
    assert fields({"legs": legs}, {"legs": seated}) == [["t", "r", "legs", "B", "seat"]]
    assert fields({"legs": legs[:1]}, {"legs": legs}) == [["t", "r", "legs", "B"]]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {str(n): n for n in range(51)}),
        ({"x": 1}, {"x": float("nan")}),
        ({"x": 1}, {"x": object}),
    ],
    ids=["too many", "no JSON", "no plain value"],
)
def test_a_record_of_which_no_fields_can_be_told_is_named_as_a_whole(
    before: Any, after: Any
) -> None:
    pair = [fingerprint_records({"t": {"r": value}}) for value in (before, after)]
    assert changed_fields(*pair) == [["t", "r"]]


@pytest.mark.parametrize("fail", ["refuse", "crash"])
async def test_what_was_recorded_before_a_failure_is_announced(
    state: dict[str, Any], call: Any, fail: Any
) -> None:
    call.arguments["fail"] = fail
    await SetTool(shared_state=state)(call)
    assert [kind for kind, _ in call.log] == ["push", "result"]
    assert call.pushed[0]["writes"] == [["rows", "r1"]]
    assert call.results[0]["status"] == "error"


async def test_the_domain_is_default_when_the_bot_did_not_say(
    state: dict[str, Any], call: Any
) -> None:
    del state["__tool_domain__"]
    await SetTool(shared_state=state)(call)
    assert call.pushed[0]["tool_domain"] == "default"


@pytest.mark.parametrize("db", [None, [], "text"], ids=repr)
async def test_a_state_without_tables_has_no_writes(
    state: dict[str, Any], call: Any, db: Any
) -> Any:
    class NoteTool(WriteScenarioTool):
        description = "Note."
        ACTION_TYPES = ("set",)

        def _execute(self, **arguments: Any) -> Any:
            self._record_action({"action_type": "set"})
            return {"status": "success"}

    state["db"] = db
    await NoteTool(shared_state=state)(call)
    assert call.pushed[0]["writes"] == []


async def test_the_announced_record_is_a_copy(state: dict[str, Any], call: Any) -> None:
    tool = SetTool(shared_state=state)
    await tool(call)
    state["actions"][0]["action_type"] = "changed later"
    assert call.pushed[0]["action"]["action_type"] == "set"


async def test_no_rtvi_no_push(state: dict[str, Any], call: Any) -> None:
    del state["__rtvi__"]
    await SetTool(shared_state=state)(call)
    assert call.log == [("result", {"status": "success"})]
    assert len(state["actions"]) == 1


@pytest.mark.parametrize("rtvi", [object(), MagicMock()], ids=["foreign", "not awaitable"])
async def test_something_that_is_no_rtvi_does_no_harm(
    state: dict[str, Any], call: Any, rtvi: Any
) -> None:
    state["__rtvi__"] = rtvi
    await SetTool(shared_state=state)(call)
    assert call.results == [{"status": "success"}]


async def test_a_failing_push_is_only_logged(
    state: dict[str, Any], call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    state["__rtvi__"].error = ConnectionError("closed")
    await SetTool(shared_state=state)(call)
    assert call.results == [{"status": "success"}]
    assert "action-applied of set could not be sent" in caplog.text
    assert "closed" in caplog.text


async def test_a_push_that_hangs_is_given_up(
    state: dict[str, Any],
    call: Any,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(push, "TOOL_PUSH_DEADLINE", 0.01)

    class Stuck:
        async def send_server_message(self, data: Any) -> None:
            await asyncio.Event().wait()

    state["__rtvi__"] = Stuck()
    await SetTool(shared_state=state)(call)
    assert call.results == [{"status": "success"}]
    assert "action-applied of set: not sent within the 0.01 s of `tool push`" in caplog.text


async def test_a_record_that_is_no_json_is_logged_not_announced(
    state: dict[str, Any], call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    call.arguments["action"] = object()
    await SetTool(shared_state=state)(call)
    assert [kind for kind, _ in call.log] == ["result", "push"]  # the exit message only
    assert "its action record is not JSON" in caplog.text


async def test_a_database_that_cannot_be_fingerprinted_costs_only_the_writes(
    state: dict[str, Any], call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError

    state["db"]["rows"]["odd"] = Odd()
    await SetTool(shared_state=state)(call)
    assert call.pushed[0]["writes"] == []
    assert "cannot tell which records it changes" in caplog.text


def test_invoke_records_without_announcing(state: dict[str, Any], call: Any) -> None:
    answer = SetTool(shared_state=state).invoke(cells=[["rows", "r1", "x", 2]])
    assert answer == {"status": "success"}
    assert call.log == []
    assert len(state["actions"]) == 1


async def test_overlapping_calls_announce_their_own_record(make_call: Any, make_rtvi: Any) -> Any:
    class SlowTool(SetTool):
        async def _execute(self, *args: Any, **arguments: Any) -> Any:
            await asyncio.sleep(0)
            answer = super()._execute(*args, **arguments)
            await asyncio.sleep(0)
            return answer

    log: list[Any] = []
    state = {"db": {}, "__rtvi__": make_rtvi(log)}
    tool = SlowTool(shared_state=state)
    first, second = (make_call({"cells": [["t", key, "x", 1]]}) for key in "ab")
    await asyncio.gather(tool(first), tool(second))
    announced = [m["action"]["cells"][0][1] for _, m in log if m.get("type") == "action-applied"]
    assert sorted(announced) == ["a", "b"]


def test_an_unknown_action_type_is_recorded_with_a_warning(
    state: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    SetTool(shared_state=state).invoke(cells=[], action="sett")
    assert state["actions"] == [{"action_type": "sett", "cells": []}]
    assert "set recorded action_type 'sett'; known: set" in caplog.text


def test_the_shared_state_is_kept_by_reference_even_when_empty() -> None:
    state: dict[str, Any] = {}
    SetTool(shared_state=state)._record_action({"action_type": "set"})
    assert state == {"actions": [{"action_type": "set"}]}


def test_call_indexes_count_by_tool_from_one() -> None:
    tool = SetTool(shared_state={})
    counted = [tool._next_call_index(name) for name in ("a", "a", "b", "a")]
    assert counted == [1, 2, 1, 3]
    assert tool.shared_state["_call_counts"] == {"a": 3, "b": 1}
    assert SetTool(shared_state=tool.shared_state)._next_call_index("b") == 2


async def test_an_exit_message_without_rtvi_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    await SetTool(shared_state={})._send_exit_message()
    assert caplog.text == ""
