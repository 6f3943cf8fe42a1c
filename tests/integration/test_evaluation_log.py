"""`evaluation_log.txt`, and results that have no place to go."""

from __future__ import annotations

import re
from itertools import groupby

import pytest

from tests.integration.conftest import Run
from tests.integration.quick import write_project

LINE = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \| (\w+) +\| voiceeval\.runner:(\S+):0 - (.*)"
)

CHATTY = """
import builtins
told = Quick.get_agent_prompt

def get_agent_prompt(self):
    print("said on stdout of", self.short_name)
    return told(self)

Quick.get_agent_prompt = get_agent_prompt

@pytest.fixture(scope="session")
def agent_state():
    return None
"""


def test_the_log_tells_what_was_done_call_by_call(pytester: pytest.Pytester, run: Run) -> None:
    write_project(pytester.path, ["one", "two", "bad"], conftest=CHATTY)
    run("--domain", "quick").assert_outcomes(passed=2, failed=1)
    text = (pytester.path / "out" / "evaluation_log.txt").read_text(encoding="utf-8")
    lines = [LINE.fullmatch(line) for line in text.splitlines()]
    assert all(lines), text
    found = [line.groups() for line in lines if line]
    # the calls went on at the same time, and each can be read by itself
    calls = {name: list(group) for name, group in groupby(found, key=lambda line: line[1])}
    *items, end = calls
    assert sorted(items) == ["quick::bad", "quick::one", "quick::two"]
    for name in items:
        said = [text for _, _, text in calls[name]]
        short = name.partition("::")[2]
        assert any(re.search(rf"\[PREPARE\] .*files in quick__{short}/", line) for line in said)
        assert any(f"set up {short}" in line for line in said)  # what its code logged
        assert not any("set up" in line and short not in line for line in said)
        assert "said on stdout" not in text
    assert ("INFO", "quick::one", "[VERDICT] passed; signals: clean_exit True") in found
    assert any("[VERDICT] failed (agent_gone, " in line for _, _, line in calls["quick::bad"])
    assert calls[end] == [
        ("INFO", end, "run over: 3 calls (2 passed, 1 failed), exit status 1"),
    ]


def test_results_that_cannot_be_written_are_an_error_that_says_so(
    pytester: pytest.Pytester, run: Run
) -> None:
    write_project(pytester.path, ["one"])
    result = run("--domain", "quick", "--voice-output", "/proc/voiceeval-nothing")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "results_not_written: nothing can be written to /proc/voiceeval-nothing:*",
            "*; name another folder*",
            "rerun: pytest quick::one*",
        ]
    )
