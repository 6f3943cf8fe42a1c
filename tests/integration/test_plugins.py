"""Beside plugins that people have: no warning, no wrong id, and their reports hold ours.

`.ci/matrix plugins` installs them; where one is missing its tests are skipped.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

from tests.integration.conftest import Run
from tests.integration.packs import write_pack

Results = Callable[[], list[dict[str, Any]]]

NAMES = ["two words", "naïve", "plain", "1.2-3"]
IDS = {f"shop::{name}" for name in NAMES}
EVIL = "<img src=x onerror=alert(1)>"


def needs(*modules: str) -> pytest.MarkDecorator:
    missing = [module for module in modules if find_spec(module) is None]
    why = f"not installed: {', '.join(missing)} (.ci/matrix plugins does it)"
    return pytest.mark.skipif(bool(missing), reason=why)


REPORTS = ("--html=report.html", "--self-contained-html", "--alluredir=allure", "--junitxml=j.xml")
ALL = (
    "pytest_html",
    "allure_pytest",
    "pytest_randomly",
    "pytest_rerunfailures",
    "pytest_repeat",
    "pytest_sugar",
    "pytest_timeout",
)


def html_ids(page: str) -> list[str]:
    """The ids in a report of pytest-html, which carries its data as JSON in an attribute."""
    [blob] = re.findall(r'data-jsonblob="([^"]*)"', page)
    data = json.loads(blob.replace("&#34;", '"').replace("&amp;", "&").replace("&#39;", "'"))
    return list(data["tests"])


@needs(*ALL)
@pytest.mark.parametrize(
    "workers", [[], ["-n", "2"], ["-p", "no:xdist"]], ids=["alone", "two workers", "no xdist"]
)
def test_all_of_them_together(
    pytester: pytest.Pytester, run: Run, results: Results, workers: list[str]
) -> None:
    write_pack(pytester.path, NAMES)
    arguments = [*REPORTS, "--reruns=1", "--timeout=60", "--strict-markers", *workers]
    result = run("--domain", "shop", *arguments)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*warning*")
    assert {line["nodeid"] for line in results()} == IDS
    assert len(results()) == 4
    cases = ET.parse(pytester.path / "j.xml").getroot().iter("testcase")
    assert {f"{case.get('classname')}::{case.get('name')}" for case in cases} == IDS
    assert set(html_ids((pytester.path / "report.html").read_text("utf-8"))) == IDS
    told = [
        json.loads(f.read_text("utf-8")) for f in (pytester.path / "allure").glob("*-result.json")
    ]
    assert {report["name"] for report in told} == set(NAMES)
    assert len({report["historyId"] for report in told}) == 4


@needs("pytest_randomly")
def test_a_shuffled_run_has_the_same_ids(pytester: pytest.Pytester, run: Run) -> None:
    names = [f"s{number}" for number in range(12)]
    write_pack(pytester.path, names)
    orders = []
    for seed in (1, 2):
        result = run("--domain", "shop", "-p", "randomly", f"--randomly-seed={seed}", "--co", "-q")
        orders.append([line for line in result.outlines if line.startswith("shop::")])
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(f"shop::{name}" for name in names)
    assert orders[0] != orders[1]


@needs("pytest_randomly")
def test_shuffled_workers_agree(
    pytester: pytest.Pytester, run: Run, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "random")
    write_pack(pytester.path, [f"s{number}" for number in range(8)])
    run("--domain", "shop", "-n", "4").assert_outcomes(passed=8)
    assert len({line["nodeid"] for line in results()}) == 8


@needs("pytest_repeat")
def test_repeated_calls_are_calls_of_their_own(
    pytester: pytest.Pytester, run: Run, results: Results
) -> None:
    write_pack(pytester.path, ["apples"])
    run("--domain", "shop", "--count", "3", "-p", "no:randomly").assert_outcomes(passed=3)
    lines = results()
    assert len({line["nodeid"] for line in lines}) == 3
    assert len({line["artifacts"] for line in lines}) == 3


@needs("pytest_html", "allure_pytest")
def test_what_an_agent_says_is_text_in_every_report(pytester: pytest.Pytester, run: Run) -> None:
    folder = write_pack(pytester.path, ["apples"])
    source = (folder / "__init__.py").read_text("utf-8").replace("Fine, and you?", EVIL)
    (folder / "__init__.py").write_text(source, encoding="utf-8")
    result = run("--domain", "shop", "--agent-fault=never-exits", "--color=yes", *REPORTS)
    assert result.ret == 1
    assert EVIL in "\n".join(result.outlines)
    page = (pytester.path / "report.html").read_text("utf-8")
    assert EVIL not in page
    assert "onerror=alert" in page
    failure = ET.parse(pytester.path / "j.xml").getroot().find(".//failure")
    assert failure is not None
    assert EVIL in str(failure.text)
    assert "\x1b" not in str(failure.text)
    [told] = (pytester.path / "allure").glob("*-result.json")
    assert EVIL in json.loads(told.read_text("utf-8"))["statusDetails"]["trace"]


def test_a_skipped_call_has_its_reason_in_junit(pytester: pytest.Pytester, run: Run) -> None:
    write_pack(pytester.path, ["apples"])
    fault = "--agent-fault=missing-call"
    run("--domain", "shop", fault, "--color=yes", "--junitxml=j.xml").assert_outcomes(skipped=1)
    skipped = ET.parse(pytester.path / "j.xml").getroot().find(".//skipped")
    assert skipped is not None
    assert str(skipped.get("message")).startswith(fault.replace("=", " "))


@needs("pytest_rerunfailures")
@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "two workers"])
def test_a_rerun_is_a_call_of_its_own(
    pytester: pytest.Pytester, run: Run, results: Results, workers: list[str]
) -> None:
    write_pack(pytester.path, ["apples"])
    result = run("--domain", "shop", "--agent-fault=never-exits", "--reruns=2", *workers)
    result.stdout.fnmatch_lines(["*1 failed, 2 rerun*"])
    assert len({line["artifacts"] for line in results()}) == 3


@pytest.mark.parametrize(
    "plugins", [["terminal"], ["cacheprovider", "junitxml", "logging", "faulthandler"]], ids=str
)
def test_without_parts_of_pytest(pytester: pytest.Pytester, run: Run, plugins: list[str]) -> None:
    write_pack(pytester.path, ["apples"])
    result = run("--domain", "shop", *(f"-pno:{plugin}" for plugin in plugins))
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    assert (pytester.path / "out" / "results.jsonl").is_file()
