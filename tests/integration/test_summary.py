"""The end of a run: one summary, one set of files, whoever ran the calls and however it ended."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import FIFTY, SEEDS, Run

Results = Callable[[], list[dict[str, Any]]]
ITEM = "eva_airline::cancellation_refund"
SESSION_FILES = {
    "results.jsonl",
    "all_metrics.json",
    "all_latencies.csv",
    "all_summary.txt",
    "evaluation_log.txt",
    "run_args.json",
}


def session_files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file()}


def metrics_of(folder: Path) -> list[dict[str, Any]]:
    metrics: list[dict[str, Any]] = json.loads((folder / "all_metrics.json").read_text("utf-8"))
    return metrics


def summary_of(result: pytest.RunResult) -> list[str]:
    """The lines from our title to the one that names the folder."""
    lines = result.outlines
    start = next(n for n, line in enumerate(lines) if line.strip("= ") == "voiceeval")
    end = next(n for n, line in enumerate(lines) if line.startswith("voiceeval: results in"))
    return lines[start : end + 1]


@pytest.mark.parametrize(
    ("selected", "number"),
    [
        pytest.param(["--domain", "eva_airline"], FIFTY, id="the whole domain"),
        pytest.param([*SEEDS, "-n", "2"], len(SEEDS), id="two workers"),
    ],
)
def test_one_summary_of_all_calls(
    pytester: pytest.Pytester, run: Run, results: Results, selected: list[str], number: int
) -> None:
    """A fresh install is green, and what it says and keeps is about every call."""
    result = run(*selected)
    result.assert_outcomes(passed=number)
    shown = summary_of(result)
    said = " ".join(" ".join(shown).split())
    everywhere = f"{number} of {number} (100 %)"
    assert shown[1] == f"calls:    {number} in all, {number} passed"
    assert f"db_state_match {everywhere}" in said
    assert f"clean_exit {everywhere}" in said
    assert f"domains: eva_airline {everywhere} time: " in said
    assert " slowest: " in said
    assert len(shown) <= 12
    assert max(map(len, shown)) <= 80
    assert str(result.stdout).count("voiceeval: results in out") == 1
    assert f" {number} passed in " in result.outlines[-1]

    folder = pytester.path / "out"
    assert session_files(folder) == SESSION_FILES
    lines = results()
    names = {line["scenario"] for line in lines}
    assert {m["scenario_name"] for m in metrics_of(folder)} == names
    assert len(lines) == len(names) == number
    assert len({line["run"] for line in lines}) == 1
    assert all(line["reported"] and line["signals"]["clean_exit"] for line in lines)
    assert all(line["db_hash"] == line["expected_hash"] for line in lines)
    with (folder / "all_latencies.csv").open(encoding="utf-8", newline="") as file:
        assert {row["Scenario"] for row in csv.DictReader(file)} == names
    summary = (folder / "all_summary.txt").read_text(encoding="utf-8")
    assert f"Overall Success Rate: 100.00% ({number}/{number} scenarios" in summary


def test_a_killed_worker_costs_only_the_call_it_was_in(
    pytester: pytest.Pytester, run: Run, results: Results
) -> None:
    pytester.makeconftest(
        """
        import os, signal

        def pytest_runtest_teardown(item):
            if os.environ.get("PYTEST_XDIST_WORKER") and "missed_flight" in item.name:
                os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    result = run(*SEEDS, "-n", "1", "--max-worker-restart", "0")
    assert result.ret != 0
    folder = pytester.path / "out"
    assert session_files(folder) == SESSION_FILES
    reported = {line["scenario"] for line in results() if line["reported"]}
    assert reported == {item.replace("::", "__") for item in SEEDS[:3]}
    assert {m["scenario_name"] for m in metrics_of(folder)} == reported
    for name in reported:
        assert json.loads((folder / name / "metrics.json").read_text("utf-8"))["is_successful"]
    summary_of(result)


def test_an_interrupted_run_keeps_what_was_finished(
    pytester: pytest.Pytester, run: Run, results: Results
) -> None:
    pytester.makeconftest(
        """
        def pytest_runtest_logreport(report):
            if report.when == "call" and "irrops" in report.nodeid:
                raise KeyboardInterrupt
        """
    )
    result = run(*SEEDS)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    folder = pytester.path / "out"
    assert session_files(folder) == SESSION_FILES
    done = {item.replace("::", "__") for item in SEEDS[:2]}
    passed = {line["scenario"] for line in results() if line["outcome"] == "passed"}
    assert done <= passed
    [invocation] = json.loads((folder / "run_args.json").read_text("utf-8"))["invocations"]
    assert invocation["exit_status"] == pytest.ExitCode.INTERRUPTED


def test_errors_never_make_a_bare_hundred_percent(
    pytester: pytest.Pytester, run: Run, results: Results
) -> None:
    test = f"""
        import pytest

        pytestmark = pytest.mark.voiceeval(scenario="{ITEM}")
        """
    pytester.makepyfile(
        test_good=test + "\n        def test_it(call): assert call.passed",
        test_lost=test
        + """
        @pytest.fixture(scope="session")
        def agent_bot(): return "ws://127.0.0.1:9"

        @pytest.mark.parametrize("n", range(3))
        def test_it(call, n): pass
        """,
    )
    result = run()
    result.assert_outcomes(passed=1, errors=3)
    assert summary_of(result)[1:4] == [
        "calls:    4 in all, 1 passed, 3 not scored (error)",
        "signals:  db_state_match 1 of 1 (100 %), clean_exit 1 of 1 (100 %)",
        "domains:  eva_airline 1 of 4 (25 %, 3 not scored)",
    ]
    summary = (pytester.path / "out" / "all_summary.txt").read_text(encoding="utf-8")
    assert "Overall Success Rate: 25.00% (1/4 scenarios" in summary
    assert "3 not scored: error)" in summary
    # every call has a folder of its own
    assert len({line["artifacts"] for line in results()}) == 4


def test_a_folder_may_be_used_again(pytester: pytest.Pytester, run: Run, results: Results) -> None:
    run(ITEM, "--agent-fault", "wrong-field", "-q").assert_outcomes(failed=1)
    with (pytester.path / "out" / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"half": ')
    result = run(ITEM, "-q")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["voiceeval: 1 of 1 passed; results in out"])
    result.stdout.no_fnmatch_line("*= voiceeval =*")
    folder = pytester.path / "out"
    text = (folder / "results.jsonl").read_text(encoding="utf-8")
    first, half, second = text.splitlines()
    assert half == '{"half": '
    assert [json.loads(line)["outcome"] for line in (first, second)] == ["failed", "passed"]
    assert json.loads(second)["artifacts"] == "eva_airline__cancellation_refund.2"
    # the later run of a scenario is the one that counts
    assert [m["is_successful"] for m in metrics_of(folder)] == [True]
    summary = (folder / "all_summary.txt").read_text(encoding="utf-8")
    assert "Overall Success Rate: 100.00% (1/1 scenarios" in summary
    invocations = json.loads((folder / "run_args.json").read_text("utf-8"))["invocations"]
    assert [i.get("resumed_from_invocation") for i in invocations] == [None, 0]


def test_workers_share_one_folder_also_in_a_run_that_selects_nothing(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.parametrize("n", range(2))
        @pytest.mark.voiceeval(scenario="{ITEM}")
        def test_it(call, n): assert call.passed
        """
    )
    result = pytester.runpytest_subprocess(
        "-W", "error", "-p", "no:asyncio", "-n", "2", timeout=120
    )
    result.assert_outcomes(passed=2)
    [folder] = (pytester.path / "eval_results").iterdir()
    assert session_files(folder) == SESSION_FILES
    result.stdout.fnmatch_lines([f"voiceeval: results in eval_results/{folder.name}"])
    assert len(metrics_of(folder)) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="unrelated tests"),
        pytest.param(["-n", "2"], id="unrelated tests, two workers"),
        pytest.param(["--domain", "eva_airline", "-k", "nowhere", "-n", "2"], id="all deselected"),
        pytest.param(["--domain", "eva_airline", "--collect-only"], id="collect only"),
    ],
)
def test_a_run_without_calls_says_and_writes_nothing(
    pytester: pytest.Pytester, arguments: list[str]
) -> None:
    pytester.makepyfile("def test_it(): pass")
    result = pytester.runpytest_subprocess("-W", "error", "-p", "no:asyncio", *arguments)
    result.stdout.no_fnmatch_line("*voiceeval: results*")
    result.stdout.no_fnmatch_line("*= voiceeval =*")
    assert not (pytester.path / "eval_results").exists()


def test_what_cannot_be_written_is_said(pytester: pytest.Pytester, run: Run) -> None:
    (pytester.mkdir("out") / "all_metrics.json").mkdir()
    result = run(ITEM)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["voiceeval: files of the run not written: IsADirectoryError: *"])
