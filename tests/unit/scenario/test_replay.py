"""Gold replay on a scenario's own tools and state."""

from __future__ import annotations

import json

import pytest

from pytest_voiceeval.data.errors import MissingData
from pytest_voiceeval.scenario.dialogue import ToolCall
from pytest_voiceeval.scenario.initialization import register_initialization_function
from pytest_voiceeval.scenario.model import Resources
from pytest_voiceeval.scenario.replay import ReplayError, initial_state, replay
from pytest_voiceeval.tools.base import StandardSchemaTool, WriteScenarioTool
from pytest_voiceeval.tools.registry import register_schema_tool_for_eval

DOMAIN = "replay_tests"


@register_schema_tool_for_eval(DOMAIN)
class SellTool(WriteScenarioTool):
    """Lowers a stock; selling nothing changes nothing."""

    description = "Sell some of an item."
    ACTION_TYPES = ("sell",)

    def _execute(self, item, count=1):
        self.shared_state["db"]["stock"][item] -= count
        self._record_action({"action_type": "sell", "item": item})
        return {"status": "success"}


@register_schema_tool_for_eval(DOMAIN)
class StockTool(StandardSchemaTool):
    """Reads; what it is constructed with is part of its answer."""

    description = "Tell the stock."

    def __init__(self, unit="pieces", shared_state=None):
        super().__init__()
        self.unit, self.state = unit, shared_state

    def _execute(self, item):
        return {"status": "success", "stock": self.state["db"]["stock"][item], "unit": self.unit}


@register_initialization_function(DOMAIN)
def restock(db, item, count):
    db["stock"][item] = count


@pytest.fixture
def store(shop):
    class Store(shop):
        name = "replay_tests__store"
        domain = DOMAIN
        db = {"stock": {"lamp": 3}}  # noqa: RUF012 - shared on purpose, a replay must copy it
        agent_resources = Resources(tools={"SellTool": {}, "StockTool": {"unit": "boxes"}})

        def setup_shared_state(self, state, side):
            if side == "agent":
                state["db"] = self.db

    return Store


def test_calls_change_a_copy_of_the_initial_state(store):
    scenario = store()
    result = replay(
        scenario,
        [
            ToolCall("sell", {"item": "lamp", "count": 2}),
            ToolCall("stock", {"item": "lamp"}),
            ToolCall("sell", {"item": "lamp", "count": 0}),
            ToolCall("sell", {"item": "sofa"}),
        ],
    )
    assert result.db == {"stock": {"lamp": 1}}
    assert scenario.db == {"stock": {"lamp": 3}}
    assert result.actions == [{"action_type": "sell", "item": "lamp"}] * 2
    assert [step.wrote for step in result.steps] == [True, False, False, False]
    assert result.steps[1].result == {"status": "success", "stock": 1, "unit": "boxes"}
    assert result.refused == (result.steps[3],)


def test_steps_that_nobody_watches_lead_to_the_same_end(store):
    calls = [ToolCall("sell", {"item": "lamp", "count": 2}), ToolCall("sell", {"item": "sofa"})]
    seen, unseen = replay(store(), calls), replay(store(), calls, watched=False)
    assert (unseen.db, unseen.actions) == (seen.db, seen.actions)
    assert [step.result for step in unseen.steps] == [step.result for step in seen.steps]
    assert [step.wrote for step in seen.steps] == [True, False]
    assert [step.wrote for step in unseen.steps] == [False, False]


def test_an_unknown_tool_is_answered_as_a_bot_would(store):
    step = replay(store(), [ToolCall("steal", {"item": "lamp"})]).steps[0]
    assert step.refused
    assert not step.wrote
    assert step.result["error_type"] == "unknown_tool"
    assert step.result["available_tools"] == ["sell", "stock"]


def test_initialization_of_the_agent_s_side_comes_first(store):
    actions = [
        {"func_name": "restock", "arguments": {"item": "lamp", "count": 9}, "side": "agent"},
        {"func_name": "not_for_the_agent", "arguments": {}, "side": "user"},
    ]
    scenario = store(initialization_actions=actions)
    assert replay(scenario, []).db == {"stock": {"lamp": 9}}


@pytest.mark.parametrize(
    ("action", "text"),
    [
        ({"func_name": "nothing", "side": "agent"}, r"replay_tests__store: .* agent failed: \[ac"),
        ({"func_name": "restock", "side": "bot"}, "action 0 has an unknown side 'bot'"),
        ({"func_name": "restock"}, "action 0 has an unknown side None"),
    ],
    ids=["fails", "unknown side", "no side"],
)
def test_a_bad_initialization_is_an_error_that_names_the_scenario(store, action, text):
    with pytest.raises(ReplayError, match=text):
        replay(store(initialization_actions=[action]), [])


class TestInitialState:
    def test_a_db_path_is_loaded_from_the_data_root(self, store, tmp_path, monkeypatch):
        class Filed(store):
            name = "replay_tests__filed"

            def setup_shared_state(self, state, side):
                state["db_path"] = "shop/db.json"

        monkeypatch.setenv("EVAL_DATA_ROOT", str(tmp_path))
        with pytest.raises(MissingData, match=r"neither db\.json nor a folder"):
            initial_state(Filed())
        (tmp_path / "shop").mkdir()
        (tmp_path / "shop" / "db.json").write_text(json.dumps({"stock": {"lamp": 1}}))
        assert initial_state(Filed()) == {"db": {"stock": {"lamp": 1}}}

    def test_a_database_given_beside_it_wins(self, store):
        class Both(store):
            name = "replay_tests__both"

            def setup_shared_state(self, state, side):
                state.update(db={"inline": {}}, db_path="nowhere")

        assert initial_state(Both()) == {"db": {"inline": {}}}

    def test_the_other_side_has_its_own(self, store):
        assert initial_state(store(), "user") == {}

    def test_it_is_what_would_arrive_over_the_wire(self, store):
        class Odd(store):
            name = "replay_tests__odd"

            def setup_shared_state(self, state, side):
                state["db"] = {"when": object()}

        with pytest.raises(ReplayError, match="shared state of the agent is not plain JSON"):
            initial_state(Odd())

    def test_no_database_is_no_error(self, shop):
        class Bare(shop):
            name = "replay_tests__bare"

        result = replay(Bare(), [ToolCall("end_conversation")])
        assert (result.db, result.actions) == (None, [])
        assert not result.steps[0].refused
