"""How close are the latencies of a call with sound, and what does carrying it cost?

Two scripted bots talk in real time over loopback; the agent answers a known time after the caller's
last sample. The bots live in a process of their own, so that the processor time is the harness's.

    python benchmarks/bench_audio.py --calls 4 --turns 8
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from pytest_voiceeval.call.audio.percentiles import distribution
from pytest_voiceeval.call.audio.plan import SoundPlan
from pytest_voiceeval.call.audio.session import run_audio_call
from pytest_voiceeval.call.bot_caller import BotCaller
from pytest_voiceeval.call.errors import MeasurementInvalid
from pytest_voiceeval.call.limits import CallLimits
from pytest_voiceeval.call.plan import AgentLink, CallPlan
from tests.unit.audio.bots import SoundBot, asking, serving
from tests.unit.call.conftest import FakeScenario

if TYPE_CHECKING:
    from pytest_voiceeval.call.result import Conversation


def delay(call: int, turn: int) -> float:
    """Seconds after which the agent of a call answers a turn."""
    return random.Random(call * 1000 + turn).uniform(0.3, 1.2)


def agent(call: int, turns: int) -> SoundBot:
    async def script(bot: SoundBot) -> None:
        await bot.say("Good day.", 0.5)
        for turn in range(turns):
            heard = await bot.hear(quiet=0.2)
            await bot.say(f"Answer {turn}.", 1.5, at=heard + delay(call, turn))
        await bot.exit()

    return SoundBot(script, waits_for_kickoff=True)


def serve_bots(calls: int, turns: int, ready: Any, over: Any) -> None:
    """The bots' process."""

    async def main() -> None:
        from contextlib import AsyncExitStack

        async with AsyncExitStack() as stack:
            urls = []
            for call in range(calls):
                pair = (agent(call, turns), SoundBot(asking(turns, 0.4, 1.5)))
                urls.append([(await stack.enter_async_context(serving(b))).url for b in pair])
            ready.put(urls)
            await asyncio.to_thread(over.wait)

    asyncio.run(main())


async def hold(call: int, urls: list[str], folder: Path) -> Conversation:
    await asyncio.sleep(call * 0.13)
    scenario, limits = FakeScenario(), CallLimits(max_duration=600.0)
    (folder / str(call)).mkdir()
    plan = CallPlan(
        scenario,
        AgentLink(urls[0]),
        BotCaller(urls[1], scenario, limits, audio=True),
        limits=limits,
        sound=SoundPlan(folder=folder / str(call)),
    )
    try:
        return await run_audio_call(plan)
    except MeasurementInvalid as error:
        print(f"call {call}: {error}")
        if error.conversation is None:
            raise
        return error.conversation


def report(calls: list[Conversation], seconds: float, cpu: float) -> None:
    errors, underruns, worst, late, frames = [], 0, 0.0, 0, 0
    for number, call in enumerate(calls):
        assert call.sound is not None
        for exchange in call.sound.timing.exchanges:
            assert exchange.latency is not None
            errors.append((exchange.latency - delay(number, exchange.turn - 2)) * 1000)
        underruns += sum(each.underruns for each in call.sound.playout.values())
        worst = max(worst, call.sound.pace.worst)
        late += call.sound.pace.late
        frames += call.sound.pace.ticks
    found = distribution(errors)
    size = distribution([abs(error) for error in errors])
    assert found is not None
    assert size is not None
    minutes = sum(call.duration for call in calls) / 60
    print(f"{len(calls)} calls at once, {len(errors)} answers, {minutes:.1f} minutes of call")
    print(f"error of the latency, ms: mean {found.mean:+.2f}, min {found.min:+.2f}, ", end="")
    print(f"max {found.max:+.2f}; size P50 {size.p50:.2f}, P95 {size.p95:.2f}, P99 {size.p99:.2f}")
    print(f"underruns {underruns}; late frames {late} of {frames}, latest {worst * 1000:.1f} ms")
    print(f"harness: {cpu / (minutes * 60):.2%} of a core per call, in {seconds:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=4)
    parser.add_argument("--turns", type=int, default=8)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    ready, over = context.Queue(), context.Event()
    bots = context.Process(
        target=serve_bots, args=(options.calls, options.turns, ready, over), daemon=True
    )
    bots.start()
    urls = ready.get(timeout=30)

    async def talk(folder: Path) -> list[Conversation]:
        # what a first call imports is no cost of a call
        import numpy as np  # noqa: F401
        import soxr  # noqa: F401
        import websockets.asyncio.client  # noqa: F401

        nonlocal before
        before = resource.getrusage(resource.RUSAGE_SELF)
        return await asyncio.gather(*(hold(n, pair, folder) for n, pair in enumerate(urls)))

    before = resource.getrusage(resource.RUSAGE_SELF)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        calls = asyncio.run(talk(Path(folder)))
    after = resource.getrusage(resource.RUSAGE_SELF)
    over.set()
    bots.join(10)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report(calls, time.monotonic() - began, cpu)


if __name__ == "__main__":
    main()
