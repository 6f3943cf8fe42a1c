"""Nothing a bot started outlives the harness, however the harness ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


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


HARNESS = """
import asyncio, pathlib, sys, threading
from pytest_voiceeval.bots.process import BotCommand, start_bot

CHILD = "import os, sys, time; open(sys.argv[1], 'a').write(f'{os.getpid()}\\\\n'); time.sleep(60)"
PRE = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\\n" if STUBBORN else ""
BOT = PRE + (
    "import os, subprocess, sys, time\\n"
    f"subprocess.Popen([sys.executable, '-S', '-c', {PRE + CHILD!r}, sys.argv[1]])\\n"
    "open(sys.argv[1], 'a').write(f'{os.getpid()}\\\\n')\\n"
    "time.sleep(0.3)\\n"
    '''print('{"event": "ready", "url": "ws://127.0.0.1:1/"}', flush=True)\\n'''
    "time.sleep(60)\\n"
)
folder = pathlib.Path(sys.argv[1])
command = BotCommand(
    (sys.executable, "-S", "-c", BOT, str(folder / "pids")),
    "agent", "agent bot", folder / "bot.log", ready="line", grace=0.5,
)

async def run():
    async with start_bot(command):
        print("up", flush=True)
        await asyncio.get_running_loop().create_future()

THREAD = IN_THREAD
if THREAD:
    threading.Thread(target=lambda: asyncio.run(run()), daemon=True).start()
    threading.Event().wait()
else:
    asyncio.run(run())
"""


@pytest.mark.parametrize("stubborn", [False, True], ids=["polite bot", "bot ignores SIGTERM"])
@pytest.mark.parametrize("in_thread", [False, True], ids=["main thread", "engine thread"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_orphans_when_the_harness_ends(
    tmp_path: Path, number: signal.Signals, in_thread: bool, stubborn: bool
) -> None:
    program = HARNESS.replace("IN_THREAD", str(in_thread)).replace("STUBBORN", str(stubborn))
    harness = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert harness.stdout is not None
    with harness.stdout as out:
        assert out.readline() == "up\n"
        pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
        assert len(pids) == 2
        os.killpg(harness.pid, number)  # as Ctrl-C does: to the whole group
        harness.wait(timeout=10)
    wait_until_gone(pids, seconds=6)


def test_no_orphan_although_a_fork_of_the_harness_keeps_our_pipe(tmp_path: Path) -> None:
    program = HARNESS.replace("IN_THREAD", "False").replace("STUBBORN", "False")
    fork = "import os, time\n        if not os.fork(): time.sleep(30)"
    program = program.replace('print("up", flush=True)', f'{fork}\n        print("up", flush=True)')
    harness = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert harness.stdout is not None
    with harness.stdout as out:
        assert out.readline() == "up\n"
        pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
        harness.kill()
        harness.wait(timeout=10)
    wait_until_gone(pids, seconds=6)
    os.killpg(harness.pid, signal.SIGKILL)
