"""The documentation: every command and every block of code does what the page says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_voiceeval.plugin.options import OPTIONS
from tests.integration.conftest import FIFTY, SEEDS, Run
from tests.integration.inner import look
from tests.integration.pages import CHECKOUT, DOCS, Block, blocks, files

__all__ = ["look"]

PAGES = [
    CHECKOUT / "README.md",
    *sorted(DOCS.glob("*.md")),
    *sorted(CHECKOUT.glob("examples/*/README.md")),
]
EXAMPLE = CHECKOUT / "examples" / "own_agent"

NOT_RUN = {
    r"^(pip install|python3? -m venv)": "needs a package index; .ci/run does it",
    r"^export \w+=\.\.\.$": "the reader's own key",
    r"(https?|wss?)://": "needs a server that is not there",
    r"^voiceeval data fetch \w+$": "needs the network",
    r"^pytest -n 2 --dist worksteal$": "the suite that this test belongs to",
}
"""Commands that are not run, by pattern, and why."""

STATUS = {
    "pytest eva_airline::voluntary_date_change --agent-fault wrong-field": 1,
    "pytest --domain bistro --agent-fault wrong-field": 1,
}
"""Commands that are meant to be red."""

FEWER = f"-k '{' or '.join(item.split('::')[1] for item in SEEDS[:2])}'"
"""Added where a command calls the whole airline: .ci/run and test_summary.py do call all fifty."""


def console(page: Path) -> Iterator[tuple[Block, str]]:
    for block in blocks(page):
        if block.language == "console":
            for command in block.commands:
                if not any(re.search(pattern, command) for pattern in NOT_RUN):
                    yield block, command


def example_of(page: Path) -> Path:
    return page.parent if page.parent.parent == EXAMPLE.parent else EXAMPLE


def written(page: Path) -> list[Block]:
    """The files a reader has written; of some a page shows several, each for itself."""
    return [block for block in files(page) if block.title not in {"conftest.py", "pytest.ini"}]


def all_commands() -> list[object]:
    """Every command, but only once in the same folder."""
    found = {
        (command, example_of(page), *(file.text for file in written(page))): (page, block, command)
        for page in PAGES
        for block, command in console(page)
    }
    return [pytest.param(*each, id=f"{each[1]}-{each[2]}") for each in found.values()]


@pytest.fixture
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """What a reader has in the current folder: the page's files, and the example's bot."""
    page: Path = request.getfixturevalue("page")
    shutil.copytree(example_of(page), tmp_path, dirs_exist_ok=True)
    for block in written(page):
        block.write(tmp_path)
    return tmp_path


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    programs = str(Path(sys.executable).parent)
    fewer = FEWER if "--domain eva_airline" in command else ""
    environment = {
        **os.environ,
        "PATH": os.pathsep.join((programs, os.environ["PATH"])),
        "PYTEST_ADDOPTS": f"-p no:asyncio -p no:hypothesispytest -W error {fewer}",
    }
    return _run(["bash", "-c", command], cwd=folder, env=environment)


def _run(command: list[str], **settings: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True, **settings)


@pytest.mark.parametrize(("page", "block", "command"), all_commands())
def test_commands(project: Path, page: Path, block: Block, command: str) -> None:
    done = shell(command, project)
    said = done.stdout + done.stderr
    assert done.returncode == STATUS.get(command, 0), f"{block}: {command}\n{said}"
    if block.output and command == block.commands[0]:
        assert done.stdout.splitlines() == block.output


@pytest.mark.parametrize("pattern", NOT_RUN)
def test_no_reason_is_left_over(pattern: str) -> None:
    commands = [
        c for page in PAGES for b in blocks(page) if b.language == "console" for c in b.commands
    ]
    assert any(re.search(pattern, command) for command in commands)


SNIPPETS = [b for page in PAGES for b in blocks(page) if b.language == "python" and not b.title]
DATA = [b for page in PAGES for b in blocks(page) if b.language in {"toml", "json", "ini"}]


@pytest.mark.parametrize("block", SNIPPETS, ids=str)
def test_snippets_run(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "snippet.py"
    file.write_text(block.text, encoding="utf-8")
    done = _run([sys.executable, "-W", "error", str(file)])
    assert done.returncode == 0, f"{block}\n{done.stderr}"


@pytest.mark.parametrize("block", DATA, ids=str)
def test_data_can_be_read(block: Block) -> None:
    read = {"toml": tomllib.loads, "json": json.loads, "ini": ConfigParser().read_string}
    read[block.language](block.text)


def test_the_steps_of_ci_are_commands_of_ours(look: Run) -> None:
    [block] = [block for block in blocks(CHECKOUT / "README.md") if block.language == "yaml"]
    install, test = (step["run"] for step in yaml.safe_load(block.text))
    assert install == "pip install pytest-voiceeval"
    assert test.startswith("pytest --domain eva_airline")
    options = re.findall(r"--[a-z-]+", test)
    assert set(options) <= {"--port", "--junitxml", *(option.flag for option in OPTIONS)}


def test_pages_link_to_what_is_there() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for target, anchor in re.findall(r"\]\(([^)#:]*)(#[^)]*)?\)", text):
            path = (page.parent / target).resolve() if target else page
            assert path.exists(), f"{page.name} links to {target}"
            if anchor and path.suffix == ".md":
                headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
                known = {re.sub(r"[^\w\- ]", "", h).lower().replace(" ", "-") for h in headings}
                assert anchor[1:] in known, f"{page.name} links to {target}{anchor}"


# -- docs/options.md


def test_every_option_has_its_place_on_the_page() -> None:
    pages = " ".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    for option in OPTIONS:
        assert f"`{option.flag}" in pages, f"{option.flag} is not documented"
    page = (DOCS / "options.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(--[a-z0-9-]+)[^|]*\| `(voiceeval_\w+)` \|", page, re.MULTILINE)
    dests = {option.flag: option.dest for option in OPTIONS}
    assert dict(rows) == {flag: dests.get(flag) for flag, _ in rows}
    assert len(rows) >= 12


def test_the_ini_file_of_the_page(pytester: pytest.Pytester, look: Run) -> None:
    [block] = files(DOCS / "options.md")
    block.write(pytester.path)
    result = look("-q", "--strict-config")
    assert sum("eva_airline::" in line for line in result.outlines) == FIFTY


# -- docs/own_agent.md


def test_an_agent_by_fixture(
    pytester: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_fixture, _ = files(DOCS / "own_agent.md")
    by_fixture.write(pytester.path)
    monkeypatch.setenv("AGENT_URLS", "ws://127.0.0.1:9 ws://127.0.0.1:10")
    result = run("eva_airline::cancellation_refund")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["agent_unreachable: *ws://127.0.0.1:9*"])


def test_an_agent_that_needs_something(pytester: pytest.Pytester, run: Run) -> None:
    _, needs = files(DOCS / "own_agent.md")
    needs.write(pytester.path)
    bot = pytester.makepyfile(
        bot="""
        import os, pathlib, sys
        pathlib.Path("seen").write_text(os.environ["BOOKING_SYSTEM"])
        sys.exit(3)
        """
    )
    run("eva_airline::cancellation_refund", "--agent-cmd", f"{sys.executable} {bot}")
    assert (pytester.path / "seen").read_text().startswith("http://127.0.0.1:")


def test_the_example_is_the_page(pytester: pytest.Pytester) -> None:
    """The page and the example's own README give the same command."""
    page, readme = DOCS / "own_agent.md", EXAMPLE / "README.md"
    commands = [
        {c for b in blocks(p) for c in b.commands if "--agent-cmd" in c} for p in (page, readme)
    ]
    assert commands[0] == commands[1]
