from __future__ import annotations

import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from pytest_voiceeval.bots.process import BotCommand
from pytest_voiceeval.bots.team import ENOUGH, LARGEST, BotTeam, team_size

PROGRAM = """
import json, os, time
print(json.dumps({"event": "ready", "url": f"ws://127.0.0.1:1/{os.getpid()}"}))
time.sleep(60)
"""


@pytest.fixture
def command(tmp_path: Path) -> BotCommand:
    argv = (sys.executable, "-S", "-c", PROGRAM)
    return BotCommand(argv, "agent", "agent bot", tmp_path / "bot.log", ready="line", max_calls=99)


async def leased(team: BotTeam, calls: AsyncExitStack, count: int) -> list[str]:
    return [(await calls.enter_async_context(team.lease("a call"))).url for _ in range(count)]


async def test_few_calls_have_one_bot(command: BotCommand) -> None:
    async with BotTeam(command, 2) as team, AsyncExitStack() as calls:
        assert len(set(await leased(team, calls, ENOUGH))) == 1
        assert not command.log_path.with_name("bot-2.log").exists()


async def test_more_calls_start_another_bot_with_a_log_of_its_own(command: BotCommand) -> None:
    async with BotTeam(command, 2) as team, AsyncExitStack() as calls:
        first, *_, last = await leased(team, calls, ENOUGH + 1)
        assert first != last
        assert command.log_path.with_name("bot-2.log").exists()


async def test_calls_go_to_the_bot_with_the_fewest(command: BotCommand) -> None:
    async with BotTeam(command, 2) as team, AsyncExitStack() as calls:
        urls = await leased(team, calls, 3 * ENOUGH)
        assert [urls.count(url) for url in dict.fromkeys(urls)] == [12, 12]
        await calls.aclose()
        assert set(await leased(team, calls, 2)) == set(urls)


async def test_leaving_the_team_ends_all_bots(command: BotCommand) -> None:
    async with BotTeam(command, 2) as team, AsyncExitStack() as calls:
        leases = [team.lease("a call") for _ in range(ENOUGH + 1)]
        bots = [await calls.enter_async_context(lease) for lease in leases]
    assert not any(bot.alive for bot in bots)


def test_the_size_is_that_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(range(3)), raising=False)
    assert team_size() == 3
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(range(64)), raising=False)
    assert team_size() == LARGEST
