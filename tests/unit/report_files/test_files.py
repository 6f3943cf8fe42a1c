"""Files are whole or absent, JSON is JSON, and names stay inside their folder."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.report.files import json_text, one_line, write_json, write_text
from pytest_voiceeval.report.folders import (
    claim_folder,
    default_run_folder,
    new_folder,
    safe_name,
)


def strict(text: str) -> Any:
    """Parse as a reader in another language would: no NaN, no Infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"a": math.nan, "b": [math.inf, -math.inf]}, {"a": None, "b": [None, None]}),
        ({"a": 1.5, "b": True, "c": None, "d": "ü"}, {"a": 1.5, "b": True, "c": None, "d": "ü"}),
        ({("a", 1): 1}, {"('a', 1)": 1}),
        ({1: "x"}, {"1": "x"}),
        ({"path": Path("x")}, {"path": "x"}),
        ([{"nested": (1, math.nan)}], [{"nested": [1, None]}]),
    ],
)
def test_json_is_valid_whatever_it_holds(value: Any, written: Any) -> None:
    assert strict(json_text(value)) == written


def test_half_characters_and_deep_nesting_are_written(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"said": "half \ud83d of a smile, whole: 😀"})
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert strict(text) == {"said": "half \ud83d of a smile, whole: 😀"}
    deep: Any = "bottom"
    for _ in range(5000):
        deep = [deep]
    write_json(tmp_path / "b.json", deep)
    assert strict((tmp_path / "b.json").read_text(encoding="utf-8"))


def test_a_failed_write_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    write_text(path, "before")
    (tmp_path / "plain").touch()
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "plain").unlink()

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_text(path, "after")
    assert path.read_text(encoding="utf-8") == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_one_line() -> None:
    assert one_line("a\nb\r\nc\u2028d\te\x00\x1b") == r"a b c d\te\x00\x1b"
    assert one_line("größer → 😀\u00a0") == "größer → 😀\u00a0"


# -- folders

HOSTILE = [
    "..\\x",
    "/abs/x",
    "C:x",
    "a/b",
    ".",
    "..",
    "",
    "x" * 300,
    "a b",
    "a_b",
    "../../etc/passwd",
    "nul\0byte",
    "\ud83d",
    ".hidden",
    "-rf",
    "ends.",
    "bot_logs",
    "results.jsonl",
    "all_metrics.json",
    "run_args.json",
    "All_Summary.txt",
]


def test_every_name_becomes_one_safe_unique_folder(tmp_path: Path) -> None:
    run = tmp_path / "run"
    folders = [new_folder(run, name) for name in HOSTILE]
    assert {folder.parent for folder in folders} == {run}
    assert len({folder.name for folder in folders}) == len(HOSTILE)
    assert all(len(folder.name) <= 100 and folder.is_dir() for folder in folders)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]
    ours = {
        "bot_logs",
        "results.jsonl",
        "all_metrics.json",
        "run_args.json",
        "all_summary.txt",
        "evaluation_log.txt",
    }
    assert not ours & {folder.name.lower() for folder in folders}


def test_harmless_names_are_kept() -> None:
    assert safe_name("eva_airline__1_1_3") == "eva_airline__1_1_3"
    assert safe_name("tau2__v1.2-b") == "tau2__v1.2-b"


def test_a_second_call_has_a_folder_of_its_own(tmp_path: Path) -> None:
    names = [new_folder(tmp_path, name).name for name in ("a", "a", "a.2", "a")]
    assert names == ["a", "a.2", "a.2.2", "a.3"]


def test_the_name_of_a_run_and_who_gets_it(tmp_path: Path) -> None:
    folder = default_run_folder(tmp_path, datetime(2026, 3, 1, 9, 5, 7, tzinfo=UTC))
    assert folder == tmp_path / "eval_results" / "eval_20260301_090507"
    other = folder.with_name("eval_20260301_090507_77")
    assert claim_folder(folder, other) == folder
    assert claim_folder(folder, other) == other
    assert folder.is_dir()
    assert other.is_dir()
