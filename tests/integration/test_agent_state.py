"""`agent_state`, the fixture for an agent with tools of its own: who is asked, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.integration.conftest import Run
from tests.integration.packs import write_pack
from tests.integration.pages import DOCS, blocks
from tests.integration.plain_shop import PlainShop

Results = Callable[[], list[dict[str, Any]]]

START = """
for scenario in (S0, S1, S2, S3):
    scenario.setup_shared_state = lambda self, state, side: state.update(
        db={"stock": {"apple": {"count": 5}}}
    )
"""


@pytest.fixture
def shop(pytester: pytest.Pytester) -> Iterator[PlainShop]:
    """Four scenarios that begin with five apples and are to end with three, and the shop."""
    write_pack(pytester.path, ["pears", "plums", "figs", "dates"], extra=START)
    shop = PlainShop()
    with shop.service():
        yield shop


def the_page_s_conftest(shop: PlainShop) -> str:
    """The example of docs/own_agent.md, with the address of this shop."""
    [block] = [b for b in blocks(DOCS / "own_agent.md") if "def agent_state" in b.text]
    assert "https://orders.staging.example.com" in block.text
    return block.text.replace("https://orders.staging.example.com", shop.url)


def test_each_call_has_a_state_of_its_own(
    pytester: pytest.Pytester, run: Run, results: Results, shop: PlainShop
) -> None:
    pytester.makeconftest(the_page_s_conftest(shop))
    with shop.agent() as url:
        result = run("--domain", "shop", "--agent-url", url + "/ws/{session}")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["voiceeval: state: the fixture agent_state in conftest.py:*"])
    sessions = {line["session"] for line in results()}
    assert sessions == set(shop.tenants) == set(shop.talks)
    assert len(shop.talks) == 4
    assert shop.most_at_once > 1
    assert {line["end_detail"] for line in results()} == {
        "the agent hung up: it closed the connection"
    }


def test_calls_that_share_a_state_are_held_one_at_a_time(
    pytester: pytest.Pytester, run: Run, results: Results, shop: PlainShop
) -> None:
    """Also where two workers have two agents: both may use the same database."""
    text = the_page_s_conftest(shop)
    pytester.makeconftest(text.replace("{session_id}", "all"))
    with ExitStack() as agents:
        urls = [agents.enter_context(shop.agent()) + "/all" for _ in range(2)]
        options = [part for url in urls for part in ("--agent-url", url)]
        result = run("--domain", "shop", "-n", "2", "--voice-concurrency", "4", *options)
    result.assert_outcomes(passed=4)
    assert shop.talks == ["all"] * 4
    assert shop.most_at_once == 1


BROKEN = """\
import pytest

class Probe:
    def prepare(self, scenario, session_id):
        if scenario.short_name == "pears":
            raise OSError("the orchard is closed")

    async def __call__(self, scenario, session_id):
        if scenario.short_name == "plums":
            return {"stock": {"apple": {1, 2}}}
        if scenario.short_name == "figs":
            raise LookupError(session_id)
        return {"stock": {"apple": {"count": 4}}}

@pytest.fixture(scope="session")
def agent_state():
    return Probe()
"""


def test_what_the_probe_does_wrong_is_not_the_agent_s_fault(
    pytester: pytest.Pytester, run: Run, results: Results, shop: PlainShop
) -> None:
    pytester.makeconftest(BROKEN)
    shop.tenants["all"] = {"stock": {"apple": {"count": 5}}}
    with shop.agent() as url:
        result = run("--domain", "shop", "--agent-url", url + "/all")
    result.assert_outcomes(errors=3, failed=1)
    lines = {line["nodeid"]: line for line in results()}
    errors = {nodeid: line["error"] for nodeid, line in lines.items() if "error" in line}
    assert {error["code"] for error in errors.values()} == {"agent_state_failed"}
    result.stdout.fnmatch_lines(
        [
            "agent_state_failed: prepare of agent_state (conftest.py:8) raised OSError",
            "*(conftest.py:6): the orchard is closed",
            "agent_state_failed: agent_state (conftest.py:8) gave what is not JSON: at",
            "*stock.apple: a value of type set is not JSON*",
            "agent_state_failed: agent_state (conftest.py:8) raised LookupError",
            "*(conftest.py:12): figs-3-*",
        ]
    )
    assert "stock / apple / count: 3 → 4" in result.stdout.str()


DECIDING = """\
import pytest

class Probe:
    def prepare(self, scenario, session_id):
        if scenario.short_name == "pears":
            pytest.skip("no pears in winter")

    def __call__(self, scenario, session_id):
        if scenario.short_name == "plums":
            pytest.fail("two plums went missing")
        if scenario.short_name == "figs":
            pytest.skip("the figs are not ripe")
        assert scenario.short_name == "apples", "no such fruit"

@pytest.fixture(scope="session")
def agent_state():
    return Probe()
"""


def test_the_probe_may_decide_the_test_and_no_call_is_lost(
    pytester: pytest.Pytester, run: Run, results: Results, shop: PlainShop
) -> None:
    pytester.makeconftest(DECIDING)
    shop.tenants["all"] = {"stock": {"apple": {"count": 5}}}
    with shop.agent() as url:
        result = run("--domain", "shop", "--agent-url", url + "/all", "-rs", "--junitxml=j.xml")
    result.assert_outcomes(failed=1, skipped=2, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*FAILURES*",
            "own_verdict: agent_state (conftest.py:8): two plums went missing",
            "ended: exit after 3 agent turns, *",
            "SKIPPED * no pears in winter",
            "SKIPPED * the figs are not ripe",
        ]
    )
    result.stdout.fnmatch_lines(
        ["agent_state_failed: agent_state (conftest.py:8) raised AssertionError", "*no such fruit*"]
    )
    lines = {line["nodeid"]: line for line in results()}
    assert {nodeid: line["outcome"] for nodeid, line in lines.items()} == {
        "shop::plums": "failed",
        "shop::figs": "skipped",
        "shop::dates": "error",
    }
    assert lines["shop::figs"]["reasons"] == ["agent_state (conftest.py:8): the figs are not ripe"]
    assert all(line["reported"] and line["agent_turns"] == 3 for line in lines.values())
    assert (pytester.path / "out" / "shop__plums" / "transcript.json").is_file()
    assert not (pytester.path / "out" / "shop__pears").exists()
    junit = (pytester.path / "j.xml").read_text(encoding="utf-8")
    assert 'errors="1" failures="1" skipped="2"' in junit


def test_the_stock_agent_has_no_state_of_its_own(pytester: pytest.Pytester, run: Run) -> None:
    write_pack(pytester.path, ["pears"])
    pytester.makeconftest(BROKEN)
    result = run("--domain", "shop")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "agent_state_failed: agent_state (conftest.py:8) tells the state of an agent of*",
            "*your own, but this run calls the stock one: name yours with --agent-cmd,*",
        ]
    )
