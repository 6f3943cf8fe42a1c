"""Every kind of `--agent-fault` ends as docs/outcomes.md says, and the text says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_voiceeval.bots.faults import FAULTS
from pytest_voiceeval.plugin import options
from pytest_voiceeval.scenario.registry import get_eval_scenario, list_eval_scenarios
from tests.integration.conftest import FIFTY, SEEDS, Run

ITEM = "eva_airline::cancellation_refund"
Results = Callable[[], list[dict[str, Any]]]

EXPECTED = {
    "wrong-field": ("failed", "exit", ["db_state_match"]),
    "missing-call": ("failed", "exit", ["db_state_match"]),
    "extra-write": ("failed", "exit", ["db_state_match"]),
    "never-exits": ("failed", "caller_hangup", ["clean_exit (caller_hangup)"]),
    "hangs": (
        "failed",
        "agent_silent",
        ["agent_silent", "db_state_match", "clean_exit (agent_silent)"],
    ),
    "crashes": (
        "failed",
        "agent_gone",
        ["agent_gone", "stalled", "db_state_match", "clean_exit (agent_gone)"],
    ),
    "do-nothing": ("failed", "exit", ["stalled", "db_state_match"]),
    "garbage": ("error", None, None),
}

SAYS = {
    "wrong-field": [
        "database differs in 1 place (refunds)",
        "failed: db_state_match; passed: clean_exit",
        "  refunds / REF-N4WZ8C-001 / refund_amount: 356 → 357",
        "last written by:",
        "  turn * process_refund(*",
    ],
    "missing-call": [
        "database differs in 3 places (*)",
        "database (expected → actual):",
        '  reservations / N4WZ8C / status: "cancelled" → "confirmed"',
        "  no call wrote journeys / FL_LQ846_20260602",
    ],
    "extra-write": [
        "database differs in 1 place (travel_credits)",
        "  travel_credits / TCN4WZ8CPAX:",
        "      absent → {amount: *",
        "last written by:",
        "  turn * issue_travel_credit(*",
    ],
    "never-exits": [
        "agent did not end the call, the caller hung up",
        "ended: caller_hangup after *",
    ],
    "hangs": [
        "agent fell silent: no sign of the agent for 5 s (turn_silence)*",
        "the caller had said: *",
        "no call wrote refunds / *",
    ],
    "crashes": [
        "agent's process exited with code 13 in turn *",
        "the agent's process exited with code 13; the last lines of its log:",
        "*simulated fault*",
    ],
    "do-nothing": [
        "stalled: only * of the agent (see --min-agent-turns)",
        "no call wrote refunds / REF-N4WZ8C-001, *",
    ],
    "garbage": [
        "protocol_failed: the agent broke the protocol*",
        "not measured: the call broke off after * agent turns, * s",
    ],
}


def test_the_tables_name_every_fault() -> None:
    assert set(EXPECTED) == set(SAYS) == set(FAULTS)
    # the plugin's entry may not import the bots to read them
    assert options.FAULTS == FAULTS


@pytest.mark.parametrize("fault", FAULTS)
def test_fault(run: Run, results: Results, fault: str) -> None:
    result = run(ITEM, "--agent-fault", fault)
    outcome, end_reason, reasons = EXPECTED[fault]
    kind = "errors" if outcome == "error" else "failed"
    result.assert_outcomes(**{kind: 1})
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [*SAYS[fault], "transcript*", "artifacts: out/*", f"rerun: *{ITEM}*"]
    )
    fits_one_screen(result.outlines)
    [line] = results()
    assert line["outcome"] == outcome
    if outcome == "failed":
        assert (line["end_reason"], line["reasons"]) == (end_reason, reasons)
    else:
        assert line["error"]["code"] == "protocol_failed"


def test_a_fault_that_makes_no_difference_skips_with_its_reason(run: Run) -> None:
    result = run("eva_airline::escalation_edge_case", "--agent-fault", "missing-call", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED * --agent-fault missing-call: *"])


def test_a_bot_that_dies_is_one_outcome_and_the_run_goes_on(run: Run, results: Results) -> None:
    run(*SEEDS[:2], "--agent-fault", "crashes").assert_outcomes(failed=2)
    assert {line["end_reason"] for line in results()} == {"agent_gone"}


def test_who_does_nothing_passes_where_nothing_may_change_and_nowhere_else(
    run: Run, results: Results
) -> None:
    """All fifty, without the limit of turns, which makes the others red as well."""
    nothing = ("--agent-fault", "do-nothing", "--min-agent-turns", "0")
    result = run("--domain", "eva_airline", *nothing)
    names = [name for name in list_eval_scenarios() if name.startswith("eva_airline__")]
    refusals = {name for name in names if get_eval_scenario(name).record["refusal"]}
    assert 0 < len(refusals) < len(names) == FIFTY
    result.assert_outcomes(passed=len(refusals), failed=FIFTY - len(refusals))
    lines = results()
    assert {line["scenario"] for line in lines if line["outcome"] == "passed"} == refusals
    wrong = [line for line in lines if line["outcome"] == "failed"]
    assert all({"db_state_match", "is_action_match"} & {*line["reasons"]} for line in wrong)
    fits_one_screen(result.outlines)


def fits_one_screen(lines: list[str]) -> None:
    """No failure is wider than 80 columns, and what went wrong takes 30 lines at most."""
    start = next(n for n, line in enumerate(lines) if line.strip("= ") in {"FAILURES", "ERRORS"})
    end = next(n for n, line in enumerate(lines) if line.startswith("voiceeval: results"))
    assert max(map(len, lines[start:end])) <= 80
    heads = [n for n, line in enumerate(lines) if line.startswith("_____")]
    tails = [n for n, line in enumerate(lines) if line.startswith("transcript")]
    assert len(heads) == len(tails) > 0
    assert all(tail - head <= 30 for head, tail in zip(heads, tails, strict=True))
