"""An event loop that lives by a `Clock` and whose parties meet in memory."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.embedded.network import Network

if TYPE_CHECKING:
    import selectors
    from collections.abc import Callable

    from pytest_voiceeval.embedded.clock import Clock
    from pytest_voiceeval.embedded.network import Factory, Listener, Pipe, Server

_THREAD_PAUSE = 0.001
"""Real seconds between two looks at whether a thread has ended."""


class NothingLeft(RuntimeError):
    """Everybody waits, and for nothing that could come."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """Never waits: when nothing can run, its clock jumps to the next timer.

    Connections go through memory and work for other threads is done at once, so that nothing is
    under way which the loop does not see, and the order of events is always the same. Time stands
    still while a thread runs that somebody started all the same.

    It lives on two private attributes of asyncio's loop, its selector and its timers; a test pins
    them.

    Args:
        clock: The process's clock, installed.
    """

    _selector: selectors.BaseSelector
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        super().__init__()
        self.network = Network(self)
        self._threads = threading.active_count()
        self._look = self._selector.select
        self._selector.select = self._jump  # type: ignore[method-assign]

    def time(self) -> float:
        """The clock's time."""
        return self._clock.now

    def close(self) -> None:
        """Close it, and the network."""
        super().close()
        self.network.close()

    def _jump(self, timeout: float | None = None) -> list[Any]:
        """In place of waiting; asyncio asks with 0 if something can run."""
        if timeout is not None and timeout <= 0:
            return []
        if threading.active_count() > self._threads:
            return self._look(_THREAD_PAUSE)
        if timeout is None:
            raise NothingLeft("everybody waits, and there is no timer")
        self._clock.advance(self._scheduled[0].when())
        return []

    def run_in_executor(  # type: ignore[override]
        self,
        executor: Any,  # noqa: ARG002 - asyncio's name
        func: Callable[..., Any],
        *args: Any,
    ) -> asyncio.Future[Any]:
        """Run `func` here and now: threads would end in an order of their own."""
        future: asyncio.Future[Any] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - whoever awaits it gets it
            future.set_exception(error)
        return future

    async def create_connection(  # type: ignore[override]
        self,
        protocol_factory: Factory,
        host: str | None = None,
        port: int | None = None,
        **_options: Any,
    ) -> tuple[Pipe, asyncio.Protocol]:
        """Connect in memory."""
        return self.network.connect(protocol_factory, host, port)

    async def create_server(  # type: ignore[override]
        self, protocol_factory: Factory, *, sock: Listener, **_options: Any
    ) -> Server:
        """Serve in memory."""
        return self.network.serve(protocol_factory, sock)

    async def subprocess_exec(self, *_arguments: Any, **_options: Any) -> Any:
        """Refuse: nobody knows when a program will have ended by this clock."""
        raise NotImplementedError("no program is started on the virtual clock")
