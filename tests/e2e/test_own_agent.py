"""The example agent, started by its command and by hand, and callers that are bots themselves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import SEEDS, Run

Results = Callable[[], list[dict[str, Any]]]
EXAMPLE = Path(__file__).parents[2] / "examples" / "own_agent" / "bot.py"
AGENT = f"{sys.executable} {EXAMPLE} --port {{port}} --llm-url {{model_url}}"
STOCK = f"{sys.executable} -m pytest_voiceeval.bots.stock --port {{port}} --llm-url {{model_url}}"


def test_the_example_passes_with_two_workers(run: Run, results: Results) -> None:
    """The example's README, whose commands are tested too, has the plain run."""
    run(*SEEDS, "--agent-cmd", AGENT, "-n", "2").assert_outcomes(passed=len(SEEDS))
    assert all(line["signals"]["db_state_match"] for line in results())


def test_one_connection_for_everything(run: Run) -> None:
    result = run("eva_airline::cancellation_refund", "--agent-cmd", AGENT, "--single-connection")
    result.assert_outcomes(passed=1)


def test_a_caller_that_is_a_bot(run: Run, results: Results) -> None:
    result = run("eva_airline::cancellation_refund", "--user-cmd", f"{STOCK} --role user")
    result.assert_outcomes(passed=1)
    [line] = results()
    assert line["tokens"]["user"]["calls"] > 3


@pytest.mark.parametrize(
    ("command", "message"),
    [
        pytest.param(
            f"{sys.executable} -c 'raise SystemExit(3)'",
            "agent_unreachable: *",
            id="ends at once",
        ),
        pytest.param(
            "no-such-program --port {port}",
            "*program 'no-such-program' is not found on PATH*",
            id="no such program",
        ),
    ],
)
def test_an_agent_that_does_not_start(run: Run, command: str, message: str) -> None:
    result = run("eva_airline::cancellation_refund", "--agent-cmd", command)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


def test_an_agent_that_dies_in_the_first_call_does_not_end_the_run(run: Run) -> None:
    command = f"{STOCK} --role agent --fault crashes"
    result = run(*SEEDS[:2], "--agent-cmd", command)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "agent's process exited with code 13 in *",
            "*; the last lines of its log:",
            "*simulated fault*",
        ]
    )
