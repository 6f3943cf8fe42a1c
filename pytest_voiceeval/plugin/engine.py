"""The engine: one event loop on one thread, where every bot and every call lives.

pytest is synchronous; calls are not. The main thread hands coroutines to the engine and
waits for them, and keeps long-lived things (a bot process, the scripted model) in it.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from contextlib import AbstractAsyncContextManager

T = TypeVar("T")

STOP_DEADLINE = 20.0
"""Seconds that everything held by the engine has for its own ending."""


class Engine:
    """Runs coroutines for a synchronous caller. Started on first use, stopped once."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopping: asyncio.Event | None = None
        self._residents: list[_Resident] = []

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` in the loop and wait for its result; Ctrl-C cancels it."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("the engine cannot wait for itself: await the coroutine instead")
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def hold(self, resource: AbstractAsyncContextManager[T]) -> T:
        """Enter `resource` and keep it open until the engine stops; return what it gave."""
        return self.run(self._enter(resource))

    async def _enter(self, resource: AbstractAsyncContextManager[T]) -> T:
        resident = _Resident(resource)
        value: T = await resident.enter()
        self._residents.append(resident)
        return value

    def stop(self) -> None:
        """Close what is held, newest first, and end the thread. Harmless when never started."""
        if self._loop is None or self._thread is None or self._stopping is None:
            return
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(STOP_DEADLINE + 5)
        self._loop = self._thread = self._stopping = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            ready: Future[asyncio.AbstractEventLoop] = Future()
            self._thread = threading.Thread(
                target=lambda: asyncio.run(self._main(ready)), name="voiceeval-engine", daemon=True
            )
            self._thread.start()
            self._loop = ready.result()
        return self._loop

    async def _main(self, ready: Future[asyncio.AbstractEventLoop]) -> None:
        self._stopping = asyncio.Event()
        ready.set_result(asyncio.get_running_loop())
        await self._stopping.wait()
        try:
            async with asyncio.timeout(STOP_DEADLINE):
                while self._residents:
                    await self._residents.pop().leave()
        except TimeoutError:
            # asyncio.run cancels what is left; the bots' supervisor ends their processes
            self._residents.clear()


class _Resident:
    """An async context manager entered and left in one task, as task groups require."""

    def __init__(self, resource: AbstractAsyncContextManager[Any]) -> None:
        self._resource = resource
        self._leave = asyncio.Event()
        self._entered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live())

    async def _live(self) -> None:
        try:
            async with self._resource as value:
                self._entered.set_result(value)
                await self._leave.wait()
        except BaseException as error:
            if self._entered.done():
                raise
            self._entered.set_exception(error)

    async def enter(self) -> Any:
        try:
            return await asyncio.shield(self._entered)
        except asyncio.CancelledError:
            self._task.cancel()
            raise

    async def leave(self) -> None:
        self._leave.set()
        # what a resource says while it closes must not hide what the tests said
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.exception()
