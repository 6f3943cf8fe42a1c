"""Whole runs: green by default, with xdist, and with tests of the user's own."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.conftest import SEEDS, Run
from tests.integration.packs import write_pack

Results = Callable[[], list[dict[str, Any]]]


@pytest.mark.parametrize(
    ("items", "extra"),
    [
        pytest.param(SEEDS, ["-n", "2", "--dist", "worksteal"], id="worksteal"),
        pytest.param(SEEDS[:2], ["-p", "no:xdist"], id="no xdist"),
        pytest.param(SEEDS[:2], ["-p", "no:cacheprovider", "--strict-markers"], id="no cache"),
    ],
)
def test_a_fresh_install_is_green(
    run: Run, results: Results, items: tuple[str, ...], extra: list[str]
) -> None:
    """Alone and with two workers it is so, too: test_summary.py."""
    result = run(*items, *extra)
    result.assert_outcomes(passed=len(items))
    result.stdout.fnmatch_lines(["voiceeval: results in out"])
    # a call whose item another worker steals has run here, too
    lines = [line for line in results() if line["reported"]]
    assert sorted(line["outcome"] for line in lines) == ["passed"] * len(items)
    assert {line["nodeid"] for line in lines} == set(items)
    assert all(line["db_hash"] == line["expected_hash"] for line in lines)
    assert all(line["signals"]["clean_exit"] for line in lines)


def test_the_header_of_a_run_and_the_files_of_its_call(pytester: pytest.Pytester, run: Run) -> None:
    result = run("eva_airline::cancellation_refund", "--junitxml", "junit.xml")
    result.stdout.fnmatch_lines(
        [
            "voiceeval: eva_airline: 1 scenario, edition voiceeval (????????????)",
            "voiceeval: agent: stock bot, scripted model",
        ]
    )
    assert "= 1 passed in" in result.outlines[-1]
    folder = pytester.path / "out" / "eva_airline__cancellation_refund"
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["is_successful"] is True
    assert metrics["stop_reason"] == "[EXIT]"
    assert metrics["db_state_match"] is True
    assert metrics["is_action_match"] == "N/A"
    assert metrics["token_usage"]["agent"]["n_calls"] > 3
    assert metrics["success_breakdown"]["passed"] == ["db_state_match", "clean_exit"]
    assert metrics["total_turns"] == len(metrics["turns"]) > 10
    context = json.loads((folder / "bot_logs_agent" / "llm_context.json").read_text("utf-8"))
    assert context[0]["role"] == "system"
    assert (folder / "scenario_config" / "agent_prompt.txt").is_file()
    hashes = (folder / "final_scenario_db_hash.txt").read_text(encoding="utf-8")
    assert hashes == f"db_hash: {metrics['db_state_actual_hash']}\n"
    case = ET.parse(pytester.path / "junit.xml").getroot().find(".//testcase")
    assert case is not None
    assert (case.get("classname"), case.get("name")) == ("eva_airline", "cancellation_refund")
    properties = {p.get("name"): p.get("value") for p in case.iter("property")}
    assert properties["voiceeval.db_state_match"] == "True"
    assert properties["voiceeval.end_reason"] == "exit"


def test_tests_of_ones_own_get_the_result(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.voiceeval(scenario="eva_airline::cancellation_refund", duration=60)
        def test_refund(call):
            assert call.passed
            assert call.end_reason == "exit"
            kinds = [action["action_type"] for action in call.actions]
            assert kinds.count("process_refund") == 2

        @pytest.mark.voiceeval(scenario="eva_airline::cancellation_refund")
        def test_wrong(call):
            assert call.agent_turns == 1
        """
    )
    result = run()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*assert 9 == 1", "*- voice call -*", "ended: exit after 9 agent turns*", "transcript*"]
    )


def test_a_wrong_marker_is_an_error_in_one_line(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        """
        import pytest

        def test_no_scenario(call): pass

        @pytest.mark.voiceeval(scenario="eva_airline::nowhere")
        def test_unknown_scenario(call): pass

        @pytest.mark.voiceeval(scenario="eva_airline::cancellation_refund", durration=5)
        def test_unknown_argument(call): pass
        """
    )
    result = run()
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines(
        [
            "*asks for a call but names no scenario*",
            "no scenario named 'eva_airline__nowhere'*",
            "*does not take durration; it takes scenario, duration, min_agent_turns, strict_match*",
        ]
    )
    result.stdout.no_fnmatch_line("*site-packages*")


def test_a_root_conftest_may_bring_its_own_agent(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def agent_bot():
            return "ws://127.0.0.1:9"
        """
    )
    result = run("eva_airline::cancellation_refund")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["agent_unreachable: *ws://127.0.0.1:9*"])


def test_what_a_fixture_may_return_is_said(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def agent_bot():
            return 8765
        """
    )
    result = run("eva_airline::cancellation_refund")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["BotUrlError: agent_bot gave a int; expected a WebSocket URL, a Bot(url,*"]
    )


def test_too_few_turns_are_stalled_and_zero_switches_it_off(run: Run, results: Results) -> None:
    item = "eva_airline::escalation_edge_case"
    result = run(item, "--agent-fault", "do-nothing", "--min-agent-turns", "5")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["stalled: only * of the agent (see --min-agent-turns)"])
    [line] = results()
    assert line["stalled"] is True
    run(item, "--agent-fault", "do-nothing", "--min-agent-turns", "0").assert_outcomes(passed=1)


def test_the_time_limit_of_a_call(run: Run, results: Results) -> None:
    result = run("eva_airline::cancellation_refund", "--duration", "0.2")
    result.assert_outcomes(failed=1)
    [line] = results()
    assert line["end_reason"] == "timeout"
    result.stdout.fnmatch_lines(["time limit reached before the agent ended the call; *"])


def test_a_scenario_that_a_script_cannot_play_is_an_error_with_the_ways_out(
    pytester: pytest.Pytester, run: Run, results: Callable[[], list[dict[str, Any]]]
) -> None:
    silent = "\n\nS0.reference_dialogue = None\n"
    write_pack(pytester.path, ["apples"], extra=silent)
    result = run("--domain", "shop")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["nothing_to_say: *has no reference dialogue*", "*--agent-url*"])
    assert results()[0]["error"]["code"] == "nothing_to_say"
