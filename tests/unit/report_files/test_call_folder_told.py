"""A bot is told where its call's files are, and keeps that to itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_voiceeval.bots.handlers import (
    SharedStateRef,
    TaskRef,
    create_apply_initialization_action,
    create_get_scenario_summary_action,
    create_update_system_prompt_action,
)
from pytest_voiceeval.call.limits import CallLimits
from pytest_voiceeval.call.setup import set_up_bot, side_setup
from tests.unit.report_files.samples import Shop, shop


class Line:
    """A connection that notes what is asked for."""

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}

    async def request(self, kind: str, args: Any, *, deadline: float, name: str = "") -> Any:
        self.asked[kind] = args
        return True


@pytest.mark.parametrize("call_dir", [None, "/results/call"])
async def test_the_set_up_message_names_it_only_if_it_is_to_be_told(call_dir: str | None) -> None:
    line: Any = Line()
    setup = await side_setup(shop(), "agent", call_dir=call_dir)
    await set_up_bot(line, setup, "agent", CallLimits())
    prompt = line.asked["update_system_prompt"]
    told = {} if call_dir is None else {"call_dir": call_dir}
    assert {key: prompt[key] for key in prompt if key == "call_dir"} == told
    assert {"prompt", "tools", "add_suffix", "tool_domain"} == prompt.keys() - {"call_dir"}
    assert "call_dir" not in str(line.asked["apply_initialization"])


class Aggregator:
    async def reset(self) -> None:
        pass

    def set_messages(self, messages: list[Any]) -> None:
        pass


async def prepared(state: SharedStateRef, **more: Any) -> None:
    _, prepare = create_update_system_prompt_action(
        TaskRef(),
        Aggregator(),
        Aggregator(),
        [],
        enable_tool_calling=False,
        rtvi=SimpleNamespace(),
        shared_state_ref=state,
    )
    assert await prepare(SimpleNamespace(), {"prompt": "You sell.", **more}) is True


async def test_our_handlers_keep_it_in_the_shared_state_and_out_of_every_reply() -> None:
    state = SharedStateRef()
    await prepared(state, call_dir="/results/call")
    _, initialize = create_apply_initialization_action(state)
    init = '{"db": {"a": 1}, "__call_dir__": "/elsewhere"}'
    assert (await initialize(None, {"shared_state_init": init}))["success"] is True
    assert state.state["__call_dir__"] == "/results/call"
    _, summarise = create_get_scenario_summary_action(TaskRef(), state)
    told = await summarise(None, {"include_db": True})
    without = SharedStateRef({"db": {"a": 1}})
    assert told == await create_get_scenario_summary_action(TaskRef(), without)[1](
        None, {"include_db": True}
    )


@pytest.mark.parametrize("more", [{}, {"call_dir": None}, {"call_dir": 3}])
async def test_a_bot_that_is_told_nothing_keeps_nothing(more: dict[str, Any]) -> None:
    state = SharedStateRef({"__call_dir__": "/of/the/last/call"})
    await prepared(state, **more)
    assert "__call_dir__" not in state.state


async def test_a_scenario_cannot_name_the_folder() -> None:
    class Sly(Shop):
        def setup_shared_state(self, state: dict[str, Any], side: str) -> None:
            state["call_dir"] = "/elsewhere"

    setup = await side_setup(Sly(name="x"), "agent")
    assert setup.call_dir is None
