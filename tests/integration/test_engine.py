"""Calls run ahead of the item being reported, and nobody can tell but by the clock."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Run
from tests.integration.quick import diary, most_at_once, write_project

Results = Callable[[], list[dict[str, Any]]]
NAMES = [f"c{number}" for number in range(6)]


def test_calls_run_at_the_same_time_and_are_reported_in_order(
    pytester: pytest.Pytester, run: Run, results: Results
) -> None:
    write_project(pytester.path, NAMES)
    result = run("--domain", "quick", "-v", "--junitxml", "junit.xml")
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines([f"quick::{name} PASSED*" for name in NAMES], consecutive=True)
    assert most_at_once(diary(pytester.path)) == 6
    assert all(line["reported"] for line in results())
    assert all(0 <= line["loop_lag_max"] < 2 for line in results())

    elapsed = {line["nodeid"]: line["elapsed"] for line in results()}
    for case in ET.parse(pytester.path / "junit.xml").iter("testcase"):
        # as if alone, although all but the first were over when their turn came
        assert float(case.attrib["time"]) >= elapsed[f"quick::{case.attrib['name']}"] > 0.5


@pytest.mark.parametrize(
    ("arguments", "most"),
    [
        pytest.param(["--voice-concurrency", "1"], 1, id="one"),
        pytest.param(["-o", "voiceeval_voice_concurrency=2"], 2, id="two by ini key"),
    ],
)
def test_as_many_calls_as_asked_for(
    pytester: pytest.Pytester, run: Run, arguments: list[str], most: int
) -> None:
    write_project(pytester.path, NAMES[:4])
    run("--domain", "quick", *arguments).assert_outcomes(passed=4)
    assert most_at_once(diary(pytester.path)) == most


def test_by_default_as_many_as_the_bots_take(pytester: pytest.Pytester, run: Run) -> None:
    override = """
@pytest.fixture(scope="session")
def one_at_a_time(agent_bot):
    return agent_bot
"""
    many = CHOOSE_BOT.format(bot="Bot(url, 3)")
    write_project(pytester.path, NAMES, conftest=override + many)
    run("--domain", "quick").assert_outcomes(passed=6)
    assert most_at_once(diary(pytester.path)) == 3


CHOOSE_BOT = """
from pytest_voiceeval.bots.endpoint import Bot

quick_bot = agent_bot._get_wrapped_function()


@pytest.fixture(scope="session")
def agent_bot():
    running = quick_bot()
    url = next(running)
    yield {bot}
    next(running, None)
"""


def test_a_concurrency_below_one_is_refused(run: Run) -> None:
    result = run("--domain", "eva_airline", "--voice-concurrency", "0")
    result.stderr.fnmatch_lines(["ERROR: --voice-concurrency must be 1 or more, not 0"])


# -- what may run ahead


@pytest.mark.parametrize(
    ("conftest", "most"),
    [
        pytest.param("", 4, id="nothing else"),
        pytest.param(
            "@pytest.fixture(autouse=True, scope='session')\ndef first(): note('first is up')\n",
            4,
            id="session autouse",
        ),
        pytest.param(
            "@pytest.fixture(autouse=True)\ndef fresh(): pass\n", 1, id="function autouse"
        ),
        pytest.param(
            "@pytest.fixture(autouse=True, scope='module')\ndef fresh(): pass\n",
            1,
            id="module autouse",
        ),
        pytest.param(
            "@pytest.fixture\ndef voice_scenario(voice_scenario): return voice_scenario\n",
            1,
            id="own voice_scenario",
        ),
        pytest.param("@pytest.fixture\ndef call(call): return call\n", 1, id="own call"),
    ],
)
def test_only_what_depends_on_session_fixtures_runs_ahead(
    pytester: pytest.Pytester, run: Run, conftest: str, most: int
) -> None:
    write_project(pytester.path, NAMES[:4], conftest=conftest)
    result = run("--domain", "quick")
    result.assert_outcomes(passed=4)
    lines = diary(pytester.path)
    assert most_at_once(lines) == most
    if "first is up" in lines:
        assert lines[0] == "first is up"
    if most == 1:
        result.stdout.fnmatch_lines(["in turn:  4 held back, the fixture '*' is *"])
    else:
        result.stdout.no_fnmatch_line("in turn:*")


@pytest.mark.parametrize(
    ("test", "most"),
    [
        pytest.param("def test_it(call, number): assert call.passed", 4, id="plain parameters"),
        pytest.param(
            "def test_it(call, number, tmp_path): assert call.passed", 1, id="function fixture"
        ),
    ],
)
def test_tests_of_ones_own_run_ahead(
    pytester: pytest.Pytester, run: Run, test: str, most: int
) -> None:
    write_project(pytester.path, NAMES[:1])
    mark = "pytestmark = pytest.mark.parametrize('number', range(4))"
    pytester.makepyfile(f"import pytest\n\n{mark}\n\n{test}")
    run("--domain", "quick", "test_tests_of_ones_own_run_ahead.py").assert_outcomes(passed=4)
    assert most_at_once(diary(pytester.path)) == most


def test_the_calls_of_skipped_items_are_not_held(pytester: pytest.Pytester, run: Run) -> None:
    write_project(pytester.path, NAMES[:1])
    pytester.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.voiceeval(scenario="quick::c0")

        def test_first(call): pass

        @pytest.mark.skip
        def test_skipped(call): pass

        @pytest.mark.skipif("True", reason="no")
        def test_skipped_if(call): pass

        @pytest.mark.xfail(run=False)
        def test_not_run(call): pass

        def test_last(call): pass
        """
    )
    run().assert_outcomes(passed=2, skipped=2, xfailed=1)
    assert sum(line.startswith("began") for line in diary(pytester.path)) == 2


def test_calls_with_another_session_fixture_wait_for_it(
    pytester: pytest.Pytester, run: Run
) -> None:
    write_project(pytester.path, NAMES[:1])
    pytester.makepyfile(
        """
        import pytest
        from conftest import note

        pytestmark = pytest.mark.voiceeval(scenario="quick::c0")

        @pytest.fixture(scope="session")
        def later(): note("later is up")

        def test_first(call): pass
        def test_second(call, later): pass
        def test_third(call, later): pass
        """
    )
    run().assert_outcomes(passed=3)
    lines = diary(pytester.path)
    assert [line.split()[0] for line in lines][:3] == ["began", "ended", "later"]


def test_agents_by_parameter_have_their_own_calls(
    pytester: pytest.Pytester, run: Run, results: Results
) -> None:
    twice = """
quick_bot = agent_bot._get_wrapped_function()


@pytest.fixture(scope="session", params=["one", "two"])
def agent_bot(request):
    running = quick_bot()
    note("up " + request.param)
    yield next(running)
    next(running, None)
"""
    write_project(pytester.path, NAMES[:3], conftest=twice)
    run("--domain", "quick").assert_outcomes(passed=6)
    lines = [line.split()[0] for line in diary(pytester.path)]
    assert lines.index("agent") < len(lines) - 1 - lines[::-1].index("up")
    assert lines.count("began") == 6
    # nobody called the first agent after it was gone
    assert {line["outcome"] for line in results()} == {"passed"}


def test_results_are_let_go_once_they_are_reported(pytester: pytest.Pytester, run: Run) -> None:
    look = """
import gc


def pytest_sessionfinish(session):
    from pytest_voiceeval import CallResult

    gc.collect()
    kept = [thing for thing in gc.get_objects() if isinstance(thing, CallResult)]
    note(f"results: {len(kept)}")
"""
    write_project(pytester.path, NAMES[:4], conftest=look)
    run("--domain", "quick").assert_outcomes(passed=4)
    # but for the last one
    assert diary(pytester.path)[-1] in {"results: 0", "results: 1"}


@pytest.mark.parametrize("option", ["--collect-only", "--setup-plan"])
def test_a_run_without_tests_holds_no_calls(
    pytester: pytest.Pytester, run: Run, option: str
) -> None:
    write_project(pytester.path, NAMES)
    assert run("--domain", "quick", option).ret == 0
    assert diary(pytester.path) == []
    assert not any((pytester.path / "out").glob("quick*"))


# -- runs that end early


def test_stopping_at_the_first_failure_ends_the_calls_ahead(
    pytester: pytest.Pytester, run: Run, results: Results
) -> None:
    names = ["c0", "bad1", "c2", *(f"slow{number}" for number in range(6))]
    write_project(pytester.path, names)
    result = run("--domain", "quick", "-x", "--voice-concurrency", "3")
    result.assert_outcomes(passed=1, failed=1)
    lines = results()
    assert sorted(line["nodeid"] for line in lines if line["reported"]) == [
        "quick::bad1",
        "quick::c0",
    ]
    others = {line["nodeid"]: line["outcome"] for line in lines if not line["reported"]}
    # with -x no more calls are begun than can run at once
    assert 0 < len(others) <= 3
    assert set(others.values()) <= {"passed", "cancelled"}
    result.stdout.fnmatch_lines([f"calls: *{len(others)} cut off or not reported"])
    assert [line for line in diary(pytester.path) if line.startswith("ended slow")]
    folders = {line["artifacts"] for line in lines if line["outcome"] != "cancelled"}
    assert {path.name for path in (pytester.path / "out").glob("quick*")} == folders


def test_ctrl_c_ends_all_calls_and_says_so(pytester: pytest.Pytester, results: Results) -> None:
    write_project(pytester.path, ["c0", *(f"slow{number}" for number in range(4))], pause=0.2)
    command = [sys.executable, "-m", "pytest", "--domain", "quick", "-p", "no:asyncio"]
    command += ["--voice-output", "out", "-W", "error"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with process:
        deadline = time.monotonic() + 60
        while not any(line.startswith("ended c0") for line in diary(pytester.path)):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        said = process.stdout.read()
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert "4 cut off or not reported" in said
    lines = {line["nodeid"]: line for line in results()}
    assert lines["quick::c0"]["reported"] is True
    slow = [lines[f"quick::slow{number}"] for number in range(4)]
    assert {line["outcome"] for line in slow} == {"cancelled"}
    assert not any(line["reported"] for line in slow)
    assert sum(line.startswith("ended") for line in diary(pytester.path)) == 5


# -- other plugins


def test_a_rerun_makes_a_fresh_call(pytester: pytest.Pytester, run: Run, results: Results) -> None:
    pytest.importorskip("pytest_rerunfailures")
    write_project(pytester.path, ["bad0", "c1", "c2"])
    result = run("--domain", "quick", "--reruns", "2", "--junitxml", "junit.xml")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*1 failed, 2 passed, 2 rerun*"])
    assert sum(line.startswith("began bad0") for line in diary(pytester.path)) == 3
    bad = [line for line in results() if line["nodeid"] == "quick::bad0"]
    assert len({line["session"] for line in bad}) == 3
    assert all(line["reported"] for line in results())
    # an attempt's figures do not pile up on those of the next
    case = next(ET.parse(pytester.path / "junit.xml").iter("testcase"))
    names = [prop.attrib["name"] for prop in case.iter("property")]
    assert len(names) == len(set(names)) > 5


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "two workers"])
def test_pytest_timeout_is_a_backstop(
    pytester: pytest.Pytester, run: Run, results: Results, workers: list[str]
) -> None:
    write_project(pytester.path, ["c0", "slow1", "c2", "c3"], pause=0.4)
    result = run("--domain", "quick", "--timeout", "5", "--timeout-method", "signal", *workers)
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*Timeout (>5.0s) from pytest-timeout*"])
    outcomes = {line["nodeid"]: line["outcome"] for line in results()}
    assert outcomes["quick::slow1"] == "cancelled"


def test_a_worker_that_a_timeout_ends_costs_one_item(pytester: pytest.Pytester, run: Run) -> None:
    write_project(pytester.path, ["c0", "slow1", "c2", "c3"], pause=0.4)
    result = run("--domain", "quick", "--timeout", "6", "--timeout-method", "thread", "-n", "2")
    result.stdout.fnmatch_lines(["*worker 'gw*' crashed while running 'quick::slow1'*"])
    result.stdout.fnmatch_lines(["*1 failed, 3 passed*"])


@pytest.mark.parametrize("dist", ["load", "worksteal", "loadgroup"])
def test_under_xdist_each_item_is_reported_once(
    pytester: pytest.Pytester, run: Run, results: Results, dist: str
) -> None:
    write_project(pytester.path, [*NAMES, "slow6", "c7"])
    result = run("--domain", "quick", "-n", "2", "--dist", dist)
    result.assert_outcomes(passed=8)
    lines = results()
    assert sum(line["reported"] for line in lines) == 8
    if dist != "worksteal":
        # a worker looks ahead only in what it was assigned
        assert len(lines) == 8


def test_a_worker_is_supplied_with_what_it_can_run_ahead(
    pytester: pytest.Pytester, run: Run
) -> None:
    write_project(pytester.path, [f"c{number}" for number in range(12)], pause=0.1)
    run("--domain", "quick", "-n", "2").assert_outcomes(passed=12)
    lines = [line for line in diary(pytester.path) if "-gw0-" in line]
    assert most_at_once(lines) == 6


def test_without_xdist_internals_calls_are_held_one_by_one(
    pytester: pytest.Pytester, run: Run
) -> None:
    hidden = """
from pytest_voiceeval.plugin import scheduling

scheduling._worker_queue = lambda config: None
"""
    write_project(pytester.path, NAMES[:4], conftest=hidden)
    run("--domain", "quick", "-n", "1").assert_outcomes(passed=4)
    # what pytest names as the next item is known without them
    assert most_at_once(diary(pytester.path)) <= 2


def test_remote_workers_need_no_shared_files(
    pytester: pytest.Pytester, run: Run, results: Results, tmp_path: Path
) -> None:
    write_project(pytester.path, NAMES[:4])
    with ExitStack() as stack:
        remotes = []
        for number in range(2):
            elsewhere = tmp_path / f"machine{number}"
            elsewhere.mkdir()
            shutil.copy(pytester.path / "conftest.py", elsewhere)
            port = stack.enter_context(gateway_server(elsewhere))
            remotes += ["--tx", f"socket=127.0.0.1:{port}//chdir={elsewhere}"]
        result = run("--domain", "quick", "--dist", "load", *remotes)
    result.assert_outcomes(passed=4)
    lines = results()
    assert sorted(line["nodeid"] for line in lines) == [f"quick::{name}" for name in NAMES[:4]]
    assert all(line["reported"] for line in lines)
    assert not any((pytester.path / "out").glob("quick*"))
    for line in lines:
        host, _, folder = line["artifacts"].partition(":")
        assert host == socket.gethostname()
        assert folder.startswith(str(tmp_path))
        assert (Path(folder) / "metrics.json").is_file()


@contextmanager
def gateway_server(folder: Path) -> Iterator[int]:
    """Serve xdist's workers as another machine would; gives the port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command = [sys.executable, "-u", "-m", "execnet.script.socketserver", f"127.0.0.1:{port}"]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert "Accept loop" in process.stdout.readline()
        yield port
        process.kill()


# -- logs and lag


def test_what_a_call_logs_is_shown_with_its_own_item(pytester: pytest.Pytester, run: Run) -> None:
    test = """
import logging
import pytest

pytestmark = pytest.mark.parametrize("number", range(3))


def test_it(call, number, caplog_of_session):
    logging.getLogger("test").warning("in the test of %s", call.scenario)
    assert number == 0
"""
    session = "@pytest.fixture(scope='session')\ndef caplog_of_session(): pass\n"
    write_project(pytester.path, ["c0"], conftest=session)
    pytester.makepyfile(test.replace("\n", "\n        "))
    result = run("--domain", "quick", "test_what_a_call_logs_is_shown_with_its_own_item.py")
    result.assert_outcomes(passed=1, failed=2)
    sections = [line.strip("- ") for line in result.outlines if line.startswith("------")]
    assert sections.count("Captured log of the call") == 2
    assert "Captured log setup" not in sections
    result.stdout.fnmatch_lines(
        [
            "*- Captured log of the call -*",
            "WARNING * set up c0",
            "*- Captured log call -*",
            "WARNING * in the test of quick__c0",
        ]
    )
    assert "set up" not in str(result.stderr)


def test_a_loop_that_was_held_up_makes_the_call_an_error(
    pytester: pytest.Pytester, run: Run, results: Results
) -> None:
    hold_up = """
import time
from pytest_voiceeval.plugin import calling


class Clumsy(calling.ScriptedCaller):
    async def reply(self, transcript):
        time.sleep(2.2)  # blocks every call
        return await super().reply(transcript)


calling.ScriptedCaller = Clumsy
"""
    write_project(pytester.path, ["c0"], conftest=hold_up)
    result = run("--domain", "quick", "--junitxml", "junit.xml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "measurement_invalid: the harness fell behind: its event loop was held up for*",
            "*limit is 2 s*",
            "*(--voice-concurrency)*",
        ]
    )
    [line] = results()
    assert line["error"]["code"] == "measurement_invalid"
    assert line["loop_lag_max"] >= 2.1
    assert line["agent_turns"] == 3


def test_a_bug_is_shown_as_one_and_its_call_is_kept(
    pytester: pytest.Pytester, run: Run, results: Results
) -> None:
    bug = """
from pytest_voiceeval.plugin import measuring


def broken(*arguments):
    raise ZeroDivisionError("a bug")


measuring.score = broken
"""
    write_project(pytester.path, ["c0", "c1"], conftest=bug)
    result = run("--domain", "quick")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*def broken(*arguments):*", "E * ZeroDivisionError: a bug"])
    for line in results():
        assert line["error"]["type"] == "ZeroDivisionError"
        assert line["reported"] is True
