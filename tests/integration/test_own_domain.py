"""The domain that docs/own_domain.md builds, exactly as written; test_docs runs its commands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Run
from tests.integration.pages import DOCS, files

Results = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def library(pytester: pytest.Pytester) -> Path:
    """A project with the files of the page."""
    for block in files(DOCS / "own_domain.md"):
        block.write(pytester.path)
    return pytester.path


def test_the_page_shows_every_file_it_lists() -> None:
    page = (DOCS / "own_domain.md").read_text(encoding="utf-8")
    titles = {block.title for block in files(DOCS / "own_domain.md")}
    listed = {
        line.split()[0] for line in page.splitlines() if line.startswith("scenarios/library/")
    }
    assert listed == {title for title in titles if title and title.startswith("scenarios/")}


@pytest.mark.usefixtures("library")
def test_both_are_green_with_two_workers(run: Run, results: Results) -> None:
    run("--domain", "library", "-n", "2").assert_outcomes(passed=2)
    lines = {line["nodeid"]: line for line in results()}
    assert set(lines) == {"library::renewal", "library::reserved"}
    assert all(line["signals"]["db_state_match"] for line in lines.values())


@pytest.mark.usefixtures("library")
def test_a_red_one_names_the_loan_and_the_call(run: Run) -> None:
    result = run("library::reserved", "--agent-fault", "extra-write")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["database differs in 2 places*", "*L-7*", "*renew_loan(*L-7*"])


def test_its_tools_work_in_bare_python(library: Path) -> None:
    code = """
from pytest_voiceeval.tools import get_schema_tool_for_eval as get

state = {"db": {"loans": {}, "reservations": {}}}
print(get("renew_loan", domain="library", shared_state=state).invoke(loan_id="L-1")["error_type"])
"""
    environment = {**os.environ, "VOICEEVAL_PACKS": str(library / "scenarios")}
    out = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    )
    assert out.stdout == "not_found\n"
