"""The rate limit of the agent's model: who may speak to an agent when."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.call.caller import HangUp, Say
from pytest_voiceeval.call.ledger import Ledger
from pytest_voiceeval.call.result import EndReason
from pytest_voiceeval.plugin import agent_rate
from pytest_voiceeval.plugin.agent_rate import AgentPace, AgentRateLimit, RateAccount
from pytest_voiceeval.wire.backlog import Event
from pytest_voiceeval.wire.rtvi import Envelope
from tests.unit.call.conftest import kit as kit  # noqa: PLC0414 - a fixture


def kept(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


class Account(RateAccount):
    """One with a clock that is set."""

    def __init__(self, file: Path, rpm: int) -> None:
        self.now = 1000.0
        super().__init__(file, rpm, lambda: self.now)

    def may(self, call: str, *, first: bool = False) -> bool:
        return self.reserve(call, first=first)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "shared" / "agent-rate.json"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_rate, "POLL", 0.01)


def test_turns_take_what_they_may_need_and_give_the_rest_back(file: Path) -> None:
    account = Account(file, 8)
    assert account.may("a")
    assert account.may("b")
    assert not account.may("c"), "two turns of three"
    account.settle("a", 1)
    assert account.may("c"), "one made, three and three to come"
    assert not account.may("a")


def test_requests_count_for_a_minute(file: Path) -> None:
    account = Account(file, 4)
    assert account.may("a")
    account.settle("a", 2)
    account.now += 59.9
    assert not account.may("a")
    account.now += 0.2
    assert account.may("a")


def test_the_longest_turn_so_far_is_expected_of_each(file: Path) -> None:
    account = Account(file, 100)
    assert account.may("a")
    account.settle("a", 40)
    assert account.may("a")
    assert not account.may("b"), "40 made, 40 and 40 to come"


def test_a_turn_longer_than_the_limit_goes_alone(file: Path) -> None:
    account = Account(file, 1)
    assert account.may("a")
    account.settle("a", 5)
    assert not account.may("b")
    account.now += 61
    assert account.may("b")


def test_calls_under_way_go_before_those_yet_to_begin(file: Path) -> None:
    account = Account(file, 6)
    assert account.may("a", first=True)
    assert account.may("b", first=True)
    account.settle("a", 1)
    assert not account.may("a")  # it waits from now on
    account.settle("b", 0)
    assert not account.may("c", first=True)
    assert account.may("a")
    account.now += 61
    assert account.may("c", first=True)


def test_a_call_that_begins_and_is_refused_holds_nobody_up(file: Path) -> None:
    account = Account(file, 3)
    assert account.may("a")
    assert not account.may("b", first=True)
    account.settle("a", 0)
    assert account.may("c", first=True)


def test_processes_that_are_gone_hold_nothing(file: Path) -> None:
    pid = 2**22 + 1  # beyond the largest there is
    file.parent.mkdir()
    state = {"asked": [], "held": {"x": [pid, 9]}, "waiting": {"y": pid}, "largest": 0}
    file.write_text(json.dumps(state))
    assert Account(file, 5).may("a", first=True)
    assert kept(file)["held"] == {"a": [os.getpid(), 3]}


@pytest.mark.parametrize("content", ["", "[]", "{", '{"asked": 7}', '{"other": 1}'])
def test_a_file_that_cannot_be_read_begins_anew(file: Path, content: str) -> None:
    file.parent.mkdir()
    file.write_text(content)
    assert Account(file, 5).may("a")


def test_times_of_another_clock_do_not_count(file: Path) -> None:
    account = Account(file, 3)
    assert account.may("a")
    account.settle("a", 3)
    account.now -= 500
    assert account.may("a")


# -- a call


async def test_a_call_waits_for_its_turn_and_says_so(
    file: Path, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = Account(file, 3)
    pace = AgentPace(account, "a")
    await pace.open()
    asked = 0
    pace.watch(lambda: asked)
    asked = 2
    waiting = asyncio.create_task(pace.turn())
    await asyncio.sleep(0.05)
    assert not waiting.done()
    account.now += 61
    await waiting
    assert pace.note is None, "less than a second"
    pace.close()
    assert kept(file)["held"] == {}


async def test_patience_ends(file: Path, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AgentPace, "patience", 0.05)
    account = Account(file, 3)
    assert account.may("other")
    with pytest.raises(AgentRateLimit, match=r"for 0\.05 s \(patience\).*--agent-rpm"):
        await AgentPace(account, "a").turn()


async def test_who_is_cut_off_waits_no_more(file: Path, quick: None) -> None:
    account = Account(file, 3)
    assert account.may("other")
    waiting = asyncio.create_task(AgentPace(account, "a").turn())
    await asyncio.sleep(0.03)
    assert "a" in kept(file)["waiting"]
    waiting.cancel()
    await asyncio.wait({waiting})
    assert kept(file)["waiting"] == {}


class SlowPace:
    """Lets each turn wait, and counts them."""

    patience = 5.0
    note = "the caller waited"

    def __init__(self, wait: float) -> None:
        self.wait = wait
        self.asked: list[int] = []

    def watch(self, asked: Any) -> None:
        self.count = asked

    async def turn(self) -> None:
        await asyncio.sleep(self.wait)
        self.asked.append(self.count())


async def test_the_agent_is_not_spoken_to_before_its_turn_and_nobody_is_timed(kit: Any) -> None:
    bot = kit.Bot(kit.saying("Hello?"), kit.saying("Sure."), kit.leaving("Bye."))
    pace = SlowPace(0.8)  # longer than the caller may take, and than the agent may be silent
    caller = kit.Lines(Say("Hi."), HangUp("done", "Thanks."))
    async with kit.serving(bot):
        call = await kit.hold(bot, caller, pace=pace)
    assert call.end_reason is EndReason.EXIT
    assert bot.said == ["Hello", "Hi.", "Thanks."]
    assert pace.asked == [1, 2], "one request a turn"
    assert "the caller waited" in call.warnings
    assert all(
        latency.turn_end is not None and latency.turn_end < 0.7 for latency in call.latencies
    )


def test_requests_that_were_made_again_are_requests() -> None:
    ledger = Ledger()
    again = {"error": "busy", "fatal": False, "model_endpoint": {"status": 429}}
    for kind, data in (
        ("bot-llm-started", None),
        ("error", again),
        ("error", {"error": "anything else"}),
        ("error", {**again, "fatal": True}),
    ):
        ledger.note(Event(0.0, Envelope(kind, data)), 1)
    assert ledger.requests == 2
