"""What a run cost, and the limit that stops it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.conftest import Run
from tests.integration.endpoints import ITEM, Serve, hold, players, serve
from tests.unit.call_llm.provider import Say, error

__all__ = ["hold", "players", "serve"]

Results = Callable[[], list[dict[str, Any]]]
TESTS = """
import pytest

@pytest.mark.voiceeval(scenario="eva_airline::cancellation_refund")
@pytest.mark.parametrize("number", range(4))
def test_call(call, number):
    assert call.passed
"""
PRICES = """
date = 2026-11-30
[[model]]
names = ["scripted"]
input = 1
output = 2
"""


def test_no_call_is_started_beyond_the_limit(
    pytester: pytest.Pytester,
    run: Run,
    results: Results,
    players: dict[str, str],
) -> None:
    """A call costs 11 cents, so two workers may make two of four for 30."""
    pytester.makepyfile(TESTS)
    pytester.makefile(".toml", prices=PRICES)
    model = ["--agent-model", "scripted", "--agent-llm-url", players["agent"]]
    limit = ["--price-table", "prices.toml", "--max-cost", "0.3"]
    result = run(*model, *limit, "-n", "2")
    result.assert_outcomes(passed=2, errors=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["cost_limit: not started: the calls so far cost $0.2*"])
    result.stdout.fnmatch_lines(["cost:     $0.2* in all, prices of 2026-11-30, 2 not started*"])
    assert sum(line.get("cost", {}).get("total", 0.0) for line in results()) < 0.3
    assert not list(pytester.path.glob("out/.shared/cost-*"))


def test_the_tokens_of_a_call_that_ends_in_an_error(
    pytester: pytest.Pytester, run: Run, results: Results, serve: Serve
) -> None:
    """They were paid for, so they are in its line, its files and the sum."""
    pytester.makefile(".toml", prices=PRICES)
    provider = serve(Say("I need to cancel.", usage=(1000, 500)), error(401, "No such key"))
    caller = ["--caller-url", provider.url, "--caller-model", "scripted"]
    result = run(ITEM, *caller, "--price-table", "prices.toml")
    result.assert_outcomes(errors=1)
    [line] = results()
    assert line["error"]["code"] == "caller_failed"
    assert line["tokens"]["user"] == {"calls": 1, "prompt": 1000, "completion": 500}
    assert line["cost"] == {"agent": 0.0, "user": 0.002, "total": 0.002}
    result.stdout.fnmatch_lines(["cost:     $0.0020 in all, prices of 2026-11-30"])
    metrics = (pytester.path / "out" / line["artifacts"] / "metrics.json").read_text()
    assert '"total": 0.002' in metrics
