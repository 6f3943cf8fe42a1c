"""One rate for all processes that share a folder."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_voiceeval.call.caller_stats import Handled
from pytest_voiceeval.call.chat_faults import ChatError
from pytest_voiceeval.call.rate_cap import CapError, RateCap
from tests.unit.call_llm.provider import Say, error
from tests.unit.call_llm.test_chat_client import ask


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def cap(rpm: float, clock: Clock, folder: Path | None = None) -> RateCap:
    return RateCap(rpm, folder, clock=clock, sleep=clock.sleep)


@pytest.mark.parametrize("rpm", [1, 7, 10, 60, 500])
async def test_no_minute_holds_more_than_the_cap(rpm: int) -> None:
    clock = Clock()
    limited = cap(rpm, clock)
    times = []
    for _ in range(3 * rpm + 5):
        await limited.slot(patience=1000)
        times.append(clock.now)
    for first, later in zip(times, times[rpm:], strict=False):
        assert later - first >= 60 - 1e-3
    average = (len(times) - 1) / (times[-1] - times[0]) * 60
    assert average >= 0.85 * rpm


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 100),
    st.lists(st.floats(0, 30), min_size=1, max_size=150),
)
def test_no_minute_does_however_requests_come(rpm: int, gaps: list[float]) -> None:
    async def run() -> list[float]:
        clock = Clock()
        limited = cap(rpm, clock)
        times = []
        for gap in gaps:
            clock.now += gap
            await limited.slot(patience=10_000)
            times.append(clock.now)
        return times

    times = asyncio.run(run())
    for first, later in zip(times, times[rpm:], strict=False):
        assert later - first >= 60 - 1e-3


async def test_a_few_may_come_at_once() -> None:
    limited = cap(100, Clock())
    assert [await limited.slot(100) for _ in range(10)] == [0.0] * 10
    assert await limited.slot(100) > 0


async def test_two_users_of_a_folder_share_a_count(tmp_path: Path) -> None:
    clock = Clock()
    one, two = cap(6, clock, tmp_path / "new"), cap(6, clock, tmp_path / "new")
    waits = [await limited.slot(100) for limited in (one, two, one, two)]
    assert waits == [0.0, *[pytest.approx(10, abs=0.01)] * 3]


async def test_other_names_have_other_counts(tmp_path: Path) -> None:
    clock = Clock()
    for name in ("a", "b"):
        limited = RateCap(1, tmp_path, name, clock=clock, sleep=clock.sleep)
        assert await limited.slot(0) == 0.0


async def test_whoever_would_wait_too_long_is_told(tmp_path: Path) -> None:
    limited = cap(1, Clock(), tmp_path)
    await limited.slot(0)
    for _ in range(2):
        with pytest.raises(CapError) as raised:
            await limited.slot(patience=30)
        assert str(raised.value) == (
            "no request within 30 s at 1 a minute (the cap): the next turn is in 60 s; hold fewer "
            "calls at once or raise the cap"
        )


async def test_a_pause_holds_for_everybody(tmp_path: Path) -> None:
    clock = Clock()
    one, two = cap(60, clock, tmp_path), cap(60, clock, tmp_path)
    await one.pause(20)
    assert await two.slot(100) >= 20


@pytest.mark.parametrize("content", ["", "nonsense", "nan", "inf", "9e12"])
async def test_a_broken_file_starts_over(tmp_path: Path, content: str) -> None:
    limited = cap(1, Clock(), tmp_path)
    await limited.slot(0)
    [file] = tmp_path.glob("*.txt")  # noqa: ASYNC240
    file.write_text(content)
    assert await limited.slot(0) == 0.0


async def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CapError, match="the rate cap's file cannot be used: "):
        await cap(1, Clock(), tmp_path / "file").slot(0)


async def test_a_lock_that_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from filelock import FileLock

    monkeypatch.setattr("pytest_voiceeval.call.rate_cap.LOCK_DEADLINE", 0.1)
    limited = cap(1, Clock(), tmp_path)
    await limited.slot(0)
    [lock] = tmp_path.glob("*.lock")  # noqa: ASYNC240
    with FileLock(lock), pytest.raises(CapError, match=r"lock .* was not free in 0.1 s"):
        await limited.slot(100)


WORKER = """
import asyncio, sys, time
from pathlib import Path
from pytest_voiceeval.call.rate_cap import RateCap

async def main():
    cap = RateCap(1200, Path(sys.argv[1]))
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(60):
        await cap.slot(60)
        print(time.time())

asyncio.run(main())
"""


def test_processes_share_a_rate(tmp_path: Path) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    outputs = []
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        out, _ = worker.communicate(timeout=30)
        outputs += [float(line) for line in out.split()]
    times = sorted(outputs)
    # 120 at once, then one every 60/1081 s
    assert len(times) == 180
    assert times[-1] - times[0] >= (180 - 120) * 60 / 1081 - 0.2


# -- together with the client


async def test_the_clients_requests_are_spaced(client: Any, tmp_path: Path) -> None:
    asked, provider = await client(Say("Hi."), rpm=300, rpm_dir=tmp_path)
    begin = time.monotonic()
    for _ in range(33):
        await ask(asked)
    assert time.monotonic() - begin >= 0.5
    assert asked.stats.waited > 0
    assert len(provider.requests) == 33


async def test_a_rate_limit_pauses_all_of_them(client: Any, tmp_path: Path) -> None:
    limited, _ = await client(
        error(429, "slow down", Retry_After="0.5"), Say("Hi."), rpm=600, rpm_dir=tmp_path
    )
    await ask(limited)
    assert limited.stats.counts == {Handled.RATE_LIMITED: 1}
    assert limited.stats.waited == pytest.approx(0, abs=0.2)


async def test_no_turn_in_time(client: Any, tmp_path: Path) -> None:
    asked, provider = await client(Say("Hi."), rpm=1, rpm_dir=tmp_path, patience=2.0)
    await ask(asked)
    with pytest.raises(ChatError, match=r"no request within 2 s at 1 a minute \(the cap\)"):
        await ask(asked)
    assert len(provider.requests) == 1
