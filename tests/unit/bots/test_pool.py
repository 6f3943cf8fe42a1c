from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from pytest_voiceeval.bots.endpoint import Bot, BotError, LeaseTimeoutError
from pytest_voiceeval.bots.pool import BotPool

TWO = [Bot("ws://a:1"), Bot("ws://b:1")]


@pytest.fixture(params=["own bots", "shared bots"])
def lock_dir(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "locks" if request.param == "shared bots" else None


async def test_each_lease_gets_a_bot_of_its_own(lock_dir: Path | None) -> None:
    pool = BotPool(TWO, lock_dir)
    async with pool.lease("one") as first, pool.lease("two") as second:
        assert {first.url, second.url} == {"ws://a:1", "ws://b:1"}


async def test_a_bot_of_many_calls_is_leased_so_often(lock_dir: Path | None) -> None:
    pool = BotPool([Bot("ws://a:1/{session}", 3), Bot("ws://b:1")], lock_dir)
    async with AsyncExitStack() as stack:
        leased = [await stack.enter_async_context(pool.lease(f"{n}")) for n in range(4)]
        assert [bot.url[5] for bot in leased] == ["a", "b", "a", "a"]
        with pytest.raises(LeaseTimeoutError):
            await stack.enter_async_context(pool.lease("fifth", deadline=0.1))


async def test_waiting_calls_are_served_in_the_order_they_asked(lock_dir: Path | None) -> None:
    pool = BotPool(TWO[:1], lock_dir)
    order: list[int] = []

    async def call(number: int) -> None:
        async with pool.lease(f"call {number}"):
            order.append(number)
            await asyncio.sleep(0.01)

    async with asyncio.TaskGroup() as group:
        for number in range(6):
            group.create_task(call(number))
    assert order == list(range(6))


async def test_a_given_back_bot_is_taken_at_once(lock_dir: Path | None) -> None:
    pool = BotPool(TWO[:1], lock_dir)
    got: list[float] = []

    async def wait() -> None:
        async with pool.lease("second"):
            got.append(time.monotonic())

    async with asyncio.TaskGroup() as group:
        async with pool.lease("first"):
            group.create_task(wait())
            await asyncio.sleep(0.02)
            assert not got
        given_back = time.monotonic()
    assert got[0] - given_back < 0.045


async def test_no_free_bot_in_time(lock_dir: Path | None) -> None:
    pool = BotPool([Bot("ws://me:pw@a:1?token=x")], lock_dir)
    async with pool.lease("first"):
        with pytest.raises(LeaseTimeoutError) as caught:
            async with pool.lease("my call", deadline=0.1):
                pass
    text = "my call: no bot was free for 0.1 s (bot lease); bots: ws://***@a:1?token=***"
    assert str(caught.value) == text
    async with pool.lease("later", deadline=0.1):
        pass


async def test_a_cancelled_wait_and_a_failed_call_give_back(lock_dir: Path | None) -> None:
    pool = BotPool(TWO[:1], lock_dir)

    async def call() -> None:
        async with pool.lease("waits"):
            raise ValueError("call failed")

    async with pool.lease("first"):
        task = asyncio.create_task(call())
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    with pytest.raises(ValueError, match="call failed"):
        await call()
    async with pool.lease("last", deadline=0.2):
        pass


async def test_two_pools_with_one_folder_exclude_each_other(tmp_path: Path) -> None:
    one, two, other = (
        BotPool(TWO[:1], tmp_path),
        BotPool(TWO[:1], tmp_path),
        BotPool(TWO[1:], tmp_path),
    )
    async with one.lease("one"):
        with pytest.raises(LeaseTimeoutError):
            async with two.lease("two", deadline=0.2):
                pass
        async with other.lease("another bot", deadline=0.2):
            pass
    async with two.lease("two", deadline=0.2):
        pass


WORKER = """
import asyncio, pathlib, sys, time
from pytest_voiceeval.bots.endpoint import Bot
from pytest_voiceeval.bots.pool import BotPool

folder = pathlib.Path(sys.argv[1])

async def call(pool, n):
    async with pool.lease(f"call {n}") as bot:
        begun = time.monotonic()
        await asyncio.sleep(0.03)
        with open(folder / "log", "a") as log:
            log.write(f"{bot.url} {begun} {time.monotonic()}\\n")

async def main():
    pool = BotPool([Bot("ws://a:1"), Bot("ws://b:1")], folder / "locks")
    async with asyncio.TaskGroup() as group:
        for n in range(5):
            group.create_task(call(pool, n))

asyncio.run(main())
"""


def test_across_processes_a_bot_has_one_call_at_a_time(tmp_path: Path) -> None:
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path)]) for _ in range(3)]
    assert [worker.wait(timeout=60) for worker in workers] == [0, 0, 0]
    calls: dict[str, list[tuple[float, float]]] = {}
    for line in (tmp_path / "log").read_text().splitlines():
        url, begun, ended = line.split()
        calls.setdefault(url, []).append((float(begun), float(ended)))
    assert sum(len(times) for times in calls.values()) == 15
    assert set(calls) == {"ws://a:1", "ws://b:1"}
    for times in calls.values():
        times.sort()
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(times))


def test_a_bot_whose_holder_was_killed_is_free(tmp_path: Path) -> None:
    program = WORKER.replace("asyncio.sleep(0.03)", "asyncio.sleep(60)").replace(
        "begun = time", "print('held', flush=True); begun = time"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    with holder.stdout as out:
        assert [out.readline(), out.readline()] == ["held\n", "held\n"]
        with pytest.raises(LeaseTimeoutError):
            asyncio.run(lease_two(tmp_path, 0.15))
        holder.kill()
        holder.wait()
    asyncio.run(lease_two(tmp_path, 5))


async def lease_two(folder: Path, deadline: float) -> None:
    pool = BotPool(TWO, folder / "locks")
    async with pool.lease("one", deadline), pool.lease("two", deadline):
        pass


def test_an_empty_pool_is_refused() -> None:
    with pytest.raises(BotError, match="a pool needs at least one bot"):
        BotPool([])


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BotError, match=r"folder for bot locks .*file/x cannot be made"):
        BotPool(TWO, tmp_path / "file" / "x")


def test_a_lock_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    for place in BotPool(TWO, tmp_path / "locks")._places:
        assert place.lock is not None
        Path(place.lock.lock_file).mkdir()
    with pytest.raises(BotError, match=r"bot lock .*\.lock cannot be used"):
        asyncio.run(lease_two(tmp_path, 1))


def test_names_of_lock_files_hold_no_part_of_the_url(tmp_path: Path) -> None:
    pool = BotPool([Bot("ws://me:hunter2@a:1/../x?token=1", 2)], tmp_path)
    names = [Path(place.lock.lock_file).name for place in pool._places if place.lock]
    assert len(set(names)) == 2
    assert all("hunter2" not in name and "/" not in name for name in names)
