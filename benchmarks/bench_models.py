"""Do calls with slow models on both sides overlap? 50 calls, models that take 400 ms an answer.

Runs pytest on one scenario, as often as asked for, with `--agent-model` and `--caller-url` on an
endpoint that plays both sides and takes its time. The run should take about as long as its longest
call times the number of calls over the concurrency; what it took beyond that is printed, with the
start of pytest and of the bot, which are part of it. The endpoint runs in this process, so that
three processes share the machine.

    python benchmarks/bench_models.py                       # 50 calls, 0.4 s: 10, 25, 50 at once
    python benchmarks/bench_models.py --calls 10 --concurrency 5 --workers 2
"""

from __future__ import annotations

import argparse
import math

from timed_run import timed_run

from pytest_voiceeval.bots.script_player import Script
from pytest_voiceeval.bots.scripted_model import serve_scripted_model
from pytest_voiceeval.plugin.engine import Engine
from pytest_voiceeval.scenario.registry import get_eval_scenario

SCENARIO = "eva_airline__cancellation_refund"

TESTS = """
import pytest


@pytest.mark.voiceeval(scenario="{scenario}")
@pytest.mark.parametrize("number", range({calls}))
def test_call(call, number):
    assert call.passed
"""


def serve(engine: Engine, delay: float) -> list[str]:
    """Play both sides; the options that name them."""
    model = engine.hold(serve_scripted_model())
    scenario = get_eval_scenario(SCENARIO)
    for role in ("agent", "user"):
        model.play(role, Script(scenario.reference_dialogue, role=role, delay=delay))
    return [
        *("--agent-model", "scripted", "--agent-llm-url", model.url("agent")),
        *("--caller-model", "scripted", "--caller-url", model.url("user")),
    ]


def run(calls: int, concurrency: int, options: list[str]) -> tuple[float, list[dict]]:
    """Seconds of one run, and its lines of `results.jsonl`."""
    tests = TESTS.format(scenario=SCENARIO, calls=calls)
    more = ["--voice-offline", "--voice-concurrency", str(concurrency), *options]
    return timed_run(tests, more)


def main() -> None:
    """Run and print one line per concurrency."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--delay", type=float, default=0.4, help="seconds of each model's answer")
    parser.add_argument("--concurrency", type=int, nargs="+", default=[10, 25, 50])
    parser.add_argument("--workers", type=int, default=1, help="processes of pytest")
    asked = parser.parse_args()
    engine = Engine()
    options = serve(engine, asked.delay)
    options += ["-n", str(asked.workers)] if asked.workers > 1 else []
    for concurrency in asked.concurrency:
        each = math.ceil(concurrency / asked.workers)
        seconds, lines = run(asked.calls, each, options)
        longest = max(line["duration"] for line in lines)
        ideal = longest * max(1.0, asked.calls / (each * asked.workers))
        lag = max(line["loop_lag_max"] for line in lines)
        print(
            f"{len(lines)} calls, {asked.delay:g} s models on both sides, "
            f"{each * asked.workers:2} at once: {seconds:5.1f} s, longest call {longest:.1f} s, "
            f"ideal {ideal:.1f} s (x {seconds / ideal:.2f}), worst loop lag {lag * 1000:.0f} ms",
            flush=True,
        )
    engine.stop()


if __name__ == "__main__":
    main()
