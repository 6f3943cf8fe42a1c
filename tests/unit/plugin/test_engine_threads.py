"""Threads for blocking work: few, in order, and never in the way of the end."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading

import pytest

from pytest_voiceeval.plugin.threads import DaemonThreads


def test_results_and_errors_come_back() -> None:
    threads = DaemonThreads()
    assert threads.submit(divmod, 7, 2).result(5) == (3, 1)
    assert threads.submit(int, "11", base=2).result(5) == 3
    with pytest.raises(ZeroDivisionError):
        threads.submit(divmod, 7, 0).result(5)
    with pytest.raises(pytest.skip.Exception):
        threads.submit(pytest.skip, "not now").result(5)
    threads.shutdown()


async def test_what_would_end_an_event_loop_comes_back_as_an_error_that_names_it() -> None:
    threads = DaemonThreads()
    asyncio.get_running_loop().set_default_executor(threads)

    def raising(error: BaseException) -> None:
        raise error

    for error in (SystemExit(3), KeyboardInterrupt(), StopIteration(), asyncio.CancelledError()):
        async with asyncio.timeout(10):
            with pytest.raises(RuntimeError, match=re.escape(f"raised {error!r}")) as e:
                await asyncio.to_thread(raising, error)
        assert e.value.__cause__ is error


def test_no_more_threads_than_allowed_and_each_is_used_again() -> None:
    threads = DaemonThreads(2)
    names = {threads.submit(lambda: threading.current_thread().name).result(5) for _ in range(20)}
    assert len(names) == 1
    together = threading.Barrier(2)
    pair = [threads.submit(together.wait, 5) for _ in range(2)]
    assert sorted(future.result(5) for future in pair) == [0, 1]
    hold = threading.Event()
    both = [threads.submit(hold.wait, 5) for _ in range(2)]
    third = threads.submit(int, "3")
    assert not third.done()
    hold.set()
    assert third.result(5) == 3
    assert all(future.result(5) for future in both)
    threads.shutdown()


def test_what_was_cancelled_while_it_waited_is_not_run() -> None:
    threads = DaemonThreads(1)
    hold = threading.Event()
    threads.submit(hold.wait, 5)
    ran: list[int] = []
    waiting = threads.submit(ran.append, 1)
    assert waiting.cancel()
    hold.set()
    assert threads.submit(len, ran).result(5) == 0
    threads.shutdown()


def test_python_ends_although_a_thread_does_not() -> None:
    source = """
import threading
from pytest_voiceeval.plugin.threads import DaemonThreads
begun = threading.Event()
DaemonThreads().submit(lambda: (begun.set(), threading.Event().wait()))
assert begun.wait(5)
print("over")
"""
    ended = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=20, check=True
    )
    assert ended.stdout == "over\n"
