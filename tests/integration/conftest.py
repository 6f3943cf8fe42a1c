"""Helpers for tests that run pytest inside pytest, as a user does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run pytest in a process of its own, warnings as errors, results in `out/`."""
    monkeypatch.setenv("COLUMNS", "80")
    for variable in ("EVAL_DATA_ROOT", "CI", "BUILD_NUMBER"):  # pytest writes more where it sees CI
        monkeypatch.delenv(variable, raising=False)

    def run(*arguments: str | Path) -> pytest.RunResult:
        # hypothesis imports half of itself to summarise a run that did not use it
        plugins = ["-p", "no:asyncio", "-p", "no:hypothesispytest"]
        always = ["-W", "error", *plugins, "--voice-output", "out"]
        return pytester.runpytest_subprocess(*always, *map(str, arguments), timeout=120)

    return run


@pytest.fixture
def results(pytester: pytest.Pytester) -> Callable[[], list[dict[str, Any]]]:
    """The lines of the run's `results.jsonl`."""

    def results() -> list[dict[str, Any]]:
        text = (pytester.path / "out" / "results.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    return results
