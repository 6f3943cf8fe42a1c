"""The example with tools and a database of its own, copied as a user copies it."""

from __future__ import annotations

import ast
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.conftest import Run
from tests.integration.pages import CHECKOUT, blocks

Results = Callable[[], list[dict[str, Any]]]
EXAMPLE = CHECKOUT / "examples" / "own_sqlite_agent"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example, with this Python as `python`."""
    shutil.copytree(EXAMPLE, pytester.path, dirs_exist_ok=True)
    programs = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join((programs, os.environ["PATH"])))
    monkeypatch.delenv("PRACTICE_DATABASES", raising=False)
    return pytester.path


NOTHING_CHANGES = "dentist__not_on_file"


@pytest.mark.usefixtures("project")
def test_it_is_green_with_two_workers(run: Run, results: Results) -> None:
    """The example's README, whose commands are tested too, has the plain run."""
    run("-n", "2").assert_outcomes(passed=4)
    lines = results()
    assert len({line["session"] for line in lines}) == 4
    assert {line["end_reason"] for line in lines} == {"exit"}
    assert all(line["tokens"]["agent"]["calls"] >= 5 for line in lines)
    [noted] = [line["scenario"] for line in lines if line["warnings"]]
    assert noted == NOTHING_CHANGES


RIGHT = '"UPDATE appointments SET slot_id = ? WHERE id = ?", (slot_id, appointment_id)'
WRONG = '"UPDATE appointments SET status = ? WHERE id = ?", ("moved", appointment_id)'


def test_with_a_broken_tool_it_is_red_and_says_which(
    project: Path, run: Run, results: Results
) -> None:
    tools = project / "practice.py"
    text = tools.read_text(encoding="utf-8")
    assert text.count(RIGHT) == 1
    tools.write_text(text.replace(RIGHT, WRONG), encoding="utf-8")
    result = run("dentist::moved", "dentist::cancelled")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        [
            "*_ dentist::moved _*",
            "database differs in 2 places (appointments)",
            "failed: db_state_match; passed: clean_exit",
            '  appointments / A-1 / slot_id: "thu-1530" → "tue-0900"',
            '  appointments / A-1 / status: "booked" → "moved"',
            '  turn 4: move_appointment(appointment_id="A-1", slot_id="thu-1530")',
        ]
    )
    [moved] = [line for line in results() if line["scenario"] == "dentist__moved"]
    assert moved["reasons"] == ["db_state_match"]


def test_the_agent_knows_nothing_of_us() -> None:
    for file in ("bot.py", "practice.py"):
        source = (EXAMPLE / file).read_text(encoding="utf-8")
        imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
        assert not any("pytest" in str(node.module) for node in imports)
        assert "import pytest" not in source


def test_ci_does_what_the_readme_says() -> None:
    workflow = yaml.safe_load((EXAMPLE / ".github/workflows/voice.yml").read_text("utf-8"))
    steps = workflow["jobs"]["voice"]["steps"]
    install, test = (step["run"] for step in steps if "run" in step)
    commands = [c for block in blocks(EXAMPLE / "README.md") for c in block.commands]
    assert commands[0] == install
    assert test.startswith(commands[1])
    packages = (EXAMPLE / "requirements.txt").read_text("utf-8").split()
    assert packages[0] == "pytest-voiceeval"
