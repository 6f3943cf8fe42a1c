"""How much time does the engine save? Text calls one by one against many at once.

Runs pytest on generated tests: the five named scenarios of `eva_airline`, each as often as asked,
with scripted models that take their time, on one stock bot that serves many calls at once. What is
timed is the whole run of pytest, its start and the bot's included.

    python benchmarks/bench_engine.py                  # 300 ms on both sides: 1, 16, 50 at once
    python benchmarks/bench_engine.py --delay 0 --concurrency 50
"""

from __future__ import annotations

import argparse

from timed_run import timed_run

SCENARIOS = (
    "eva_airline::voluntary_date_change",
    "eva_airline::irrops_cancellation",
    "eva_airline::missed_flight_standby",
    "eva_airline::cancellation_refund",
    "eva_airline::escalation_edge_case",
)

CONFTEST = """
import asyncio
import functools
import os

from pytest_voiceeval.plugin import calling

DELAY = float(os.environ["BENCH_DELAY"])


class SlowCaller(calling.ScriptedCaller):
    async def reply(self, transcript):
        await asyncio.sleep(DELAY)
        return await super().reply(transcript)


calling.ScriptedCaller = SlowCaller
calling.ModelScript = functools.partial(calling.ModelScript, delay=DELAY)
"""

TESTS = """
import pytest


@pytest.mark.parametrize("number", range({repeats}))
def test_call(call, number):
    assert call.passed
"""


def run(calls: int, delay: float, concurrency: int) -> tuple[float, list[dict]]:
    """Seconds of one run, and its lines of `results.jsonl`."""
    return timed_run(
        TESTS.format(repeats=calls // len(SCENARIOS)),
        ["--scenarios", *SCENARIOS, "--voice-concurrency", str(concurrency)],
        conftest=CONFTEST,
        environment={"BENCH_DELAY": str(delay)},
    )


def main() -> None:
    """Run and print one line per concurrency; the first one is what the others are compared to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--delay", type=float, default=0.3, help="seconds of each model's answer")
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 16, 50])
    asked = parser.parse_args()
    first = 0.0
    for concurrency in asked.concurrency:
        seconds, lines = run(asked.calls, asked.delay, concurrency)
        first = first or seconds
        mean = sum(line["duration"] for line in lines) / len(lines)
        lag = max(line["loop_lag_max"] for line in lines)
        print(
            f"{len(lines)} calls, {asked.delay:g} s models, {concurrency:2} at once: "
            f"{seconds:6.1f} s (1/{first / seconds:.1f}), "
            f"a call {mean:.1f} s, worst loop lag {lag * 1000:.0f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()
