"""The virtual loop: time jumps, in an order that is always the same, and never past real work."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from pytest_voiceeval.embedded.clock import START, Clock
from pytest_voiceeval.embedded.loop import NothingLeft, VirtualLoop
from pytest_voiceeval.embedded.network import Listener


@pytest.fixture
def clock() -> Clock:
    return Clock()


def run(clock: Clock, work: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock)) as runner:
        return runner.run(work)


def test_the_private_attributes_of_asyncio_are_there(clock: Clock) -> None:
    loop = VirtualLoop(clock)
    assert loop._selector.select == loop._jump
    timer = loop.call_at(START + 7, print)
    assert loop._scheduled == [timer]
    assert timer.when() == START + 7
    loop.close()


def test_hours_pass_at_once_and_to_the_moment(clock: Clock) -> None:
    async def sleeps() -> list[tuple[float, str]]:
        loop = asyncio.get_running_loop()
        seen = []

        async def wait(seconds: float, name: str) -> None:
            await asyncio.sleep(seconds)
            seen.append((loop.time() - START, name))

        async with asyncio.TaskGroup() as group:
            for seconds in (7200.0, 0.25, 3600.0):
                group.create_task(wait(seconds, f"{seconds:g}"))
        return seen

    began = time.monotonic()
    assert run(clock, sleeps()) == [(0.25, "0.25"), (3600.0, "3600"), (7200.0, "7200")]
    assert time.monotonic() - began < 60
    assert clock.now == START + 7200


def test_a_cancelled_timer_is_not_jumped_to(clock: Clock) -> None:
    async def work() -> None:
        asyncio.get_running_loop().call_later(50, print).cancel()
        async with asyncio.timeout(100):
            await asyncio.sleep(1)

    run(clock, work())
    assert clock.now == START + 1


def test_work_for_a_thread_is_done_at_once(clock: Clock) -> None:
    async def work() -> tuple[str, str]:
        name = await asyncio.to_thread(lambda: threading.current_thread().name)
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 / 0)
        return name, threading.current_thread().name

    there, here = run(clock, work())
    assert there == here
    assert clock.now == START


def test_time_stands_still_while_a_thread_works(clock: Clock) -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        done, free = asyncio.Event(), threading.Event()

        def outside() -> None:
            free.wait()
            loop.call_soon_threadsafe(done.set)

        thread = threading.Thread(target=outside)
        thread.start()
        loop.call_soon(free.set)
        async with asyncio.timeout(10):
            await done.wait()
        thread.join()

    run(clock, work())
    assert clock.now == START


def test_waiting_for_what_cannot_come_is_an_error(clock: Clock) -> None:
    async def work() -> None:
        await asyncio.Event().wait()

    loop = VirtualLoop(clock)
    with pytest.raises(NothingLeft, match="there is no timer"):
        loop.run_until_complete(task := loop.create_task(work()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()


def test_no_program_is_waited_for(clock: Clock) -> None:
    async def work() -> None:
        await asyncio.create_subprocess_exec("true")

    with pytest.raises(NotImplementedError, match="no program is started on the virtual clock"):
        run(clock, work())


def test_the_clock_tells_of_seconds_and_never_goes_back(clock: Clock) -> None:
    told: list[float] = []
    clock.on_second = lambda: told.append(clock.now - START)
    for to in (0.4, 0.9, 1.1, 1.0, 1.9, 2.2):
        clock.advance(START + to)
    assert told == pytest.approx([1.1, 2.2])


async def serve(loop: VirtualLoop, port: int, answer: bytes = b"") -> Any:
    class Echo(asyncio.Protocol):
        transport: asyncio.Transport

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            assert isinstance(transport, asyncio.Transport)
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            self.transport.write(answer or data)
            if data.endswith(b"bye"):
                self.transport.close()

    return await loop.create_server(Echo, sock=Listener(port))


def test_parties_connect_in_memory(clock: Clock) -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        server = await serve(loop, 80)
        reader, writer = await asyncio.open_connection("127.0.0.1", 80)
        assert writer.get_extra_info("peername") == ("127.0.0.1", 80)
        writer.write(b"one ")
        writer.write(b"two ")
        assert await reader.readexactly(8) == b"one two "
        writer.write(b"bye")
        await writer.drain()
        assert await reader.read() == b"bye"
        writer.close()
        await writer.wait_closed()
        server.close()
        with pytest.raises(ConnectionRefusedError, match=r"nobody listens at 127\.0\.0\.1:80"):
            await asyncio.open_connection("127.0.0.1", 80)

    run(clock, work())
    assert clock.now == START


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 81), ("example.org", 80)])
def test_there_is_no_way_out(clock: Clock, host: str, port: int) -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        await serve(loop, 80)
        await asyncio.open_connection(host, port)

    with pytest.raises(ConnectionRefusedError, match=f"nobody listens at {host}:{port}"):
        run(clock, work())


def test_who_does_not_read_is_not_delivered_to(clock: Clock) -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        await serve(loop, 80, answer=b"!")
        reader, writer = await asyncio.open_connection("127.0.0.1", 80)
        pipe: Any = writer.transport
        hole = writer.get_extra_info("socket")
        pipe.pause_reading()
        writer.write(b"?")
        await asyncio.sleep(1)
        assert not reader._buffer  # type: ignore[attr-defined]
        assert hole.fileno() == -1, "as readable as a socket with something to read"
        pipe.resume_reading()
        assert await reader.readexactly(1) == b"!"
        assert hole.fileno() >= 0
        writer.close()

    run(clock, work())
