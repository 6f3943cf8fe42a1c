"""The loop measures how late it is, for each call under way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pytest_voiceeval.plugin.watchdog import LATE, MOST_LAG, LoopLag, LoopWatch


@asynccontextmanager
async def watching() -> AsyncIterator[LoopWatch]:
    watch = LoopWatch()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(watch.run())
        await asyncio.sleep(0)
        yield watch
        task.cancel()


def block(seconds: float) -> None:
    time.sleep(seconds)


async def test_a_hold_up_is_seen_by_all_calls_under_way_and_no_other() -> None:
    async with watching() as watch:
        with watch.measuring() as first, watch.measuring() as second:
            block(0.3)
            await asyncio.sleep(0.02)
        with watch.measuring() as later:
            await asyncio.sleep(0.06)
    assert first.worst == pytest.approx(0.3, abs=0.15)
    assert second.worst >= 0.2
    assert first.late >= 1
    assert later.worst < first.worst


async def test_a_hold_up_that_lasts_to_the_end_of_a_call_counts() -> None:
    async with watching() as watch:
        with watch.measuring() as lag:
            block(0.3)
    assert lag.worst >= 0.2


async def test_a_call_that_waits_for_long_is_not_late() -> None:
    async with watching() as watch:
        with watch.measuring() as lag:
            await asyncio.sleep(0.3)
    assert not lag.invalidates
    assert lag.worst < 0.3


def test_the_limit() -> None:
    lag = LoopLag()
    for seconds in (LATE / 2, LATE * 2, MOST_LAG):
        lag.note(seconds)
    assert (lag.worst, lag.late, lag.invalidates) == (MOST_LAG, 2, False)
    lag.note(MOST_LAG + 1)
    assert lag.invalidates
    text = lag.describe()
    assert "held up for 3.0 s at worst (3 late timers; the limit is 2 s)" in text
    assert "--voice-concurrency" in text
