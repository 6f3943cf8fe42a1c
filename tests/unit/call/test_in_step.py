"""Two databases kept in step during a call, and the caller's compared at its end."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest

from pytest_voiceeval import Resources, Scenario, SuccessSignal
from pytest_voiceeval.call.bot_caller import BotCaller
from pytest_voiceeval.call.caller import ScriptedCaller
from pytest_voiceeval.call.caller_state import HeldState
from pytest_voiceeval.call.errors import (
    AgentStateFailed,
    CallError,
    ScenarioInvalid,
    StateUnreadable,
    SyncFailed,
)
from pytest_voiceeval.call.result import Conversation
from pytest_voiceeval.call.score import ScoreOptions, score
from pytest_voiceeval.call.state_probe import StateProbe
from pytest_voiceeval.report.bridge_log import bridge_log
from pytest_voiceeval.report.failure_text import render
from pytest_voiceeval.scenario.checks import problems_of
from pytest_voiceeval.scenario.replay import replay
from pytest_voiceeval.scenario.sync import apply_sync_delta
from pytest_voiceeval.scenario.turns import Dialogue, DialogueTurn, ToolCall
from pytest_voiceeval.scenario.verdicts import ReplayVerdict
from pytest_voiceeval.scoring.db_hash import get_dict_hash
from pytest_voiceeval.tools import WriteScenarioTool, registry

DOMAIN = "in_step_tests"
PAID: Any = {
    "agent": {"lines": {"L1": {"roaming": True, "paid": True}}},
    "user": {"phone": {"roaming_allowed": True, "paid": True}},
}
CARRIER: Any = {"lines": {"L1": {"roaming": False, "paid": False}}}
PHONE: Any = {"phone": {"roaming_allowed": False, "paid": False}}
END = ToolCall("end_conversation")


class AllowRoamingTool(WriteScenarioTool):
    description = "Allow roaming"
    ACTION_TYPES = ("allow_roaming",)

    def _execute(self) -> dict[str, Any]:
        self.shared_state["db"]["lines"]["L1"]["roaming"] = True
        self._record_action({"action_type": "allow_roaming", "name": self.name, "arguments": {}})
        return {"status": "success"}


class PayBillTool(WriteScenarioTool):
    """The caller's; it can pay only what the agent has opened."""

    description = "Pay the bill"
    ACTION_TYPES = ("pay_bill",)

    def _execute(self) -> dict[str, Any]:
        if not self.shared_state["db"]["phone"]["roaming_allowed"]:
            return {"status": "error", "message": "nothing to pay for"}
        self.shared_state["db"]["phone"]["paid"] = True
        self._record_action({"action_type": "pay_bill", "name": self.name, "arguments": {}})
        return {"status": "success"}


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.list_schema_tools_for_eval()  # what it registers must outlive this test
    known = dict(registry.ALL_SCHEMA_TOOLS_FOR_EVAL)
    monkeypatch.setattr(registry, "ALL_SCHEMA_TOOLS_FOR_EVAL", known)
    for tool in (AllowRoamingTool, PayBillTool):
        registry.register_schema_tool_for_eval(domain=DOMAIN)(tool)


class Roaming(Scenario):
    """The agent allows roaming, then the caller pays with a tool of the phone."""

    name = f"{DOMAIN}__roaming"
    domain = DOMAIN
    success_signals = (SuccessSignal.DB_STATE_MATCH, SuccessSignal.CLEAN_EXIT)
    agent_resources = Resources(tools={"AllowRoamingTool": {}, "EndConversationTool": {}})
    user_resources = Resources(tools={"PayBillTool": {}})
    expected_scenario_db = PAID["agent"]
    expected_user_db = PAID["user"]
    reference_dialogue: Dialogue = (
        DialogueTurn("agent", "Hello."),
        DialogueTurn("user", "Allow roaming, please."),
        DialogueTurn("agent", "Done, please pay.", (ToolCall("allow_roaming"),)),
        DialogueTurn("user", "I have paid.", (ToolCall("pay_bill"),)),
        DialogueTurn("agent", "Thank you, goodbye.", (END,)),
    )

    def get_agent_prompt(self) -> str:
        return "You are the carrier."

    def get_user_prompt(self) -> str:
        return "You have a phone."

    def setup_shared_state(self, state: dict[str, Any], side: str) -> None:
        state["db"] = copy.deepcopy(CARRIER if side == "agent" else PHONE)

    def sync_state(self, agent_db: dict[str, Any], user_db: dict[str, Any]) -> dict[str, Any]:
        line, phone = agent_db["lines"]["L1"], user_db["phone"]
        deltas: dict[str, Any] = {"agent": {}, "user": {}}
        if line["roaming"] != phone["roaming_allowed"]:
            deltas["user"] = {"phone.roaming_allowed": line["roaming"]}
        if phone["paid"] != line["paid"]:
            deltas["agent"] = {"lines.L1.paid": phone["paid"]}
        return deltas


def bot_of(kit: Any, database: Any, *replies: Any, **answers: Any) -> Any:
    """A bot with a database, which takes in deltas."""

    def summary(arguments: Any) -> Any:
        told = {"actions": [], "db_hash": get_dict_hash(database)}
        return told | ({"db": copy.deepcopy(database)} if arguments["include_db"] else {})

    def take_in(arguments: Any) -> Any:
        apply_sync_delta(arguments["domain"], arguments["delta"], database)
        return {"success": True, "errors": []}

    known = {"get_scenario_summary": summary, "apply_sync_delta": take_in}
    return kit.Bot(*replies, **{**known, **answers})


def carrier(kit: Any, **answers: Any) -> tuple[Any, Any]:
    database = copy.deepcopy(CARRIER)

    async def allow(bot: Any, heard: str) -> None:
        database["lines"]["L1"]["roaming"] = True
        await bot.speak("Done, please pay.")

    replies = (kit.saying("Hello."), allow, kit.leaving())
    return bot_of(kit, database, *replies, **answers), database


def in_process(scenario: Scenario) -> ScriptedCaller:
    return ScriptedCaller(scenario.reference_dialogue or (), HeldState(scenario))


async def held(kit: Any, scenario: Scenario, caller: Any = None, **answers: Any) -> Conversation:
    bot, _ = carrier(kit, **answers)
    async with kit.serving(bot):
        conversation: Conversation = await kit.hold(
            bot, caller or in_process(scenario), scenario=scenario
        )
    return conversation


async def test_each_side_sees_what_the_other_did(kit: Any) -> None:
    scenario = Roaming()
    conversation = await held(kit, scenario)
    assert conversation.agent.db_hash == get_dict_hash(scenario.expected_scenario_db)
    assert conversation.user is not None
    assert conversation.user.db == scenario.expected_user_db
    [payment] = [call for call in conversation.tool_calls if call.side == "user"]
    assert (payment.name, payment.turn) == ("pay_bill", 2)
    assert payment.result == {"status": "success"}
    assert payment.record == {"action_type": "pay_bill", "name": "pay_bill", "arguments": {}}
    result = score(scenario, conversation, ScoreOptions())
    assert result.passed
    assert {"side": "user", **payment.record} in result.actions
    log = bridge_log(conversation)
    assert '[SYNC] user: {"phone.roaming_allowed": true}' in log
    assert '[SYNC] agent: {"lines.L1.paid": true}' in log


async def test_a_caller_s_bot_is_asked_and_told_over_the_wire(kit: Any) -> None:
    scenario = Roaming()
    phone = copy.deepcopy(PHONE)

    async def pay(bot: Any, heard: str) -> None:
        phone["phone"]["paid"] = phone["phone"]["roaming_allowed"]
        await bot.speak("I have paid.")

    user = bot_of(kit, phone, kit.saying("Allow roaming, please."), pay)
    async with kit.serving(user):
        caller = BotCaller(user.url, scenario, kit.limits)
        conversation = await held(kit, scenario, caller)
    assert score(scenario, conversation, ScoreOptions()).passed
    assert user.requests().count("apply_sync_delta") == 1
    assert user.arguments("apply_sync_delta") == {
        "domain": DOMAIN,
        "delta": {"phone.roaming_allowed": True},
    }


async def test_a_call_without_sync_state_asks_and_tells_nothing(kit: Any) -> None:
    bot, _ = carrier(kit)
    async with kit.serving(bot):
        await kit.hold(bot, kit.Lines("a", "b"))
    assert "apply_sync_delta" not in bot.requests()
    assert bot.requests().count("get_scenario_summary") == 1


async def test_a_caller_s_database_that_differs_is_a_failure_that_names_the_field(
    kit: Any,
) -> None:
    class Unpaid(Roaming):
        reference_dialogue = (
            *Roaming.reference_dialogue[:3],
            DialogueTurn("user", "I will pay later."),
            Roaming.reference_dialogue[4],
        )
        expected_scenario_db = None

    scenario = Unpaid()
    conversation = await held(kit, scenario)
    result = score(scenario, conversation, ScoreOptions())
    assert result.passed is False
    assert result.signals[SuccessSignal.DB_STATE_MATCH] is False
    text = render(result, nodeid="x::y", artifacts="out/x")
    assert text.startswith("caller's database differs in 1 place\nfailed: db_state_match")
    assert "caller's database (expected → actual):\n  phone / paid: true → false" in text


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"apply_sync_delta": LookupError("unknown")}, "agent does not take 'apply_sync_delta': "),
        (
            {"apply_sync_delta": {"success": False, "errors": ["no line L1"]}},
            r"the agent could not take in \['lines.L1.paid'\]: no line L1; scenario",
        ),
        (
            {"get_scenario_summary": LookupError("unknown")},
            "the agent does not tell its database: ",
        ),
    ],
)
async def test_an_agent_that_takes_no_part_is_an_error(kit: Any, answers: Any, says: str) -> None:
    with pytest.raises(SyncFailed, match=says) as e:
        await held(kit, Roaming(), **answers)
    assert e.value.conversation is not None


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (LookupError("L7"), "sync_state raised LookupError: L7"),
        (None, "sync_state gave None, expected {"),
        ({"carrier": {}}, "sync_state gave {'carrier': {}}, expected {"),
        ({"user": ["x"]}, r"sync_state gave \['x'\] for the user, expected {"),
        ({"user": {"x": float("nan")}}, "sync_state gave what is not JSON: "),
    ],
)
async def test_a_sync_state_that_fails_is_the_scenario_s_fault(
    kit: Any, answer: Any, says: str
) -> None:
    class Broken(Roaming):
        def sync_state(self, agent_db: dict[str, Any], user_db: dict[str, Any]) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

    with pytest.raises(ScenarioInvalid, match=f"scenario {DOMAIN}__roaming: {says}"):
        await held(kit, Broken())


async def test_what_sync_state_changes_in_its_arguments_is_changed_nowhere(kit: Any) -> None:
    class Careless(Roaming):
        def sync_state(self, agent_db: dict[str, Any], user_db: dict[str, Any]) -> dict[str, Any]:
            deltas = super().sync_state(agent_db, user_db)
            user_db["phone"].clear()
            return deltas

    scenario = Careless()
    conversation = await held(kit, scenario)
    assert score(scenario, conversation, ScoreOptions()).passed


async def test_where_a_side_has_no_state_that_could_be_told(kit: Any) -> None:
    scenario = Roaming()
    probe = StateProbe(scenario, "s", lambda *_: CARRIER)
    cases: list[tuple[type[CallError], str, dict[str, Any]]] = [
        (AgentStateFailed, "agent_state reads the agent's state, but scenario", {"state": probe}),
        (SyncFailed, "has a sync_state, but its caller has no state", {"caller": kit.Lines("a")}),
    ]
    bot, _ = carrier(kit)
    async with kit.serving(bot):
        for error, says, plan in cases:
            caller = plan.pop("caller", None) or in_process(scenario)
            with pytest.raises(error, match=says):
                await kit.hold(bot, caller, scenario=scenario, **plan)
    assert bot.connections == 0


async def test_an_agent_that_is_gone_has_failed_whatever_was_to_be_told(kit: Any) -> None:
    async def drop(bot: Any, heard: str) -> None:
        bot.drop()

    bot, _ = carrier(kit)
    bot.replies[1] = drop
    scenario = Roaming()
    async with kit.serving(bot):
        conversation = await kit.hold(bot, in_process(scenario), scenario=scenario)
    assert conversation.end_reason == "agent_gone"
    assert score(scenario, conversation, ScoreOptions()).passed is False


async def test_a_caller_s_database_that_nobody_tells_is_no_verdict(kit: Any) -> None:
    class Alone(Roaming):
        sync_state = Scenario.sync_state

    user = kit.Bot(kit.saying("Hm."), get_scenario_summary=LookupError("unknown"))
    scenario = Alone()
    async with kit.serving(user):
        caller = BotCaller(user.url, scenario, kit.limits)
        with pytest.raises(StateUnreadable, match="the caller's final database is not known: "):
            await held(kit, scenario, caller)


def test_a_replay_makes_the_caller_s_calls_and_keeps_both_in_step() -> None:
    scenario = Roaming()
    calls = [call for turn in scenario.reference_dialogue for call in turn.calls]
    gold = replay(scenario, calls)
    assert (gold.db, gold.user_db) == (scenario.expected_scenario_db, scenario.expected_user_db)
    assert [record.get("side") for record in gold.actions] == [None, "user"]
    judged = ReplayVerdict(scenario)
    assert judged.of(gold) is True
    # paid too early, and not at all
    assert replay(scenario, calls[1:]).steps[0].refused
    assert judged.of(replay(scenario, calls[:1])) is False


def test_a_call_that_the_caller_has_no_tool_for_is_found_before_the_call() -> None:
    class Misspelled(Roaming):
        reference_dialogue = tuple(
            replace(turn, calls=(ToolCall("pay_bil"),)) if turn.text == "I have paid." else turn
            for turn in Roaming.reference_dialogue
        )

    assert problems_of(Roaming()) == []
    assert problems_of(Misspelled()) == [
        "reference_dialogue, turn 4: the caller has no tool 'pay_bil', did you mean 'pay_bill'?"
    ]


def test_the_caller_s_tools_are_told_a_bot_as_ever() -> None:
    assert json.loads(Roaming().get_user_tools()) == {"PayBillTool": {}}
