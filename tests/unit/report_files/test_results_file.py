"""`results.jsonl`: whole lines whoever writes, whoever dies, however many runs share a folder."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.call.errors import AgentUnreachable
from pytest_voiceeval.report.results_file import (
    append,
    error_line,
    merge,
    read,
    scored_line,
    worker_file,
)
from tests.unit.report_files.samples import scored, talk


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]


def test_a_scored_call() -> None:
    known = scored_line(scored())
    assert known["outcome"] == "passed"
    assert (known["duration"], known["elapsed"], known["agent_turns"]) == (3.25, 4.5, 2)
    assert known["signals"]["db_state_match"] is True
    assert known["signals"]["judge_passed"] is None
    assert known["tokens"] == {"agent": {"calls": 5, "prompt": 100, "completion": 20}, "user": None}
    assert known["db_changes"] == 0


def test_a_call_without_a_verdict_keeps_what_was_measured() -> None:
    error = AgentUnreachable("nobody there", talk(end_reason=None))
    known = error_line("report_shop__return", "report_shop", error)
    assert known["error"] == {
        "code": "agent_unreachable",
        "type": "AgentUnreachable",
        "message": "nobody there",
    }
    assert (known["outcome"], known["end_reason"], known["agent_turns"]) == ("error", None, 2)


def test_what_was_not_measured_is_null() -> None:
    never = talk(started_at="", duration=0.0, end_reason=None, transcript=(), agent_turns=0)
    known = error_line("s", "d", AgentUnreachable("", never))
    assert (known["started_at"], known["duration"]) == (None, None)
    assert known["error"]["message"] == "AgentUnreachable"
    without = error_line("s", "d", ValueError("x"))
    assert "duration" not in without
    assert without["error"]["code"] == "internal"


def test_half_a_line_of_a_killed_process_costs_only_itself(tmp_path: Path) -> None:
    append(tmp_path, "", {"n": 1})
    with worker_file(tmp_path, "").open("ab") as file:
        file.write(b'{"n": 2, "trunc')
    append(tmp_path, "", {"n": 3})
    assert [line["n"] for line in read(tmp_path)] == [1, 3]


def test_merging_moves_the_lines_of_all_workers_in_order(tmp_path: Path) -> None:
    append(tmp_path, "", {"n": 0, "started_at": "2026-01-01T00:00:00"})
    append(tmp_path, "gw1", {"n": 3, "started_at": "2026-01-01T00:00:03"})
    append(tmp_path, "gw0", {"n": 9, "started_at": None})
    append(tmp_path, "gw0", {"n": 1, "started_at": "2026-01-01T00:00:01"})
    before = read(tmp_path)
    merge(tmp_path)
    assert [line["n"] for line in read(tmp_path)] == [0, 1, 3, 9]
    assert read(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["results.jsonl"]
    merge(tmp_path)
    assert len(lines_of(tmp_path / "results.jsonl")) == 4


def test_a_merge_cut_short_counts_no_call_twice(tmp_path: Path) -> None:
    append(tmp_path, "gw0", {"n": 1})
    (tmp_path / "results.jsonl").write_bytes((tmp_path / "results.gw0.jsonl").read_bytes())
    assert [line["n"] for line in read(tmp_path)] == [1]


def test_lines_are_valid_json_whatever_was_said(tmp_path: Path) -> None:
    append(tmp_path, "", {"said": "\ud83d\n\u2028", "value": float("nan")})
    [known] = lines_of(tmp_path / "results.jsonl")
    assert known == {"schema_version": 1, "said": "\ud83d\n\u2028", "value": None}


def test_runs_that_share_a_folder_lose_and_mix_nothing(tmp_path: Path) -> None:
    def write(job: tuple[str, int]) -> None:
        worker, count = job
        for number in range(count):
            append(tmp_path, worker, {"n": number, "pad": "x" * 20_000})
            if number % 7 == 0:
                merge(tmp_path)

    # two runs whose workers have the same names, each merging while the other writes; the lock
    # belongs to the open file, so that threads stand for processes
    jobs = [("", 20), ("gw0", 40), ("gw0", 40), ("gw1", 40)]
    with ThreadPoolExecutor() as pool:
        list(pool.map(write, jobs))
    merge(tmp_path)
    known = lines_of(tmp_path / "results.jsonl")
    assert len(known) == sum(count for _, count in jobs)
    assert all(line["pad"] == "x" * 20_000 for line in known)


@pytest.mark.parametrize("text", ["", "\n\n", "[1]\n3\n", "{bad\n"])
def test_what_is_no_line_is_left_out(tmp_path: Path, text: str) -> None:
    (tmp_path / "results.jsonl").write_text(text, encoding="utf-8")
    assert read(tmp_path) == []
    append(tmp_path, "", {"n": 1})
    assert [line["n"] for line in read(tmp_path)] == [1]
