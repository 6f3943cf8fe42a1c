"""Threads for the engine's blocking work: hashing, scoring, files, and what scenarios compute."""

from __future__ import annotations

import threading
from asyncio import CancelledError
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_THREADS = 2
"""Few on purpose: each one at work makes the event loop wait for the interpreter lock."""

UNFIT = (SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration, CancelledError)
"""What asyncio takes for its own end, or that of a task, or cannot pass on at all."""

_Task = tuple[Future[Any], "Callable[[], Any]"]


class DaemonThreads(ThreadPoolExecutor):
    """An executor whose threads do not keep the interpreter from ending.

    What it runs is foreign code, a scenario's predicate for example, that may never return. The
    standard library's own executor would wait for it when Python exits.
    """

    def __init__(self, most: int = MOST_THREADS) -> None:
        super().__init__(most)
        self._most = most
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._started = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run `fn` in a thread; first come, first served."""
        future: Future[Any] = Future()
        self._tasks.put((future, lambda: fn(*args, **kwargs)))
        if not self._idle.acquire(blocking=False) and self._started < self._most:
            self._started += 1
            name = f"voiceeval-work-{self._started}"
            threading.Thread(target=self._work, name=name, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Let each thread end after its present work; never waits."""
        for _ in range(self._started):
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, function = task
            if future.set_running_or_notify_cancel():
                _resolve(future, function)
            del task, future, function
            self._idle.release()


def _resolve(future: Future[Any], function: Callable[[], Any]) -> None:
    try:
        future.set_result(function())
    except UNFIT as error:
        unfit = RuntimeError(f"code that ran in a thread raised {error!r}")
        unfit.__cause__ = error
        future.set_exception(unfit)
    except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits for the future
        future.set_exception(error)
