from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_voiceeval.bots import child, ports, supervisor
from pytest_voiceeval.bots.endpoint import BotCommandError, BotStartError, session_url
from pytest_voiceeval.bots.ports import reserved_port
from pytest_voiceeval.bots.process import BotCommand, RunningBot, start_bot, stock_bot_command
from pytest_voiceeval.wire.connection import connect

READY = """
import json, os, sys, time
print(json.dumps({"event": "ready", "url": "ws://127.0.0.1:1/ws/{session}", "pid": os.getpid()}))
"""
IGNORE_SIGTERM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
WEBSOCKET_BOT = """
import asyncio, os, sys
from websockets.asyncio.server import serve
from pytest_voiceeval.wire.frames import MessageFrame, decode, encode
from pytest_voiceeval.wire.rtvi import Envelope, dump, parse

async def client(ws):
    async for data in ws:
        message = parse(decode(data).data)
        if message.type == "client-ready":
            ready = Envelope("bot-ready", {"version": "1.1.0"}, message.id)
            await ws.send(encode(MessageFrame(dump(ready))))

async def main():
    async with serve(client, "127.0.0.1", int(os.environ["WEBSOCKET_PORT"])):
        await asyncio.get_running_loop().create_future()
"""


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def wait_until_gone(pids: list[int], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while any(is_running(pid) for pid in pids):
        assert time.monotonic() < end, f"still running: {[p for p in pids if is_running(p)]}"
        time.sleep(0.02)


def is_logged(log: Path, text: str) -> bool:
    return log.exists() and text in log.read_text()


async def until_logged(log: Path, text: str) -> None:
    async with asyncio.timeout(10):
        while not is_logged(log, text):  # noqa: ASYNC110 - a file
            await asyncio.sleep(0.01)


def line_bot(tmp_path: Path, rest: str = "time.sleep(60)", **kwargs) -> BotCommand:
    argv = (sys.executable, "-c", READY + rest)
    return BotCommand(argv, "agent", "agent bot", tmp_path / "bot.log", ready="line", **kwargs)


def user_bot(tmp_path: Path, program: str, **kwargs) -> BotCommand:
    argv = (sys.executable, "-c", program, "{port}")
    return BotCommand(argv, "agent", "agent bot", tmp_path / "bot.log", **kwargs)


async def test_a_bot_with_a_ready_line(tmp_path: Path) -> None:
    async with start_bot(line_bot(tmp_path, max_calls=16)) as bot:
        assert bot.url == "ws://127.0.0.1:1/ws/{session}"
        assert bot.max_calls == 16
        assert bot.alive
        assert is_running(bot.pid)
        assert await bot.exit_info(0.01) is None
    assert not is_running(bot.pid)
    exit_info = await bot.exit_info(0)
    assert exit_info is not None
    assert (exit_info.code, exit_info.signal, exit_info.asked) == (None, signal.SIGTERM, True)


async def test_how_a_bot_ended_comes_with_its_last_lines(tmp_path: Path) -> None:
    rest = "\nfor i in range(30): print('line', i)\nprint('oh no', file=sys.stderr); sys.exit(7)"
    async with start_bot(line_bot(tmp_path, rest)) as bot:
        exit_info = await bot.exit_info(10)
        assert not bot.alive
    assert exit_info is not None
    assert (exit_info.code, exit_info.signal, exit_info.asked) == (7, None, False)
    assert len(exit_info.log_tail) == 20
    assert {"line 29", "oh no"} <= set(exit_info.log_tail)
    assert "line 5" not in exit_info.log_tail


async def test_a_bot_that_somebody_kills(tmp_path: Path) -> None:
    async with start_bot(line_bot(tmp_path)) as bot:
        os.kill(bot.pid, signal.SIGKILL)
        exit_info = await bot.exit_info(10)
    assert exit_info is not None
    assert (exit_info.signal, exit_info.asked) == (signal.SIGKILL, False)


async def test_a_bot_that_ignores_sigterm_is_killed_in_time(tmp_path: Path) -> None:
    rest = f"{IGNORE_SIGTERM}; print('deaf'); time.sleep(60)"
    async with start_bot(line_bot(tmp_path, rest, grace=0.3)) as bot:
        await until_logged(bot.log_path, "deaf")
        begun = time.monotonic()
    assert time.monotonic() - begun < 3
    assert not is_running(bot.pid)


async def test_a_bot_whose_supervisor_is_killed_ends_and_says_so(tmp_path: Path) -> None:
    async with start_bot(line_bot(tmp_path)) as bot:
        bot._child._process.kill()
        exit_info = await bot.exit_info(10)
        assert exit_info is not None
        assert (exit_info.signal, exit_info.asked) == (signal.SIGKILL, False)
        wait_until_gone([bot.pid])


async def test_a_bot_that_ends_before_it_is_ready(tmp_path: Path) -> None:
    program = "import sys; print('starting'); sys.exit('no config')"
    command = replace(line_bot(tmp_path), argv=(sys.executable, "-c", program))
    with pytest.raises(BotStartError) as caught:
        async with start_bot(command, deadline=20):
            pass
    assert str(caught.value) == (
        f"agent bot ({sys.executable}) ended before it was ready: exit code 1\n"
        f"log: {tmp_path / 'bot.log'}\n  starting\n  no config"
    )
    assert caught.value.exit is not None
    assert caught.value.exit.code == 1


async def test_a_bot_without_a_ready_line_in_time(tmp_path: Path) -> None:
    lines = 'print(\'{"event": "ready"}\'); print(\'{"event": "ready", "url": "http://x"}\')'
    program = f"import time; {lines}; time.sleep(60)"
    command = replace(line_bot(tmp_path), argv=(sys.executable, "-c", program))
    begun = time.monotonic()
    with pytest.raises(BotStartError, match=r"no ready line within 0.7 s \(bot ready\)\nlog: "):
        async with start_bot(command, deadline=0.7):
            pass
    assert time.monotonic() - begun < 5


async def test_a_program_that_cannot_be_run(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF nonsense")
    broken.chmod(0o755)
    command = replace(line_bot(tmp_path), argv=(str(broken),))
    with pytest.raises(BotCommandError, match=r"agent bot: .*broken.* cannot be run: Exec format"):
        async with start_bot(command):
            pass


async def test_a_program_that_is_missing(tmp_path: Path) -> None:
    command = replace(line_bot(tmp_path), argv=("no-such-program",))
    with pytest.raises(BotCommandError, match="'no-such-program' is not found on PATH"):
        async with start_bot(command):
            pass


async def test_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    command = replace(line_bot(tmp_path), log_path=tmp_path / "file" / "bot.log")
    with pytest.raises(BotStartError, match=r"agent bot: its log .*bot\.log cannot be written"):
        async with start_bot(command):
            pass


async def test_a_second_run_does_not_show_lines_of_the_first(tmp_path: Path) -> None:
    for word in ("first", "second"):
        async with start_bot(line_bot(tmp_path, f"print('{word}')")) as bot:
            exit_info = await bot.exit_info(10)
    assert exit_info is not None
    assert "second" in exit_info.log_tail
    assert "first" not in exit_info.log_tail
    assert "first" in bot.log_path.read_text()


async def test_secrets_of_the_environment_are_masked_in_the_tail(tmp_path: Path) -> None:
    command = line_bot(
        tmp_path, "print('key is', os.environ['SOME_API_KEY'])", env={"SOME_API_KEY": "sk-12345678"}
    )
    async with start_bot(command) as bot:
        exit_info = await bot.exit_info(10)
    assert exit_info is not None
    assert exit_info.log_tail[-1] == "key is ***"


async def test_a_users_bot_is_ready_after_a_handshake(tmp_path: Path) -> None:
    program = (
        WEBSOCKET_BOT + "assert sys.argv[1] == os.environ['WEBSOCKET_PORT']\nasyncio.run(main())"
    )
    async with start_bot(user_bot(tmp_path, program)) as bot:
        assert bot.url.startswith("ws://127.0.0.1:")
        assert bot.max_calls == 1
    assert not is_running(bot.pid)


async def test_a_users_bot_may_print_a_ready_line_instead_of_using_the_port(tmp_path: Path) -> None:
    program = (
        "import os, socket\n"
        "with socket.socket() as s: s.bind(('127.0.0.1', 0)); port = str(s.getsockname()[1])\n"
        "os.environ['WEBSOCKET_PORT'] = port\n"
        f"{WEBSOCKET_BOT}\n"
        """print('{"event": "ready", "url": "ws://127.0.0.1:%s/{session}"}' % port)\n"""
        "asyncio.run(main())"
    )
    async with start_bot(user_bot(tmp_path, program)) as bot:
        assert bot.url.endswith("/{session}")


async def test_a_port_that_was_taken_gets_a_second_try(tmp_path: Path) -> None:
    mark = tmp_path / "tried"
    program = (
        f"{WEBSOCKET_BOT}\nfrom pathlib import Path\nmark = Path({str(mark)!r})\n"
        "if not mark.exists():\n"
        "    mark.write_text(sys.argv[1])\n"
        "    sys.exit('[Errno 98] error while attempting to bind: address already in use')\n"
        "asyncio.run(main())"
    )
    async with start_bot(user_bot(tmp_path, program)) as bot:
        assert bot.alive
    assert mark.read_text().isdigit()


async def test_a_bot_that_never_listens_is_named_and_not_tried_again(tmp_path: Path) -> None:
    program = "import sys, time; print('port', sys.argv[1]); time.sleep(60)"
    with pytest.raises(BotStartError) as caught:
        async with start_bot(user_bot(tmp_path, program), deadline=0.6):
            pass
    text = str(caught.value)
    assert (
        "no handshake within 0.6 s (bot ready); the last attempt: agent at ws://127.0.0.1:" in text
    )
    assert "connection refused" in text
    assert (tmp_path / "bot.log").read_text().count("port") == 1


async def test_a_users_bot_that_ends_early_is_not_tried_again(tmp_path: Path) -> None:
    program = "import sys; print('x'); sys.exit(2)"
    with pytest.raises(BotStartError, match="ended before it was ready: exit code 2"):
        async with start_bot(user_bot(tmp_path, program)):
            pass
    assert (tmp_path / "bot.log").read_text() == "x\n"


async def test_cancelling_a_start_leaves_nothing_behind(tmp_path: Path) -> None:
    program = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    command = user_bot(tmp_path, program)

    async def start() -> None:
        async with start_bot(command):
            raise AssertionError("never ready")

    task = asyncio.create_task(start())
    await until_logged(command.log_path, "\n")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    wait_until_gone([int(command.log_path.read_text())])


def test_works_on_a_loop_outside_the_main_thread(tmp_path: Path) -> None:
    seen: list[RunningBot] = []

    async def run() -> None:
        async with start_bot(line_bot(tmp_path, "sys.exit(5)")) as bot:
            assert (await bot.exit_info(10)).code == 5
            seen.append(bot)

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    thread.join(20)
    assert [bot.alive for bot in seen] == [False]


PORTS = """
import contextlib, sys
from pytest_voiceeval.bots.ports import reserved_port

with contextlib.ExitStack() as stack:
    print(*(stack.enter_context(reserved_port()) for _ in range(100)), flush=True)
    sys.stdin.read()
"""


def test_ports_that_processes_reserve_at_the_same_time_all_differ() -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", PORTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    ports = [port for worker in workers for port in worker.stdout.readline().split()]
    for worker in workers:
        worker.communicate()
    assert len(ports) == 400
    assert len(set(ports)) == 400


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_reserved_port_can_be_bound(host: str) -> None:
    with reserved_port() as port, socket.socket() as server:
        server.bind((host, port))
        server.listen()


def test_a_machine_without_free_ports_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_free_port", lambda holder: None)
    with pytest.raises(OSError, match=r"no free TCP port on 127\.0\.0\.1"), reserved_port():
        pass


async def test_the_stock_bot_serves_many_sessions_and_ends_in_order(tmp_path: Path) -> None:
    command = stock_bot_command(
        "agent", llm_url="http://127.0.0.1:1/{session}/v1", log_path=tmp_path / "bot.log"
    )
    async with start_bot(command) as bot:
        assert bot.url.endswith("/ws/{session}")
        assert bot.max_calls == 16
        for session in ("one", "two"):
            async with connect(session_url(bot.url, session)) as connection:
                assert connection.ready.type == "bot-ready"
    exit_info = await bot.exit_info(0)
    assert exit_info is not None
    assert (exit_info.code, exit_info.asked) == (0, True)


def test_the_supervisor_has_time_to_kill_before_it_is_given_up() -> None:
    assert child.STOP_MARGIN > supervisor.KILL_WAIT + supervisor.POLL
