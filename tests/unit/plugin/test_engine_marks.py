"""Marks in `results.jsonl`: set in place, in the right line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.plugin.marks import mark_reported, unreported
from pytest_voiceeval.report import results_file


def write(folder: Path, session: str, **more: Any) -> None:
    results_file.append(folder, "", {"nodeid": "d::x", **unreported(session), **more})


def marks(folder: Path) -> dict[str, bool]:
    lines = (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {line["session"]: line["reported"] for line in map(json.loads, lines)}


def test_a_line_is_unreported_until_it_is_marked(tmp_path: Path) -> None:
    for session in ("a-1", "a-11", "b-1"):
        write(tmp_path, session, said='"session": "a-1", "reported": false')
    size = (tmp_path / "results.jsonl").stat().st_size
    assert marks(tmp_path) == {"a-1": False, "a-11": False, "b-1": False}
    assert mark_reported(tmp_path / "results.jsonl", "a-1")
    assert marks(tmp_path) == {"a-1": True, "a-11": False, "b-1": False}
    assert (tmp_path / "results.jsonl").stat().st_size == size


@pytest.mark.parametrize("place", [0, 1, 150, 299])
def test_lines_far_from_the_end_are_found(tmp_path: Path, place: int) -> None:
    for number in range(300):
        write(tmp_path, f"call-{number}", filling="x" * (997 + number % 7))
    assert mark_reported(tmp_path / "results.jsonl", f"call-{place}")
    assert [name for name, mark in marks(tmp_path).items() if mark] == [f"call-{place}"]


def test_a_line_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    assert not mark_reported(tmp_path / "results.jsonl", "a-1")
    write(tmp_path, "b-1")
    assert not mark_reported(tmp_path / "results.jsonl", "a-1")
    assert mark_reported(tmp_path / "results.jsonl", "b-1")
    assert not mark_reported(tmp_path / "results.jsonl", "b-1")
