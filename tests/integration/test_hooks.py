"""The hooks: the examples of docs/hooks.md do what the page says, and wrong answers are told."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_voiceeval.plugin import hooks, hookspecs
from tests.integration.conftest import Run
from tests.integration.inner import look
from tests.integration.packs import write_pack
from tests.integration.pages import DOCS, files

__all__ = ["look"]

Results = Callable[[], list[dict[str, Any]]]
EXAMPLES = {
    next(name for name in vars(hookspecs) if f"def {name}(" in block.text): block
    for block in files(DOCS / "hooks.md")
}


def test_every_hook_has_an_example() -> None:
    specified = {name for name in vars(hookspecs) if name.startswith("pytest_voiceeval_")}
    assert set(EXAMPLES) == specified


def test_scenarios_example(pytester: pytest.Pytester, look: Run) -> None:
    EXAMPLES["pytest_voiceeval_scenarios"].write(pytester.path)
    lines = look("--domain", "eva_airline", "-q").outlines
    assert [line for line in lines if "::" in line] == [
        "eva_airline::cancellation_refund",
        "eva_airline::irrops_cancellation",
    ]


def test_signals_example(pytester: pytest.Pytester, run: Run, results: Results) -> None:
    EXAMPLES["pytest_voiceeval_signals"].write(pytester.path)
    write_pack(pytester.path, ["apples"])
    run("--domain", "shop", "eva_airline::irrops_cancellation", "--junitxml=junit.xml")
    lines = {line["nodeid"]: line for line in results()}
    shop = lines["shop::apples"]
    assert (shop["outcome"], shop["signals"]["brief"]) == ("passed", True)
    # informational: false, and it decides nothing
    assert shop["signals"]["polite"] is False
    assert lines["eva_airline::irrops_cancellation"]["signals"]["polite"] is True
    junit = (pytester.path / "junit.xml").read_text("utf-8")
    assert '<property name="voiceeval.brief" value="True"' in junit


def test_a_gating_signal_fails_the_call(
    pytester: pytest.Pytester, run: Run, results: Results
) -> None:
    block = EXAMPLES["pytest_voiceeval_signals"]
    write_pack(pytester.path, ["apples"])
    pytester.makeconftest(block.text.replace("<= 60", "< 1"))
    result = run("--domain", "shop")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "brief: the longest turn has 3 words",
            "failed: brief; passed: db_state_match, clean_exit; does not count: polite",
            "rerun: pytest shop::apples*",
        ]
    )
    [line] = results()
    assert line["reasons"] == ["brief"]


def test_call_finished_example(pytester: pytest.Pytester, run: Run) -> None:
    EXAMPLES["pytest_voiceeval_call_finished"].write(pytester.path)
    write_pack(pytester.path, ["apples", "pears"])
    run("--domain", "shop").assert_outcomes(passed=2)
    lines = (pytester.path / "calls.csv").read_text().splitlines()
    assert [line.rsplit(",", 1)[0] for line in lines] == [
        "shop::apples,exit,True",
        "shop::pears,exit,True",
    ]


def test_report_section_example(pytester: pytest.Pytester, run: Run) -> None:
    EXAMPLES["pytest_voiceeval_report_section"].write(pytester.path)
    write_pack(pytester.path, ["apples"])
    test = "def test_mine(call):\n    assert not call.passed\n"
    (pytester.path / "test_mine.py").write_text(test)
    junit = pytester.path / "junit.xml"
    result = run("shop::apples", "test_mine.py", "--agent-fault=never-exits", f"--junitxml={junit}")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["rerun: pytest shop::apples *", "tools called: none"])
    assert "tools called: none" in junit.read_text("utf-8")


WRONG_SIGNALS = {
    "raises": ("[1 / 0]", "raised ZeroDivisionError (conftest.py:*"),
    "no_verdict": ("[('brief', True)]", "gave ('brief', True); it gives a list of*"),
    "no_truth_value": (
        "[Verdict('brief', 'yes')]",
        "gave Verdict(name='brief', holds='yes'*",
    ),
    "name_of_ours": ("[Verdict('clean_exit', True)]", "the name 'clean_exit' is taken"),
    "no_identifier": (
        "[Verdict('two words', True)]",
        "the name 'two words' is no identifier",
    ),
}


def test_a_wrong_signal_is_an_error_and_not_the_agents(
    pytester: pytest.Pytester, run: Run, results: Results
) -> None:
    write_pack(pytester.path, WRONG_SIGNALS)
    answers = [
        f"    if result.scenario == 'shop__{name}': return {source}"
        for name, (source, _) in WRONG_SIGNALS.items()
    ]
    head = "from pytest_voiceeval import Verdict\n\ndef pytest_voiceeval_signals(result):\n"
    pytester.makeconftest(head + "\n".join(answers))
    result = run("--domain", "shop")
    result.assert_outcomes(errors=len(WRONG_SIGNALS))
    for name, (_, message) in WRONG_SIGNALS.items():
        start = "hook_failed: pytest_voiceeval_signals*"
        result.stdout.fnmatch_lines(
            [f"*_ ERROR at setup of shop::{name} _*", start + message, "*Goodbye.*"]
        )
    assert {line["error"]["code"] for line in results()} == {"hook_failed"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "names.append('shop__apple')",
            "there is no scenario 'shop__apple'; did you mean 'shop__apples'?",
        ),
        ("names.append(names[0])", "'shop__apples' stands 2 times in the list"),
    ],
)
def test_a_wrong_list_of_scenarios_is_a_usage_error(
    pytester: pytest.Pytester, look: Run, change: str, message: str
) -> None:
    write_pack(pytester.path, ["apples"])
    pytester.makeconftest(f"def pytest_voiceeval_scenarios(names):\n    {change}\n")
    result = look("--domain", "shop")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*pytest_voiceeval_scenarios, domain 'shop': {message}"])


def test_an_empty_list_runs_nothing_of_the_domain(pytester: pytest.Pytester, look: Run) -> None:
    write_pack(pytester.path, ["apples"])
    pytester.makeconftest("def pytest_voiceeval_scenarios(names):\n    names.clear()\n")
    assert look("--domain", "shop").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_section_that_fails_or_has_no_end_does_not_hide_the_verdict(
    pytester: pytest.Pytester, run: Run
) -> None:
    write_pack(pytester.path, ["apples"])
    plugin = "def pytest_voiceeval_report_section(result):\n    return {}\n"
    (pytester.path / "long.py").write_text(plugin.format("['line \\x1b[31m' * 30] * 50"))
    pytester.makeconftest(plugin.format("result.nothing") + '\npytest_plugins = ["long"]\n')
    result = run("--domain", "shop", "--agent-fault", "never-exits")
    result.assert_outcomes(failed=1)
    raised = "pytest_voiceeval_report_section raised AttributeError (conftest.py:2):"
    result.stdout.fnmatch_lines(["rerun: *", raised])


def test_a_long_section_is_filled_and_cut() -> None:
    class Hooks:
        def pytest_voiceeval_report_section(self, result: object) -> list[list[str]]:
            return [["word " * 30] * 50, ["\x1b[31mred"]]

    config: Any = SimpleNamespace(hook=Hooks())
    lines = hooks.extra_text(config, result=SimpleNamespace(verdicts=())).splitlines()  # type: ignore[arg-type]
    assert lines[20:] == ["… 80 more lines", "", r"\u001b[31mred"]
    assert max(map(len, lines)) <= 80


def test_hooks_are_not_needed() -> None:
    """A specification is documentation and nothing else: none has a body."""
    source = Path(hookspecs.__file__).read_text("utf-8")
    functions = [n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)]
    assert all(len(function.body) == 1 for function in functions)
