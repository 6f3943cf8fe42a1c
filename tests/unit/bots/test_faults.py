from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.bots.fault_writes import Bench, Place, calls_of, with_extra_call, without_call
from pytest_voiceeval.bots.faults import (
    FAULTS,
    GREETING,
    FaultPlan,
    NotApplicable,
    UnknownFaultError,
    plan_fault,
)
from pytest_voiceeval.scenario.dialogue import Dialogue, DialogueTurn, ToolCall, check_dialogue
from pytest_voiceeval.scenario.model import Resources, Scenario
from pytest_voiceeval.scenario.replay import replay
from pytest_voiceeval.scoring.signals import SuccessSignal
from pytest_voiceeval.tools import (
    StandardSchemaTool,
    ToolError,
    WriteScenarioTool,
    register_schema_tool_for_eval,
)
from pytest_voiceeval.tools import registry as tool_registry

DOMAIN = "faults_test"
STATE = (SuccessSignal.DB_STATE_MATCH, SuccessSignal.CLEAN_EXIT)
ACTIONS = (SuccessSignal.ACTION_MATCH, SuccessSignal.CLEAN_EXIT)


class LookUpTool(StandardSchemaTool):
    description = "Look an order up."

    def __init__(self, shared_state: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.shared_state = shared_state or {}

    def _execute(self, order_id: str) -> dict[str, Any]:
        return dict(self.shared_state["db"]["orders"][order_id])


class SetAmountTool(WriteScenarioTool):
    description = "Set the amount of an order."
    ACTION_TYPES = ("set_amount",)

    @property
    def properties(self) -> dict[str, Any]:
        size = {"type": "string", "enum": ["small", "large", "huge"]}
        return {"order_id": {"type": "string"}, "amount": {"type": "integer"}, "size": size}

    @property
    def required_properties(self) -> list[str]:
        return ["order_id", "amount", "size", "reason_nobody_can_guess"]

    def _execute(self, order_id: str, amount: int, size: str) -> dict[str, Any]:
        order = self.shared_state["db"]["orders"].get(order_id)
        if order is None or amount > 5 or order.get("closed"):
            raise ToolError("refused", "not possible")
        order["amount"] = amount
        order["size"] = "small" if size == "large" else size
        self._record_action({"action_type": "set_amount", "order_id": order_id, "amount": amount})
        return {"status": "success"}


class CloseOrderTool(WriteScenarioTool):
    description = "Close an order."
    ACTION_TYPES = ("close_order",)
    required_properties = ("order_id",)

    def _execute(self, order_id: str) -> dict[str, Any]:
        self.shared_state["db"]["orders"][order_id]["closed"] = True
        self._record_action({"action_type": "close_order", "order_id": order_id})
        return {"status": "success"}


DB = {"orders": {"ORD1": {"amount": 1, "size": "small"}, "ORD2": {"amount": 1, "size": "small"}}}
LOOK_UP = ToolCall("look_up", {"order_id": "ORD1"})
SET = ToolCall("set_amount", {"order_id": "ORD1", "amount": 5, "size": "small"})
CLOSE = ToolCall("close_order", {"order_id": "ORD1"})
END = ToolCall("end_conversation", {})


def dialogue_of(*calls: ToolCall, ending: tuple[ToolCall, ...] = (END,)) -> Dialogue:
    return (
        DialogueTurn("agent", "Hello."),
        DialogueTurn("user", "Please do it."),
        DialogueTurn("agent", "Done.", calls),
        DialogueTurn("user", "Thank you."),
        DialogueTurn("agent", "Goodbye.", ending),
    )


class OrderScenario(Scenario):
    domain = DOMAIN
    agent_resources = Resources(
        tools={
            "LookUpTool": {},
            "SetAmountTool": {},
            "CloseOrderTool": {},
            "EndConversationTool": {},
        }
    )

    def setup_shared_state(self, state: dict[str, Any], side: str) -> None:
        if side == "agent":
            state["db"] = copy.deepcopy(DB)


@pytest.fixture(autouse=True)
def tools() -> Iterator[None]:
    for tool in (LookUpTool, SetAmountTool, CloseOrderTool):
        register_schema_tool_for_eval(DOMAIN)(tool)
    yield
    tool_registry.ALL_SCHEMA_TOOLS_FOR_EVAL.pop(DOMAIN)


def make(
    dialogue: Dialogue | None,
    *,
    signals: tuple[SuccessSignal, ...] = STATE,
    forbidden: tuple[ToolCall, ...] = (),
    **kwargs: Any,
) -> Scenario:
    """A scenario whose gold state and actions are where its dialogue leads."""
    scenario = OrderScenario(name="faults_test__order", **kwargs)
    scenario.success_signals = signals
    scenario.reference_dialogue = dialogue
    scenario.forbidden_calls = forbidden
    gold = replay(scenario, calls_of(dialogue or ()))
    scenario.expected_scenario_db = gold.db
    scenario.reference_answer = {"actions": gold.actions}
    return scenario


def planned(scenario: Scenario, fault: str) -> FaultPlan:
    plan = plan_fault(scenario, fault)
    assert isinstance(plan, FaultPlan), plan
    assert plan.fault == fault
    check_dialogue(plan.dialogue, "planned")
    return plan


def refused(scenario: Scenario, fault: str) -> str:
    plan = plan_fault(scenario, fault)
    assert isinstance(plan, NotApplicable), plan
    return plan.reason


def test_the_names_of_all_faults() -> None:
    assert (
        *("wrong-field", "missing-call", "extra-write", "never-exits"),
        *("hangs", "crashes", "do-nothing", "garbage"),
    ) == FAULTS


def test_an_unknown_fault_is_refused_with_the_closest_name() -> None:
    with pytest.raises(UnknownFaultError) as caught:
        plan_fault(make(dialogue_of(SET)), "wrong-fields")
    text = (
        "there is no agent fault 'wrong-fields'; did you mean 'wrong-field'? Faults: wrong-field, "
    )
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_scenario_without_a_dialogue_cannot_be_played_wrongly(fault: str) -> None:
    assert "has no reference dialogue to play wrongly" in refused(make(None), fault)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_same_scenario_always_gets_the_same_plan(fault: str) -> None:
    assert plan_fault(make(dialogue_of(SET)), fault) == plan_fault(make(dialogue_of(SET)), fault)


def test_a_dialogue_may_be_given_instead_of_the_scenarios_own() -> None:
    scenario = make(dialogue_of(SET))
    scenario.reference_dialogue = None
    plan = plan_fault(scenario, "missing-call", dialogue_of(LOOK_UP, SET))
    assert isinstance(plan, FaultPlan)
    assert calls_of(plan.dialogue) == [LOOK_UP, END]


def test_wrong_field_changes_one_argument_of_a_write() -> None:
    plan = planned(make(dialogue_of(LOOK_UP, SET)), "wrong-field")
    wrong = ToolCall("set_amount", {**SET.arguments, "order_id": "ORD2"})
    assert calls_of(plan.dialogue) == [LOOK_UP, wrong, END]
    assert plan.note == 'set_amount: order_id "ORD1" -> "ORD2"'


def test_wrong_field_takes_no_value_that_is_refused_or_makes_no_difference() -> None:
    """Orders other than ORD1 and amounts above 5 are refused; 'large' is stored as 'small'."""
    only = ToolCall("set_amount", {"order_id": "ORD1", "amount": 5, "size": "small"})
    scenario = make(dialogue_of(only))
    scenario.setup_shared_state = lambda state, side: state.update(
        db={"orders": {"ORD1": {"amount": 1, "size": "small"}}}
    )
    scenario.expected_scenario_db = replay(scenario, [only]).db
    assert planned(scenario, "wrong-field").note == "set_amount: amount 5 -> 4"


def test_wrong_field_prefers_what_leaves_the_other_calls_alone() -> None:
    """Closing ORD1 instead of ORD2 would get the second write refused."""
    first = ToolCall("close_order", {"order_id": "ORD2"})
    scenario = make(dialogue_of(first, SET))
    plan = planned(scenario, "wrong-field")
    steps = replay(scenario, calls_of(plan.dialogue)).steps
    assert not any(step.refused for step in steps)


def test_wrong_field_in_a_scenario_that_is_judged_by_its_actions() -> None:
    scenario = make(dialogue_of(SET), signals=ACTIONS)
    scenario.expected_scenario_db = None
    plan = planned(scenario, "wrong-field")
    assert replay(scenario, calls_of(plan.dialogue)).actions != scenario.reference_answer["actions"]


def test_missing_call_leaves_one_write_out() -> None:
    plan = planned(make(dialogue_of(LOOK_UP, SET, CLOSE)), "missing-call")
    assert calls_of(plan.dialogue) == [LOOK_UP, CLOSE, END]
    shown = '{"order_id": "ORD1", "amount": 5, "size": "small"}'
    assert plan.note == f"set_amount is not called: {shown}"


def test_missing_call_passes_over_writes_that_make_no_difference() -> None:
    twice = dialogue_of(CLOSE, CLOSE, SET)
    scenario = make(twice)
    assert isinstance(plan_fault(scenario, "missing-call"), NotApplicable)


def test_a_turn_that_loses_its_only_call_still_says_something() -> None:
    silent = (*dialogue_of()[:2], DialogueTurn("agent", "", (SET,)), *dialogue_of()[3:])
    assert planned(make(silent), "missing-call").dialogue[2].text == "One moment, please."


def test_extra_write_makes_a_forbidden_call() -> None:
    forbidden = (ToolCall("set_amount", {"order_id": "none"}), CLOSE)
    plan = planned(make(dialogue_of(SET), forbidden=forbidden), "extra-write")
    assert calls_of(plan.dialogue) == [SET, CLOSE, END]
    assert plan.note == 'close_order is called as well: {"order_id": "ORD1"}'


def test_extra_write_varies_a_write_if_none_is_forbidden() -> None:
    plan = planned(make(dialogue_of(SET)), "extra-write")
    extra = ToolCall("set_amount", {**SET.arguments, "order_id": "ORD2"})
    assert calls_of(plan.dialogue) == [SET, extra, END]


def test_extra_write_invents_one_where_the_agent_writes_nothing() -> None:
    plan = planned(make(dialogue_of(LOOK_UP)), "extra-write")
    extra = ToolCall("close_order", {"order_id": "ORD1"})
    assert calls_of(plan.dialogue) == [LOOK_UP, extra, END]


def test_extra_write_that_nobody_forbids_is_not_applicable() -> None:
    """Actions beyond the reference count only where the scenario says so."""
    assert "no write that could be added" in refused(
        make(dialogue_of(SET), signals=ACTIONS), "extra-write"
    )
    strict = make(dialogue_of(SET), signals=ACTIONS, disallow_extra_items=True)
    assert planned(strict, "extra-write")


@pytest.mark.parametrize("fault", ["wrong-field", "missing-call"])
@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        (lambda: make(dialogue_of(LOOK_UP)), "write"),
        (
            lambda: make(dialogue_of(SET), signals=(SuccessSignal.CLEAN_EXIT,)),
            "none of its signals looks at what the tools wrote",
        ),
    ],
    ids=["reads only", "judged by something else"],
)
def test_faults_of_writes_that_would_not_show(fault: str, scenario: Any, reason: str) -> None:
    text = refused(scenario(), fault)
    assert text.startswith("faults_test__order: ")
    assert reason in text


def test_an_extra_write_that_would_not_show() -> None:
    unseen = make(dialogue_of(SET), signals=(SuccessSignal.CLEAN_EXIT,))
    assert "none of its signals looks at what the tools wrote" in refused(unseen, "extra-write")


def test_a_reference_that_does_not_pass_is_said_so() -> None:
    scenario = make(dialogue_of(SET))
    scenario.expected_scenario_db = {"orders": {}}
    assert "its reference dialogue does not pass to begin with" in refused(scenario, "wrong-field")


def test_never_exits_leaves_only_words() -> None:
    plan = planned(make(dialogue_of(SET, ending=(LOOK_UP, END))), "never-exits")
    assert plan.dialogue[-1] == DialogueTurn("agent", "Goodbye.", (LOOK_UP,))
    assert plan.note == "end_conversation is not called"


def test_never_exits_where_it_would_not_show() -> None:
    no_exit = make(dialogue_of(SET), signals=(SuccessSignal.DB_STATE_MATCH,))
    assert "does not ask for a clean exit" in refused(no_exit, "never-exits")
    assert "never ends the call anyway" in refused(make(dialogue_of(ending=())), "never-exits")


def test_hangs_in_the_middle_of_the_call() -> None:
    plan = planned(make(dialogue_of(SET)), "hangs")
    assert (plan.hang_at_turn, plan.bot_fault) == (1, None)
    assert plan.note == "no answer from agent turn 2 on"
    assert plan.dialogue == dialogue_of(SET)


@pytest.mark.parametrize(("fault", "hang"), [("crashes", 2), ("garbage", None)])
def test_faults_of_the_bots_process(fault: str, hang: int | None) -> None:
    # a call that goes on could be over before the process is
    plan = planned(make(dialogue_of(SET)), fault)
    assert (plan.bot_fault, plan.hang_at_turn, plan.dialogue) == (fault, hang, dialogue_of(SET))


def test_do_nothing_says_hello_and_goodbye() -> None:
    plan = planned(make(dialogue_of(SET)), "do-nothing")
    assert [turn.role for turn in plan.dialogue] == ["agent", "user", "agent"]
    assert plan.dialogue[0].text == "Hello."
    assert calls_of(plan.dialogue) == [END]


def test_do_nothing_makes_up_a_caller_where_the_dialogue_has_none() -> None:
    one_turn = (DialogueTurn("agent", "", (SET, END)),)
    hello, wish, goodbye = planned(make(one_turn), "do-nothing").dialogue
    assert (hello.text, wish.text, goodbye.calls) == (GREETING, "Hello.", (END,))


def test_do_nothing_is_still_shorter_where_nothing_is_to_be_written() -> None:
    """A call of two turns would pass there; one of a single turn is stalled."""
    (turn,) = planned(make(dialogue_of(LOOK_UP)), "do-nothing").dialogue
    assert turn.text.startswith("Hello. I am sorry")
    assert turn.calls == (END,)


def test_an_extra_call_goes_before_the_end_even_in_a_call_of_one_turn() -> None:
    one = (DialogueTurn("agent", "Bye.", (LOOK_UP, END)),)
    dialogue, position = with_extra_call(one, CLOSE)
    assert calls_of(dialogue) == [LOOK_UP, CLOSE, END]
    assert position == 1
    assert calls_of(without_call(dialogue, Place(0, 1))) == [LOOK_UP, END]


def test_importing_the_names_of_the_faults_is_cheap() -> None:
    code = (
        "import sys; import pytest_voiceeval.bots.faults as f; assert f.FAULTS; "
        "print([m for m in sys.modules if m.split('.')[0] in ('pydantic', 'deepdiff', 'websockets')"
        " or m.startswith(('pytest_voiceeval.scoring', 'pytest_voiceeval.scenario.'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


NOT_APPLICABLE: dict[str, set[str]] = {
    "wrong-field": {"5.2.2", "7.2.2"},  # a reason that is not stored; no write at all
    "missing-call": {"7.2.2"},
    "extra-write": set(),
}


class TestOnTheBenchmark:
    """Every fault of what is written, for each record whose calls are known."""

    @pytest.fixture
    def scenarios(
        self, upstream_root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[list[Scenario]]:
        from pytest_voiceeval.bots.script_file import script_from_file
        from pytest_voiceeval.packs import unload_pack
        from pytest_voiceeval.scenario.registry import get_eval_scenario, scenarios_of

        monkeypatch.setenv("EVAL_DATA_ROOT", str(upstream_root / "eva"))
        unload_pack("eva_airline")  # its records are those of the data it was loaded with
        file = upstream_root / "eva_sample_calls.json"
        records = json.loads(file.read_text())["records"]
        found = [get_eval_scenario(name) for name in scenarios_of("eva_airline")]
        chosen = [scenario for scenario in found if scenario and scenario.eva_id in records]
        for scenario in chosen:
            scenario.reference_dialogue = script_from_file(file, scenario)
        yield chosen
        unload_pack("eva_airline")

    @pytest.mark.parametrize("fault", ["wrong-field", "missing-call", "extra-write"])
    def test_a_planned_fault_is_always_seen(self, scenarios: list[Scenario], fault: str) -> None:
        assert len(scenarios) == 25
        plans = {scenario.eva_id: plan_fault(scenario, fault) for scenario in scenarios}
        skipped = {key for key, plan in plans.items() if isinstance(plan, NotApplicable)}
        assert skipped == NOT_APPLICABLE[fault]
        for scenario in scenarios:
            plan = plans[scenario.eva_id]
            if isinstance(plan, FaultPlan):
                bench = Bench(scenario, plan.dialogue)
                assert bench.passes(bench.reference) is False, (scenario.name, plan.note)
