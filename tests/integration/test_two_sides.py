"""A domain in which the caller has a database and tools, too, with the stock bots."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_voiceeval.packs import unload_pack
from tests.integration.conftest import Run

PACK = """
import copy

from pytest_voiceeval import (
    Actions, DialogueTurn, Persona, Resources, Scenario, SuccessSignal, Task, ToolCall,
    register_eval_scenario,
)
from pytest_voiceeval.tools import WriteScenarioTool, register_schema_tool_for_eval

CARRIER = {"lines": {"L1": {"roaming": False, "paid": False}}}
PHONE = {"phone": {"roaming_allowed": False, "paid": False}}


@register_schema_tool_for_eval(domain="carrier")
class AllowRoamingTool(WriteScenarioTool):
    description = "Allow roaming"
    ACTION_TYPES = ("allow_roaming",)

    def _execute(self):
        self.shared_state["db"]["lines"]["L1"]["roaming"] = True
        self._record_action({"action_type": "allow_roaming", "name": self.name, "arguments": {}})
        return {"status": "success"}


@register_schema_tool_for_eval(domain="carrier")
class PayBillTool(WriteScenarioTool):
    description = "Pay the bill"
    ACTION_TYPES = ("pay_bill",)

    def _execute(self):
        if not self.shared_state["db"]["phone"]["roaming_allowed"]:
            return {"status": "error", "message": "nothing to pay for"}
        self.shared_state["db"]["phone"]["paid"] = True
        self._record_action({"action_type": "pay_bill", "name": self.name, "arguments": {}})
        return {"status": "success"}


@register_eval_scenario
class Roaming(Scenario):
    name = "carrier__roaming"
    domain = "carrier"
    success_signals = (SuccessSignal.DB_STATE_MATCH, SuccessSignal.CLEAN_EXIT)
    agent_persona = user_persona = Persona(role="somebody")
    agent_task = user_task = Task(goal="to talk")
    agent_actions = user_actions = Actions()
    agent_resources = Resources(tools={"AllowRoamingTool": {}, "EndConversationTool": {}})
    user_resources = Resources(tools={"PayBillTool": {}})
    expected_scenario_db = {"lines": {"L1": {"roaming": True, "paid": True}}}
    expected_user_db = {"phone": {"roaming_allowed": True, "paid": True}}
    reference_dialogue = (
        DialogueTurn("agent", "Hello."),
        DialogueTurn("user", "Allow roaming, please."),
        DialogueTurn("agent", "Done, please pay.", (ToolCall("allow_roaming"),)),
        DialogueTurn("user", "I have paid.", (ToolCall("pay_bill"),)),
        DialogueTurn("agent", "Thank you, goodbye.", (ToolCall("end_conversation"),)),
    )

    def setup_shared_state(self, state, side):
        state["db"] = copy.deepcopy(CARRIER if side == "agent" else PHONE)

    def sync_state(self, agent_db, user_db):
        line, phone = agent_db["lines"]["L1"], user_db["phone"]
        allowed = {"phone.roaming_allowed": line["roaming"]}
        return {
            "agent": {"lines.L1.paid": True} if phone["paid"] and not line["paid"] else {},
            "user": allowed if line["roaming"] != phone["roaming_allowed"] else {},
        }


@register_eval_scenario
class Generous(Roaming):
    name = "carrier__generous"
    expected_user_db = {"phone": {"roaming_allowed": True, "paid": False}}
"""

Results = Callable[[], list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def pack(pytester: pytest.Pytester) -> None:
    unload_pack("carrier")
    folder = pytester.path / "scenarios" / "carrier"
    folder.mkdir(parents=True)
    (folder / "pack.toml").write_text('description = "A carrier"\n', encoding="utf-8")
    (folder / "__init__.py").write_text(PACK, encoding="utf-8")


def test_both_databases_are_kept_in_step_and_compared(
    pytester: pytest.Pytester, run: Run, results: Results
) -> None:
    result = run("--domain", "carrier")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "caller's database differs in 1 place",
            "caller's database (expected → actual):",
            "  phone / paid: false → true",
            "*agent  Done, please pay.",
        ]
    )
    lines = {line["nodeid"]: line for line in results()}
    assert lines["carrier::roaming"]["user_db_changes"] == 0
    assert lines["carrier::generous"]["user_db_changes"] == 1
    folder = pytester.path / "out" / "carrier__roaming"
    hashes = (folder / "final_scenario_db_hash.txt").read_text(encoding="utf-8")
    assert "\nuser_db_hash: " in hashes
    assert '[SYNC] agent: {"lines.L1.paid": true}' in (folder / "bridge_log.txt").read_text("utf-8")
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["user_db_state_match"] is True
    other = pytester.path / "out" / "carrier__generous"
    assert json.loads((other / "final_user_db.json").read_text(encoding="utf-8")) == {
        "phone": {"roaming_allowed": True, "paid": True}
    }
    assert (other / "user_db_diff.json").is_file()
