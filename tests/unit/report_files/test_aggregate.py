"""Rates and what they are rates of; the two summaries made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.call.errors import AgentUnreachable
from pytest_voiceeval.report.aggregate import (
    Rate,
    Span,
    concurrency,
    latest,
    spans,
    totals,
    wall_time,
)
from pytest_voiceeval.report.artifacts import write_call, write_unscored
from pytest_voiceeval.report.data_used import domain_of
from pytest_voiceeval.report.files import json_text, write_json
from pytest_voiceeval.report.results_file import append, error_line, scored_line
from pytest_voiceeval.report.session_files import latencies_csv, write_session_files
from pytest_voiceeval.report.summary_text import Call, summary_text
from pytest_voiceeval.report.terminal import rate, short_summary, summary
from tests.unit.report_files.samples import line, scored, shop, talk

RULE = "strict conjunction across all applicable signals"


def at(second: float, duration: float, **more: Any) -> dict[str, Any]:
    return line(started_at=f"2026-03-01T09:00:{second:06.3f}+00:00", duration=duration, **more)


# -- counting


def test_errors_are_counted_and_never_make_a_rate_perfect() -> None:
    found = totals([line(), *(line("error") for _ in range(9))])
    assert found.success == Rate(passed=1, total=10, unscored=9)
    assert found.success.percent == 10.0
    assert found.signals["db_state_match"] == Rate(1, 1)
    assert rate(found.success) == "1 of 10 (10 %, 9 not scored)"


def test_stalled_calls_count_as_failures_and_in_no_signal() -> None:
    found = totals([line("failed", stalled=True, signals={"clean_exit": True})])
    assert (found.success, found.stalled, dict(found.signals)) == (Rate(0, 1), 1, {})


def test_what_nothing_applied_to_counts_in_no_rate_of_success() -> None:
    found = totals([line(), line("skipped", signals={"clean_exit": True})])
    assert found.success == Rate(1, 1)
    assert found.calls == 2
    assert found.signals["clean_exit"] == Rate(2, 2)


def test_calls_that_were_never_reported_count_nowhere() -> None:
    found = totals([line(), line("failed", reported=False)])
    assert (found.calls, found.success, found.unreported) == (1, Rate(1, 1), 1)


def test_rates_by_domain() -> None:
    calls = [line(domain="a"), line("failed", domain="a"), line(domain="b"), line(domain="b")]
    domains = totals(calls).domains
    assert {name: r.percent for name, r in domains.items()} == {"a": 50.0, "b": 100.0}
    assert domain_of({"scenario": "tau2_airline__sub__id"}) == "tau2_airline"
    assert domain_of({"scenario": "fastbite"}) == "fastbite"


def test_a_call_repeated_by_a_later_run_counts_once_and_reruns_each() -> None:
    calls = [
        line("failed", run="20260301T1", nodeid="a"),
        line("error", run="20260301T1", nodeid="b"),
        line(run="20260302T1", nodeid="a", n=1),
        line("failed", run="20260302T1", nodeid="a", n=2),
    ]
    kept = [(c["nodeid"], c["outcome"]) for c in latest(calls)]
    assert kept == [("b", "error"), ("a", "passed"), ("a", "failed")]


@pytest.mark.parametrize(
    ("calls", "most", "seconds"),
    [
        ([], 0, 0.0),
        ([(0, 1), (1, 2), (5, 6)], 1, 6.0),
        ([(0, 3), (1, 2), (1.5, 4), (3, 5)], 3, 5.0),
    ],
)
def test_how_many_calls_went_on_at_once(
    calls: list[tuple[float, float]], most: int, seconds: float
) -> None:
    known = [Span(start, end) for start, end in calls]
    assert (concurrency(known), wall_time(known)) == (most, seconds)


def test_calls_that_never_began_have_no_time() -> None:
    assert spans([line("error", started_at=None, duration=None), {}]) == []
    [span] = spans([at(1.5, 2.0)])
    assert span.end - span.start == 2.0


# -- the terminal


def test_the_terminal_summary() -> None:
    calls = [
        at(0, 4.0, nodeid="shop::a"),
        at(1, 12.5, nodeid="shop::b"),
        at(2, 3.0, nodeid="bank::c", domain="bank", outcome="failed", stalled=True),
        line("error", nodeid="bank::d", domain="bank", started_at=None, duration=None),
        line("skipped", signals={}, started_at=None, duration=None),
    ]
    assert summary(calls, "out") == [
        "calls:    5 in all, 2 passed, 1 failed, 1 skipped, 1 not scored (error),",
        "          1 stalled",
        "signals:  db_state_match 2 of 2 (100 %), clean_exit 2 of 2 (100 %)",
        "domains:  shop 2 of 2 (100 %), bank 0 of 2 (0 %, 1 not scored)",
        "time:     13.5 s from the first kickoff to the last end, up to 3 at once",
        "slowest:  12.5 s shop::b, 4.0 s shop::a, 3.0 s bank::c",
        "voiceeval: results in out",
    ]


def test_the_summary_in_the_documentation_is_what_a_run_shows() -> None:
    good, bad = {"db_state_match": True, "clean_exit": True}, {"db_state_match": False}
    known: dict[str, Any] = {"domain": "eva_airline", "nodeid": "eva_airline::1_2_3"}
    calls = [at(n // 16 * 4.0, 5.4, signals=good, **known) for n in range(38)]
    calls += [
        at(0, seconds, signals=good, domain="eva_airline", nodeid=f"eva_airline::{name}")
        for name, seconds in (("1_1_3", 8.1), ("2_1_1", 7.7), ("4_1_2", 7.2))
    ]
    calls[0] |= {"started_at": "2026-03-01T09:00:16.000+00:00"}
    calls += [line("failed", **known, signals=good, started_at=None) for _ in range(2)]
    calls += [line("failed", **known, signals={**good, **bad}, started_at=None) for _ in range(2)]
    calls += [line("failed", **known, signals={**good, "clean_exit": False}, started_at=None)]
    calls += [line("skipped", **known, signals={}, started_at=None)]
    calls += [line("error", **known, started_at=None) for _ in range(3)]
    page = Path(__file__).parents[3] / "docs" / "results.md"
    block = page.read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    title, *shown = block.splitlines()
    assert title.strip("= ") == "voiceeval"
    times = ("time:     21.4 s from the first kickoff to the last end, up to 16 at once",)
    ours = summary(calls, "eval_results/eval_20260301_101500")
    assert [text for text in shown if text not in times] == [
        text for text in ours if not text.startswith("time: ")
    ]
    assert ours[3].startswith("time:     21.4 s from the first kickoff to the last end, up to ")


def test_a_single_call_is_told_in_few_words() -> None:
    assert summary([at(0, 4.0)], "out") == [
        "calls:    1 in all, 1 passed",
        "signals:  db_state_match 1 of 1 (100 %), clean_exit 1 of 1 (100 %)",
        "domains:  shop 1 of 1 (100 %)",
        "time:     4.0 s from the first kickoff to the last end, one at a time",
        "voiceeval: results in out",
    ]


def test_a_run_in_which_no_call_began() -> None:
    calls = [line("error", started_at=None, duration=None)] * 2
    assert summary(calls, "out") == [
        "calls:    2 in all, 2 not scored (error)",
        "domains:  shop 0 of 2 (0 %, 2 not scored)",
        "voiceeval: results in out",
    ]


def test_the_summary_stays_within_its_size_whatever_ran() -> None:
    signals = dict.fromkeys(
        ["is_action_match", "db_state_match", "db_state_assertion", "nl_assertion",
         "judge_passed", "clean_exit"],
        True,
    )  # fmt: skip
    calls = [
        at(0, 100.0 + n, domain=f"a_domain_with_a_long_name_{n % 30}", signals=signals,
           nodeid=f"a_domain_with_a_long_name::{'x' * 70}_{n}")
        for n in range(1000)
    ]  # fmt: skip
    shown = summary([*calls, *([line("error")] * 500), line("failed")], "eval_results/x")
    assert len(shown) <= 11
    assert max(map(len, shown)) <= 80
    assert any("more" in text for text in shown)


@pytest.mark.parametrize(
    ("of", "shown"),
    [
        (Rate(999, 1000), "999 of 1000 (99 %)"),
        (Rate(2, 3), "2 of 3 (67 %)"),
        (Rate(0, 3), "0 of 3 (0 %)"),
        (Rate(3, 3), "3 of 3 (100 %)"),
    ],
)
def test_only_a_whole_rate_is_shown_as_whole(of: Rate, shown: str) -> None:
    assert rate(of) == shown


def test_a_quiet_run_gets_one_line() -> None:
    assert short_summary([line(), line("error")], "out") == (
        "voiceeval: 1 of 2 passed, 1 not scored; results in out"
    )


# -- the files of a folder


def fill(folder: Path) -> None:
    """Three calls: passed, failed, and one without a verdict."""
    folder.mkdir(exist_ok=True)
    wrong = talk(end_reason="timeout")
    broken = AgentUnreachable("nobody\nthere", talk(end_reason=None, transcript=(), latencies=()))
    for name, result in (("a", scored()), ("b", scored(wrong))):
        (folder / name).mkdir()
        write_call(folder / name, shop(), result)
        append(folder, "", {"nodeid": f"s::{name}", "artifacts": name, **scored_line(result)})
    (folder / "c").mkdir()
    write_unscored(folder / "c", shop(), broken.conversation, broken)
    failed = error_line("report_shop__return", "report_shop", broken)
    append(folder, "", {"nodeid": "s::c", "artifacts": "c", **failed})


def test_all_metrics_and_latencies(tmp_path: Path) -> None:
    import csv
    import json

    fill(tmp_path / "run")
    moved = (tmp_path / "run").rename(tmp_path / "moved")
    write_session_files(moved)
    metrics = json.loads((moved / "all_metrics.json").read_text(encoding="utf-8"))
    assert [m["is_successful"] for m in metrics] == [True, False, None]
    assert [m["scenario_directory"] for m in metrics] == [str(moved / n) for n in "abc"]
    text = (moved / "all_latencies.csv").read_text(encoding="utf-8")
    assert text.splitlines() == [
        "Scenario,User_Transcript,Agent_Transcript,Latency_ms",
        '"report_shop__return","I want to return order one.","Done.",500.0',
        '"report_shop__return","I want to return order one.","Done.",500.0',
    ]
    assert len(list(csv.DictReader(text.splitlines()))) == 2


def test_any_text_survives_the_csv() -> None:
    import csv
    import io

    hard = 'He said "no", then\nleft; ünïcode'
    entry = {"user_transcript": hard, "agent_transcript": "", "latency_ms": 12.345}
    text = latencies_csv([{"scenario_name": "a,b", "latencies": [entry]}, {"scenario_name": "c"}])
    assert text.splitlines()[1].startswith('"a,b","He said ""no"", then')
    [row] = csv.DictReader(io.StringIO(text))
    assert row == {
        "Scenario": "a,b",
        "User_Transcript": hard,
        "Agent_Transcript": "",
        "Latency_ms": "12.3",
    }


def test_the_summary_of_a_folder(tmp_path: Path) -> None:
    fill(tmp_path)
    write_session_files(tmp_path)
    text = (tmp_path / "all_summary.txt").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert lines[:3] == ["EVALUATION SUMMARY", "=" * 80, "Total Scenarios: 3"]
    for expected in (
        "====== report_shop__return ======:",
        "  Success: False",
        "  Task Success (excl. clean_exit): True",
        "  Failed signals: clean_exit",
        "  Success: not scored (error agent_unreachable: nobody)",
        "WARNING: 1 of 3 scenario(s) ended in an error and have no verdict. Run them again:",
        "  pytest 's::c'",
        f"Overall Success Rate: 33.33% (1/3 scenarios — {RULE}; 1 not scored: error)",
        "Task Success Rate (excl. clean_exit): 66.67% (2/3 scenarios; 1 not scored: error)",
        "Per-signal pass rates:",
        "  DB-State match: 100.00% (2/2 scenarios)",
        "  Clean exit: 50.00% (1/2 scenarios)",
        "Overall latency (n=2): mean=500.0ms, p50=500.0ms, p95=500.0ms, min=500.0ms, max=500.0ms",
        "  agent: 15 call(s), prompt=300, completion=60, total=360",
        "  Run total: 15 call(s), prompt=300, completion=60, total=360",
    ):
        assert expected in lines, expected
    assert "Per-domain rates:" not in lines


def test_the_headline_of_a_run_without_errors_is_the_reference_s() -> None:
    calls = [Call(line(outcome), {}) for outcome in ("passed", "passed", "passed", "failed")]
    calls.append(Call(line("failed", stalled=True), {}))
    text = summary_text(calls)
    assert f"\nOverall Success Rate: 60.00% (3/5 scenarios — {RULE})\n" in text
    assert "WARNING: 1 stalled scenario(s) counted as failures. Run them again:" in text
    assert "Overall latency: not measured" in text
    assert "Token Usage" not in text


def test_the_time_between_runs_into_one_folder_does_not_count() -> None:
    first = line(started_at="2026-03-01T09:00:00+00:00", duration=60.0, run="a")
    second = line(started_at="2026-03-02T09:00:00+00:00", duration=120.0, run="b", nodeid="x")
    text = summary_text([Call(first, None), Call(second, None)])
    assert "\nWall Time: 3.0mins (first kickoff to last end)\n" in text


def test_nothing_applicable_is_no_rate() -> None:
    text = summary_text([Call(line("skipped", signals={}), {"is_successful": "N/A"})])
    assert "Overall Success Rate: N/A (no scenarios had any applicable signal)" in text
    assert "Per-signal" not in text


def test_predicates_count_one_by_one_and_domains_have_tables() -> None:
    verdicts = [{"passed": True}, {"passed": True}, {"passed": False}]
    calls = [
        Call(line(), {"db_state_assertion_verdicts": verdicts, "judge_score": 0.5}),
        Call(line("failed", domain="bank"), {"is_task_successful": True, "judge_score": 1.0}),
    ]
    text = summary_text(calls)
    assert "  DB-State-Assertion pass: 66.67% (2/3 predicates)\n" in text
    assert "  Judge score mean: 0.750 (n=2)\n" in text
    assert "Per-domain rates:\n  shop: success 100.00% (1/1 scenarios)\n" in text
    assert "  bank: success 0.00% (0/1 scenarios)\n    DB-State match: 0.00% (0/1" in text


@pytest.mark.parametrize("content", ["{half", "[]", "3", '{"no": "name"}'])
def test_metrics_that_cannot_be_read_are_left_out(tmp_path: Path, content: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "metrics.json").write_text(content, encoding="utf-8")
    append(tmp_path, "", line(artifacts="a"))
    append(tmp_path, "", line(artifacts="missing", nodeid="b"))
    append(tmp_path, "", line(nodeid="c"))
    write_session_files(tmp_path)
    assert (tmp_path / "all_metrics.json").read_text(encoding="utf-8") == "[]\n"
    text = (tmp_path / "all_summary.txt").read_text(encoding="utf-8")
    assert "Total Scenarios: 3" in text
    assert "  Success: True\n  Task Success (excl. clean_exit): unknown\n" in text
    assert "Turns: unknown" in text


def test_session_files_are_valid_json_also_for_metrics_of_others(tmp_path: Path) -> None:
    write_json(tmp_path / "x", {})
    (tmp_path / "a").mkdir()
    metrics = '{"scenario_name": "s", "judge_score": NaN}'
    (tmp_path / "a" / "metrics.json").write_text(metrics, encoding="utf-8")
    append(tmp_path, "", line(artifacts="a"))
    write_session_files(tmp_path)
    assert "NaN" not in (tmp_path / "all_metrics.json").read_text(encoding="utf-8")
    assert json_text({"a": 1}) == '{"a": 1}'
