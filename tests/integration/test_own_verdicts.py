"""Code of the user's that decides a test by itself, or tries to end everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_voiceeval.plugin.outcome import NotMeasured
from pytest_voiceeval.plugin.runtime import _check_scenario
from tests.integration.conftest import Run
from tests.integration.quick import write_project

Results = Callable[[], list[dict[str, Any]]]

DECIDING = """
def pytest_voiceeval_signals(config, scenario, result):
    match scenario.short_name:
        case "skips":
            pytest.skip("not on a Monday")
        case "fails":
            pytest.fail("said yes too often")
        case "expected":
            pytest.xfail("a known fault")
        case "exits":
            raise SystemExit(3)
    return []
"""


def test_no_call_is_lost_by_what_a_hook_raises(
    pytester: pytest.Pytester, run: Run, results: Results
) -> None:
    names = ["skips", "fails", "expected", "exits", "passes"]
    write_project(pytester.path, names, conftest=DECIDING)
    result = run("--domain", "quick", "-rsx")
    result.assert_outcomes(skipped=1, failed=1, xfailed=1, errors=1, passed=1)
    result.stdout.fnmatch_lines(
        [
            "E  *RuntimeError: code that ran in a thread raised SystemExit(3)",
            "own_verdict: said yes too often",
            "ended: exit after 3 agent turns, *",
            "SKIPPED * not on a Monday",
            "XFAIL *quick::expected - a known fault",
        ]
    )
    lines = {line["nodeid"].partition("::")[2]: line for line in results()}
    assert {name: line["outcome"] for name, line in lines.items()} == {
        "skips": "skipped",
        "fails": "failed",
        "expected": "skipped",
        "exits": "error",
        "passes": "passed",
    }
    assert lines["skips"]["reasons"] == ["not on a Monday"]
    assert all(line["reported"] for line in lines.values())


@pytest.mark.parametrize("value", ["quick__one", None])
def test_an_override_of_the_scenario_must_give_one(value: Any) -> None:
    with pytest.raises(NotMeasured, match=r"fixture 'voice_scenario' gave .*; expected a Scenario"):
        _check_scenario(value)
