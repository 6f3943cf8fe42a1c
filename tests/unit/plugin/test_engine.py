"""The engine runs coroutines for a synchronous caller, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import wait
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pytest_voiceeval.plugin.engine import Engine, Work


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.stop()


async def answer() -> int:
    await asyncio.sleep(0)
    return 42


def engine_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "voiceeval-engine"]


def until(holds: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


class Sleeper:
    """Sleeps until it is cancelled, and takes its time to end."""

    def __init__(self) -> None:
        self.log: list[str] = []

    async def sleep(self) -> None:
        self.log.append("begun")
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            self.log.append("ended")


def test_nothing_runs_before_it_is_asked(engine: Engine) -> None:
    assert engine_threads() == []
    engine.stop()


def test_run_gives_the_result(engine: Engine) -> None:
    assert engine.run(answer()) == 42


def test_run_raises_what_the_work_raises(engine: Engine) -> None:
    async def fail() -> None:
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        engine.run(fail())
    assert engine.run(answer()) == 42


@pytest.mark.parametrize("kind", [pytest.skip.Exception, pytest.fail.Exception, KeyboardInterrupt])
def test_no_exception_of_one_work_harms_another(engine: Engine, kind: type[BaseException]) -> None:
    async def leave() -> None:
        raise kind("gone")

    sleeper = Sleeper()
    other = engine.submit(sleeper.sleep())
    work = engine.submit(leave())
    with pytest.raises(kind):
        work.future.result(5)
    assert not other.over


def test_submitted_work_runs_at_the_same_time(engine: Engine) -> None:
    together: asyncio.Barrier | None = None

    async def meet() -> int:
        nonlocal together
        together = together or asyncio.Barrier(3)
        return await together.wait()

    works = [engine.submit(meet()) for _ in range(3)]
    assert sorted(work.future.result(5) for work in works) == [0, 1, 2]


def test_cancelled_work_is_over_when_its_cleaning_up_is(engine: Engine) -> None:
    sleeper = Sleeper()
    work = engine.submit(sleeper.sleep())
    until(lambda: sleeper.log)
    work.cancel()
    wait([work.future], 5)
    assert sleeper.log == ["begun", "ended"]
    with pytest.raises(asyncio.CancelledError):
        work.future.result(0)


def test_work_cancelled_before_its_first_step_is_over_too(engine: Engine) -> None:
    async def hold_up() -> None:
        time.sleep(0.1)  # noqa: ASYNC251 - both of the next come in one go

    engine.submit(hold_up())
    work = engine.submit(answer())
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        work.future.result(5)


def test_stopping_ends_work_first_and_then_what_is_held(engine: Engine) -> None:
    sleeper = Sleeper()

    @asynccontextmanager
    async def resource(name: str) -> AsyncIterator[str]:
        yield name
        sleeper.log.append(f"closed {name}")

    assert engine.hold(resource("model")) == "model"
    assert engine.hold(resource("bot")) == "bot"
    engine.submit(sleeper.sleep())
    until(lambda: sleeper.log)
    engine.stop()
    assert sleeper.log == ["begun", "ended", "closed bot", "closed model"]
    assert engine_threads() == []


def test_a_stopped_engine_takes_nothing_more(engine: Engine) -> None:
    engine.run(answer())
    engine.stop()
    with pytest.raises(RuntimeError, match="the session is over"):
        engine.run(answer())


def test_the_engine_does_not_wait_for_itself(engine: Engine) -> None:
    async def wait_for_myself() -> None:
        engine.run(answer())

    with pytest.raises(RuntimeError, match="await the coroutine instead"):
        engine.run(wait_for_myself())


def test_a_resource_that_cannot_be_entered_says_why(engine: Engine) -> None:
    @asynccontextmanager
    async def broken() -> AsyncIterator[None]:
        raise OSError("no port")
        yield

    with pytest.raises(OSError, match="no port"):
        engine.hold(broken())
    assert engine.run(answer()) == 42


def test_a_resource_that_fails_to_close_hides_nothing(engine: Engine) -> None:
    closed: list[str] = []

    @asynccontextmanager
    async def resource(name: str, error: Exception | None) -> AsyncIterator[None]:
        yield
        closed.append(name)
        if error is not None:
            raise error

    engine.hold(resource("first", None))
    engine.hold(resource("second", OSError("stuck")))
    engine.stop()
    assert closed == ["second", "first"]


def test_what_does_not_close_in_time_is_cut_off(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_voiceeval.plugin.engine.STOP_DEADLINE", 0.1)
    cut_off: list[bool] = []

    @asynccontextmanager
    async def stuck() -> AsyncIterator[None]:
        yield
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cut_off.append(True)
            raise

    engine.hold(stuck())
    began = time.monotonic()
    engine.stop()
    assert time.monotonic() - began < 3
    assert cut_off == [True]


def test_a_thread_that_never_returns_does_not_keep_the_engine(engine: Engine) -> None:
    begun = threading.Event()
    release = threading.Event()

    def block() -> None:
        begun.set()
        release.wait(60)

    work: Work[None] = engine.submit(asyncio.to_thread(block))
    assert begun.wait(5)
    began = time.monotonic()
    engine.stop()
    assert time.monotonic() - began < 3
    assert work.over
    release.set()


def test_an_engine_that_cannot_start_says_why(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_loop() -> None:
        raise OSError("too many open files")

    monkeypatch.setattr("asyncio.runners.events.new_event_loop", no_loop)
    with pytest.raises(OSError, match="too many open files"):
        engine.run(answer())
