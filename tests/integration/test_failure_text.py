"""The failure text where users meet it: terminal, JUnit, the summary, and a shell."""

from __future__ import annotations

import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.integration.conftest import Run

ITEM = "eva_airline::cancellation_refund"
CHECKOUT = Path(__file__).parents[2]

CONFTEST = """
import pytest
from tests.unit.report.building import call as build, changed, made, talk, world

SAID = [
    ("agent", "\\x1b[31mred\\x1b[0m \\x00 \\ud800 ]]> <b> \\u202e backwards \\ufffe"),
    ("user", "\\u822a\\u7a7a\\u5238" * 40),
]
AMOUNT = ("refunds", "REF-N4WZ8C-001", "refund_amount")


@pytest.fixture
def call(voice_scenario, agent_bot, caller_bot):
    return build(
        expected=world(),
        db=changed((AMOUNT, 357)),
        said=talk(*SAID),
        calls=[made(1, "say\\u202e", {"x": "\\ud800"}, writes=[AMOUNT[:2]])],
    )
"""
HEADLINE = "database differs in 1 place (refunds)"


@pytest.fixture
def invented(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A root conftest whose calls are invented: an agent that says what breaks terminals."""
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
    pytester.makeconftest(CONFTEST)


def between(lines: list[str], first: str, last: str) -> list[str]:
    start = lines.index(first)
    end = next(i for i in range(start, len(lines)) if lines[i].startswith(last))
    return lines[start : end + 1]


@pytest.mark.usefixtures("invented")
@pytest.mark.parametrize("extra", [[], ["-n", "1"]], ids=["alone", "worker"])
def test_terminal_and_junit_show_one_text(
    pytester: pytest.Pytester, run: Run, extra: list[str]
) -> None:
    result = run(ITEM, "--junitxml", "junit.xml", "--color", "yes", *extra)
    result.assert_outcomes(failed=1)
    failure = ET.parse(pytester.path / "junit.xml").getroot().find(".//failure")
    assert failure is not None
    text = failure.text or ""
    assert "\\u001b[31mred\\u001b[0m \\u0000 \\ud800 ]]> <b> \\u202e" in text
    assert "\x1b" not in text
    shown = between(text.splitlines(), HEADLINE, "rerun: ")
    assert between(bare(result.outlines), HEADLINE, "rerun: ") == shown


def bare(lines: list[str]) -> list[str]:
    """Lines without pytest's own colours."""
    return [
        line.replace("\x1b[0m", "").replace("\x1b[31m", "").replace("\x1b[1m", "") for line in lines
    ]


@pytest.mark.usefixtures("invented")
def test_the_summary_line_begins_with_the_reason_in_words(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    result = run(ITEM)
    result.stdout.fnmatch_lines([f"FAILED {ITEM} - CallFailed: {HEADLINE}"])


@pytest.mark.usefixtures("invented")
@pytest.mark.parametrize("extra", [[], ["-n", "1"]], ids=["alone", "worker"])
def test_a_ci_server_gets_the_story_once_and_the_reason_as_the_headline(
    pytester: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch, extra: list[str]
) -> None:
    monkeypatch.setenv("CI", "true")  # here pytest does not cut its short summary
    result = run(ITEM, "--junitxml", "junit.xml", *extra)
    assert result.outlines.count(HEADLINE) == 1
    assert sum(line.startswith("transcript") for line in result.outlines) == 1
    result.stdout.fnmatch_lines([f"FAILED {ITEM} - CallFailed: {HEADLINE}"])
    failure = ET.parse(pytester.path / "junit.xml").getroot().find(".//failure")
    assert failure is not None
    assert failure.attrib["message"] == f"CallFailed: {HEADLINE}"


def rerun_command(lines: list[str]) -> str:
    start = next(i for i, line in enumerate(lines) if line.startswith("rerun: "))
    end = next(i for i in range(start, len(lines)) if not lines[i].endswith("\\"))
    return "\n".join(lines[start : end + 1]).removeprefix("rerun: ")


def shell(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-W error -p no:asyncio --voice-output again")
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout.splitlines()


@pytest.mark.usefixtures("invented")
def test_the_command_runs_just_this_item_with_the_options_that_matter(
    pytester: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = pytester.path / "it's mine.json"
    script.write_text('{"records": {}}', encoding="utf-8")
    options = ["--duration", "2.5", "--strict-match", "--script", script.name]
    command = rerun_command(run("--domain", "eva_airline", "-k", "refund", *options).outlines)
    assert command == (
        f"pytest {ITEM} --script 'it'\"'\"'s mine.json' \\\n  --duration 2.5 --strict-match"
    )
    again = shell(command, pytester.path, monkeypatch)
    assert "collected 1 item" in again
    assert HEADLINE in again
    assert rerun_command(again) == command


@pytest.mark.usefixtures("invented")
def test_the_command_of_a_test_of_ones_own_names_the_scenario_it_was_parametrised_with(
    pytester: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]")
    folder = pytester.mkdir("calls")
    (folder / "test_it.py").write_text(
        "from pytest_voiceeval.plugin.runtime import runtime_of\n\n"
        "def test_it(call, voice_scenario, request):\n"
        "    runtime = runtime_of(request.config)\n"
        "    assert call.passed, runtime.failure_text(request.node.nodeid, call)\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(folder)
    result = run("test_it.py", "--domain", "eva_airline", "-k", "cancellation_refund")
    lines = [line.removeprefix("E").lstrip() for line in result.outlines]
    command = rerun_command(lines)
    assert command.split() == [
        "pytest",
        "'test_it.py::test_it[eva_airline__cancellation_refund]'",
        "\\",
        "--scenarios",
        "eva_airline__cancellation_refund",
    ]
    assert "collected 1 item" in shell(command, folder, monkeypatch)


@pytest.mark.usefixtures("invented")
def test_no_secret_is_repeated(run: Run) -> None:
    url = "wss://ann:swordfish@bots.example.com/ws?token=swordfish"
    result = run(ITEM, "--agent-url", url)
    command = rerun_command(result.outlines)
    assert "--agent-url" in command
    assert "swordfish" not in "\n".join(result.outlines)


def test_an_error_says_what_it_means_and_how_to_run_it_again(run: Run) -> None:
    result = run(ITEM, "--agent-url", "ws://127.0.0.1:9")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "agent_unreachable: *",
            "not measured: the call never began",
            "artifacts: out/*",
            f"rerun: pytest {ITEM} --agent-url ws://127.0.0.1:9",
        ]
    )
