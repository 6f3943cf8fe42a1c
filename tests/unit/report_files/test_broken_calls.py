"""Calls that break off half-way, over a real socket: what was measured until then is on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_voiceeval.call.bot_caller import BotCaller
from pytest_voiceeval.call.errors import BotKilled, CallerFailed
from pytest_voiceeval.call.result import ProcessExit
from pytest_voiceeval.call.session import AgentLink, CallPlan, run_call
from pytest_voiceeval.report.artifacts import write_unscored
from tests.unit.call.conftest import SHORT, FakeBot, FakeScenario, Lines, saying, serving
from tests.unit.report_files.samples import shop


async def killed() -> ProcessExit:
    return ProcessExit(None, 9)


async def dropping(bot: FakeBot, heard: str) -> None:
    bot.drop()


async def failing(bot: FakeBot, heard: str) -> None:
    await bot.send(("error", {"error": "out of words", "fatal": True}))


def texts(folder: Path) -> list[str]:
    turns = json.loads((folder / "transcript.json").read_text(encoding="utf-8"))
    return [turn["text"] for turn in turns]


async def test_an_agent_that_is_killed_leaves_its_turns(tmp_path: Path) -> None:
    async with serving(FakeBot(saying("One."), saying("Two."), dropping)) as bot:
        plan = CallPlan(FakeScenario(), AgentLink(bot.url, killed), Lines("a", "b"), SHORT)
        with pytest.raises(BotKilled) as broken:
            await run_call(plan)
    assert broken.value.conversation is not None
    write_unscored(tmp_path, shop(), broken.value.conversation, broken.value)
    assert texts(tmp_path) == ["One.", "a", "Two.", "b"]
    log = (tmp_path / "bridge_log.txt").read_text(encoding="utf-8")
    assert log.count("[AGENT EVENT] type=bot-llm-started") == 2
    assert "ERROR    | " in log.splitlines()[-1]
    metrics = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["scenario_duration"] > metrics["duration_seconds"] > 0
    assert metrics["latency_stats"]["count"] == 1


async def test_a_caller_s_bot_that_fails_is_in_the_log_too(tmp_path: Path) -> None:
    async with (
        serving(FakeBot(saying("Hello."))) as agent,
        serving(FakeBot(saying("Hi."), failing)) as user,
    ):
        caller = BotCaller(user.url, FakeScenario(), SHORT)
        with pytest.raises(CallerFailed) as broken:
            await run_call(CallPlan(FakeScenario(), AgentLink(agent.url), caller, SHORT))
    assert broken.value.conversation is not None
    write_unscored(tmp_path, shop(), broken.value.conversation, broken.value)
    log = (tmp_path / "bridge_log.txt").read_text(encoding="utf-8")
    assert "[USER EVENT] type=bot-llm-started" in log
    assert "[USER ERROR] fatal: out of words" in log
    times = [line[:23] for line in log.splitlines()[:-1]]
    assert times == sorted(times)
