"""What a call leaves on disk and in JUnit, as a user's run makes it."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Run

Results = Callable[[], list[dict[str, Any]]]
ITEM = "eva_airline::cancellation_refund"
NAME = "eva_airline__cancellation_refund"

BOT = """
import json, os, sys
from pathlib import Path

from pytest_voiceeval.bots import handlers
from pytest_voiceeval.bots.stock import main

original = handlers.create_get_scenario_summary_action


def traced(task_ref, state_ref):
    kind, answer = original(task_ref, state_ref)

    async def handler(rtvi, arguments):
        folder = state_ref.state["__call_dir__"]
        known = {"root": os.environ["VOICEEVAL_CALL_DIR"], "folder": folder, "odd": float("nan")}
        Path(folder, "trace_metrics.json").write_text(json.dumps(known))
        return await answer(rtvi, arguments)

    return kind, handler


if "--trace" in sys.argv:
    sys.argv.remove("--trace")
    handlers.create_get_scenario_summary_action = traced
sys.exit(main(sys.argv[1:]))
"""

TREE = {
    "metrics.json",
    "transcript.json",
    "conversation_log.txt",
    "conversation_log.seglst.json",
    "bridge_log.txt",
    "final_agent_response.json",
    "final_scenario_db_hash.txt",
    "bot_logs_agent/llm_context.json",
    "scenario_config/metadata.json",
    "scenario_config/user_prompt.txt",
    "scenario_config/user_tools.json",
    "scenario_config/agent_prompt.txt",
    "scenario_config/agent_tools.json",
}


def strict(path: Path) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{path} holds {constant}")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


def properties(path: Path) -> dict[str, str]:
    case = ET.parse(path).getroot().find(".//testcase")
    assert case is not None
    return {str(p.get("name")): str(p.get("value")) for p in case.iter("property")}


def test_a_call_between_two_bots_leaves_the_whole_tree(
    pytester: pytest.Pytester, run: Run, results: Results
) -> None:
    bot = f"{sys.executable} {pytester.makepyfile(bot=BOT)} --port {{port}} --llm-url {{model_url}}"
    result = run(
        ITEM,
        "--agent-cmd", f"env MY_API_KEY=s3cr3t {bot} --role agent --trace",
        "--user-cmd", f"{bot} --role user",
        "--junitxml", "junit.xml",
    )  # fmt: skip
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["voiceeval: agent: env MY_API_KEY=<redacted> *"])
    assert "s3cr3t" not in str(result.stdout)
    folder = pytester.path / "out" / NAME
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == TREE | {"bot_logs_user/llm_context.json", "trace_metrics.json"}
    metrics = strict(folder / "metrics.json")
    assert metrics["trace_metrics"] == {
        "root": str(pytester.path / "out"),
        "folder": str(folder),
        "odd": None,
    }
    assert metrics["token_usage_reported"] == {"agent": True, "user": True}
    assert len(metrics["latencies"]) == metrics["latency_stats"]["count"] > 3
    for side in ("agent", "user"):
        assert strict(folder / f"bot_logs_{side}" / "llm_context.json")[0]["role"] == "system"
        assert "trace" not in (folder / f"bot_logs_{side}" / "llm_context.json").read_text("utf-8")

    log = (folder / "bridge_log.txt").read_text(encoding="utf-8")
    for tagged in (
        "[AGENT EVENT] type=bot-llm-started",
        "[USER EVENT] type=bot-llm-started",
        "[AGENT METRICS] ttfb processor=",
        "[AGENT METRICS] tokens prompt=",
        "[USER METRICS] tokens prompt=",
        "[AGENT ACTION] {",
        "[AGENT SERVER MESSAGE] <exit>",
        "[LATENCY] Response latency: ",
        "[SCENARIO SUMMARY] agent: ",
    ):
        assert tagged in log, tagged
    assert "unknown message type" not in log

    known = properties(pytester.path / "junit.xml")
    assert known["voiceeval.is_successful"] == "True"
    assert known["voiceeval.artifacts"] == NAME
    assert float(known["voiceeval.latency_p95_ms"]) > 0
    assert int(known["voiceeval.user_model_calls"]) > 3

    # the folder is known to the bots and shows in nothing that is compared
    [line] = results()
    assert line["db_hash"] == line["expected_hash"]
    [invocation] = strict(pytester.path / "out" / "run_args.json")["invocations"]
    assert "s3cr3t" not in json.dumps(invocation)
    assert "MY_API_KEY=<redacted>" in invocation["parsed_args"]["agent_cmd"]
    assert invocation["resolved_scenario_names"] == [NAME]


def test_a_call_without_a_verdict_leaves_what_was_measured(
    pytester: pytest.Pytester, run: Run
) -> None:
    result = run(ITEM, "--agent-fault", "garbage", "--junitxml", "junit.xml")
    result.assert_outcomes(errors=1)
    folder = pytester.path / "out" / NAME
    metrics = strict(folder / "metrics.json")
    assert metrics["error"]["code"] == "protocol_failed"
    assert metrics["is_successful"] is metrics["stop_reason"] is None
    assert (folder / "scenario_config" / "metadata.json").is_file()
    assert "ERROR    | " in (folder / "bridge_log.txt").read_text(encoding="utf-8")
    assert (folder / "conversation_log.txt").is_file()
    assert not list(folder.glob(".*"))
    known = properties(pytester.path / "junit.xml")
    assert known["voiceeval.error"] == "protocol_failed"
    assert "voiceeval.is_successful" not in known
    assert [m["is_successful"] for m in strict(pytester.path / "out" / "all_metrics.json")] == [
        None
    ]
