"""Collecting inside this process: no bot is started, and it takes a tenth of the time."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml  # noqa: F401 - its C half keeps the classes that it was first imported with

import pytest_voiceeval
from tests.integration.conftest import Run

# pytester drops what an inner run imports; the registries of ours must outlive it
for _name in pytest_voiceeval.__all__:
    getattr(pytest_voiceeval, _name)


@pytest.fixture
def look(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `pytest --collect-only` with warnings as errors."""
    monkeypatch.setenv("COLUMNS", "80")
    # pytest writes more where it sees CI
    for variable in ("EVAL_DATA_ROOT", "VOICEEVAL_EDITION", "CI", "BUILD_NUMBER"):
        monkeypatch.delenv(variable, raising=False)

    def look(*arguments: str | Path) -> pytest.RunResult:
        plugins = ["-p", "no:asyncio", "-p", "no:hypothesispytest"]
        always = ["-W", "error", *plugins, "--collect-only"]
        return pytester.runpytest_inprocess(*always, *map(str, arguments))

    return look
