"""The engine: one event loop on one thread, where every bot and every call lives.

pytest is synchronous; calls are not. The main thread hands coroutines to the engine, waits for
them or looks for them later, and keeps long-lived things (a bot process, the scripted model) in it.
Two task groups own whatever runs there, so nothing outlives `Engine.stop`.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from pytest_voiceeval.plugin.threads import DaemonThreads
from pytest_voiceeval.plugin.watchdog import LoopWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextlib import AbstractAsyncContextManager

T = TypeVar("T")

STOP_DEADLINE = 20.0
"""Seconds that everything held by the engine has for its own ending."""


class Work(Generic[T]):
    """A coroutine that the engine runs for another thread.

    Attributes:
        future: Resolves once the coroutine is over, its `finally` blocks included; with
            `asyncio.CancelledError` if it was cancelled.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T]) -> None:
        self.future: Future[T] = Future()
        self._loop = loop
        self._coroutine = coroutine
        self._task: asyncio.Task[None] | None = None

    @property
    def over(self) -> bool:
        """Whether it has ended, one way or the other."""
        return self.future.done()

    def cancel(self) -> None:
        """Ask for its end, from any thread; `future` tells when it has come."""
        if not self.over:
            self._loop.call_soon_threadsafe(self._cancel)

    def start(self, group: asyncio.TaskGroup) -> None:
        """Begin, in the loop."""
        self._task = group.create_task(self._run())
        self._task.add_done_callback(self._ended)

    async def _run(self) -> None:
        try:
            result = await self._coroutine
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            self.future.set_exception(error)
        else:
            self.future.set_result(result)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            self._coroutine.close()  # it may never have had its first step
            self.future.set_exception(asyncio.CancelledError())


class Engine:
    """Runs coroutines for a synchronous caller. Started on first use, stopped once.

    Attributes:
        watch: Measures how late the loop is.
    """

    def __init__(self) -> None:
        self.watch = LoopWatch()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopping = asyncio.Event()
        self._work: asyncio.TaskGroup
        self._homes: asyncio.TaskGroup
        self._residents: list[_Resident] = []

    def submit(self, work: Coroutine[Any, Any, T]) -> Work[T]:
        """Run `work` in the loop without waiting for it.

        Raises:
            RuntimeError: The engine has stopped.
        """
        try:
            loop = self._started()
        except BaseException:
            work.close()
            raise
        handle = Work(loop, work)
        loop.call_soon_threadsafe(handle.start, self._work)
        return handle

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` in the loop and wait for its result; Ctrl-C cancels it."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("the engine cannot wait for itself: await the coroutine instead")
        handle = self.submit(work)
        try:
            return handle.future.result()
        except BaseException:
            handle.cancel()
            raise

    def hold(self, resource: AbstractAsyncContextManager[T]) -> T:
        """Enter `resource` and keep it open until the engine stops; return what it gave."""
        return self.run(self._enter(resource))

    async def _enter(self, resource: AbstractAsyncContextManager[T]) -> T:
        resident = _Resident(resource, self._homes)
        value: T = await resident.enter()
        self._residents.append(resident)
        return value

    def stop(self) -> None:
        """Cancel all work, close what is held, newest first, and end the thread.

        Harmless when never started.
        """
        if self._loop is None or self._thread is None:
            return
        with suppress(RuntimeError):  # a loop that has broken down has nothing left to stop
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(STOP_DEADLINE + 5)
        self._loop = self._thread = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._stopping.is_set():
            raise RuntimeError("the engine has stopped: the session is over")
        if self._loop is None:
            ready: Future[asyncio.AbstractEventLoop] = Future()
            self._thread = threading.Thread(
                target=self._live, args=(ready,), name="voiceeval-engine", daemon=True
            )
            self._thread.start()
            self._loop = ready.result()
        return self._loop

    def _live(self, ready: Future[asyncio.AbstractEventLoop]) -> None:
        main = self._main(ready)
        try:
            asyncio.run(main)
        except BaseException as error:
            main.close()
            if ready.done():
                raise
            ready.set_exception(error)  # no loop, for want of file handles for example

    async def _main(self, ready: Future[asyncio.AbstractEventLoop]) -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(DaemonThreads())
        try:
            async with asyncio.TaskGroup() as self._homes:
                self._homes.create_task(self.watch.run())
                await self._serve(lambda: ready.set_result(loop))
                await self._vacate()
                _stop()  # the watch, and what did not leave in time
        except* _Stopped:
            pass

    async def _serve(self, announce: Callable[[], None]) -> None:
        """Take work until told to stop; then cancel what is left of it, and see it end."""
        try:
            async with asyncio.TaskGroup() as self._work:
                announce()
                await self._stopping.wait()
                _stop()
        except* _Stopped:
            pass

    async def _vacate(self) -> None:
        """Close what is held, newest first; the bots' supervisor ends what takes too long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_DEADLINE):
                while self._residents:
                    await self._residents.pop().leave()


class _Stopped(Exception):
    """Ends a task group and what it owns."""


def _stop() -> NoReturn:
    raise _Stopped


class _Resident:
    """An async context manager entered and left in one task, as task groups require."""

    def __init__(self, resource: AbstractAsyncContextManager[Any], home: asyncio.TaskGroup) -> None:
        self._resource = resource
        self._leave = asyncio.Event()
        self._entered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._task = home.create_task(self._live())

    async def _live(self) -> None:
        try:
            async with self._resource as value:
                self._entered.set_result(value)
                await self._leave.wait()
        except BaseException as error:
            if not self._entered.done():
                self._entered.set_exception(error)
            elif isinstance(error, asyncio.CancelledError):
                raise
            # what a resource says while it closes must not hide what the tests said

    async def enter(self) -> Any:
        try:
            return await asyncio.shield(self._entered)
        except asyncio.CancelledError:
            self._task.cancel()
            raise

    async def leave(self) -> None:
        self._leave.set()
        await asyncio.wait({self._task})
