"""Helpers for tests that run pytest inside pytest, as a user does."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., pytest.RunResult]

SEEDS = (
    "eva_airline::voluntary_date_change",
    "eva_airline::irrops_cancellation",
    "eva_airline::missed_flight_standby",
    "eva_airline::cancellation_refund",
    "eva_airline::escalation_edge_case",
)
"""One scenario of each main flow of the airline: enough where several calls are needed.

All fifty are called twice in the whole suite: by a good agent in `test_summary.py`, and by one that
does nothing in `test_faults.py`.
"""

FIFTY = 50
"""Scenarios of the airline."""


@pytest.fixture(scope="session", autouse=True)
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let the processes of tests keep compiled code, also where the environment forbids it.

    Without, each of some hundred runs and its bot compile the package again, for two seconds. The
    workers of this run share a folder of its own, so the checkout stays as it is.
    """
    if "PYTHONDONTWRITEBYTECODE" not in os.environ:
        yield
        return
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE")
        patch.setenv("PYTHONPYCACHEPREFIX", str(shared / "bytecode"))
        yield


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run pytest in a process of its own, warnings as errors, results in `out/`."""
    monkeypatch.setenv("COLUMNS", "80")
    # pytest writes more where it sees CI
    for variable in ("EVAL_DATA_ROOT", "VOICEEVAL_EDITION", "CI", "BUILD_NUMBER"):
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
