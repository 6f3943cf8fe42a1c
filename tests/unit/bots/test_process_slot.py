from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_voiceeval.bots.endpoint import BotGaveUpError, BotStartError, LeaseTimeoutError
from pytest_voiceeval.bots.process import BotCommand
from pytest_voiceeval.bots.slot import BotSlot

PROGRAM = """
import json, os, time
print(json.dumps({"event": "ready", "url": f"ws://127.0.0.1:1/{os.getpid()}"}))
time.sleep(60)
"""


@pytest.fixture
def command(tmp_path: Path) -> BotCommand:
    argv = (sys.executable, "-S", "-c", PROGRAM)
    return BotCommand(argv, "agent", "agent bot", tmp_path / "bot.log", ready="line")


async def test_a_bot_starts_when_first_needed_and_only_once(command: BotCommand) -> None:
    async with BotSlot(replace(command, max_calls=4)) as slot:
        assert not command.log_path.exists()
        bots = await asyncio.gather(*(slot.running() for _ in range(4)))
        assert len({bot.pid for bot in bots}) == 1
        assert slot.restarts == 0
    assert not bots[0].alive


async def test_a_dead_bot_is_replaced_and_its_end_stays_known(command: BotCommand) -> None:
    async with BotSlot(command) as slot:
        async with slot.lease("first call") as bot:
            first = bot
            os.kill(bot.pid, signal.SIGKILL)
            assert await bot.exit_info(10)
        async with slot.lease("second call") as bot:
            assert bot.pid != first.pid
            assert bot.alive
            assert bot.url != first.url
        assert slot.restarts == 1
        exit_info = await first.exit_info(0)
        assert exit_info is not None
        assert (exit_info.signal, exit_info.asked) == (signal.SIGKILL, False)


async def test_a_death_that_was_not_reported_yet_is_noticed(command: BotCommand) -> None:
    async with BotSlot(command) as slot:
        first = await slot.running()
        os.kill(first.pid, signal.SIGKILL)
        wait_until_gone(first.pid)  # without giving the loop a chance to hear of it
        assert first.alive
        second = await slot.running()
        assert second.pid != first.pid


def wait_until_gone(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        for _ in range(1000):
            os.kill(pid, 0)
            time.sleep(0.01)
        pytest.fail("the process did not go away")


async def test_places_are_leased_in_order(command: BotCommand) -> None:
    order: list[int] = []

    async def call(slot: BotSlot, number: int) -> None:
        async with slot.lease(f"call {number}"):
            order.append(number)
            await asyncio.sleep(0.01)

    async with BotSlot(command) as slot, asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(call(slot, number))
    assert order == [0, 1, 2, 3]


async def test_no_place_in_time(command: BotCommand) -> None:
    async with BotSlot(command) as slot, slot.lease("first"):
        with pytest.raises(LeaseTimeoutError) as caught:
            async with slot.lease("my call", deadline=0.05):
                pass
    text = "my call: all 1 places of the agent bot were taken for 0.05 s (bot lease)"
    assert str(caught.value) == text


async def test_a_bot_that_does_not_start_is_not_tried_for_ever(command: BotCommand) -> None:
    bad = replace(command, argv=(sys.executable, "-c", "print('no licence'); raise SystemExit(4)"))
    async with BotSlot(bad) as slot:
        for _ in range(2):
            with pytest.raises(BotStartError, match="exit code 4") as caught:
                await slot.running()
            assert not isinstance(caught.value, BotGaveUpError)
        with pytest.raises(BotGaveUpError) as given_up:
            await slot.running()
    text = str(given_up.value)
    assert "ended before it was ready: exit code 4" in text
    assert "no licence" in text
    assert text.endswith("(not tried again after 2 failed starts)")
    assert command.log_path.read_text().count("no licence") == 2


async def test_a_bot_that_died_too_often_is_not_started_again(command: BotCommand) -> None:
    async with BotSlot(command, max_restarts=1) as slot:
        for _ in range(2):
            bot = await slot.running()
            os.kill(bot.pid, signal.SIGKILL)
            await bot.exit_info(10)
        with pytest.raises(BotGaveUpError) as caught:
            await slot.running()
    assert str(caught.value) == (
        "agent bot: died 2 times (at last: killed by SIGKILL); it is not started again\n"
        f"log: {command.log_path}"
    )
