"""How much time does judging add? The same text calls without a judge and with one.

Runs pytest on generated tests: scenarios of `eva_airline`, each as often as asked for, on one stock
bot that serves many calls at once. The judge is an endpoint on this machine that takes its time.
What is timed is the whole run of pytest, its start and the bot's included.

    python benchmarks/bench_judge.py                    # 50 calls, a judge that takes 300 ms
    python benchmarks/bench_judge.py --delay 2 --judges 8 16
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from timed_run import timed_run

if TYPE_CHECKING:
    from collections.abc import Iterator

SCENARIOS = ("voluntary_date_change", "cancellation_refund")

TESTS = """
import pytest


@pytest.mark.parametrize("number", range({repeats}))
def test_call(call, number):
    assert call.passed
"""

VERDICT = {"score": 1.0, "reason": "fine"}
COMPLETION = {"choices": [{"message": {"content": json.dumps(VERDICT)}, "finish_reason": "stop"}]}


@contextmanager
def judge(delay: float) -> Iterator[tuple[str, list[int]]]:
    """Serve a judge; give its URL, and the sizes of the requests it got."""
    sizes: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sizes.append(len(self.rfile.read(int(self.headers["Content-Length"]))))
            time.sleep(delay)
            data = json.dumps(COMPLETION).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1", sizes
    server.shutdown()


def run(calls: int, *options: str) -> float:
    """Seconds of one run, all of whose calls must pass."""
    wanted = ("--scenarios", *(f"eva_airline::{scenario}" for scenario in SCENARIOS))
    seconds, _ = timed_run(TESTS.format(repeats=calls // len(SCENARIOS)), [*options, *wanted])
    return seconds


def main() -> None:
    """Print the time without a judge, then what is added, by how many calls are judged at once."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--delay", type=float, default=0.3, help="seconds of each verdict")
    parser.add_argument("--judges", type=int, nargs="*", help="values of --judge-concurrency")
    asked = parser.parse_args()
    alone = run(asked.calls)
    print(f"{asked.calls} calls, no judge: {alone:.1f} s", flush=True)
    for judges in asked.judges or (None,):
        more = () if judges is None else ("--judge-concurrency", str(judges))
        with judge(asked.delay) as (url, sizes):
            seconds = run(asked.calls, "--judge-url", url, "--judge-model", "bench", *more)
        print(
            f"{len(sizes)} verdicts of {asked.delay:g} s, {judges or 'default'} at once: "
            f"{seconds:.1f} s, {seconds - alone:+.1f} s; "
            f"{sum(sizes) / len(sizes) / 1024:.0f} kB a request",
            flush=True,
        )


if __name__ == "__main__":
    main()
