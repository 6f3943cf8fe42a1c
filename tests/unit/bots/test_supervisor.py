from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_voiceeval.bots import supervisor

PIDS = "import os,sys; open(sys.argv[1],'a').write(f'{os.getpid()}\\n')\n"
SLEEP = PIDS + "import time; time.sleep(60)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLEEP


def parent(child: str, rest: str) -> str:
    """A bot that starts a child of its own, then goes on with `rest`."""
    start = f"subprocess.Popen([sys.executable, '-S', '-c', {child!r}, sys.argv[1]])"
    return f"{PIDS}import subprocess, time\n{start}\n{rest}"


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def wait_until(check: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.01)


class Supervised:
    def __init__(self, tmp_path: Path) -> None:
        self.pid_file = tmp_path / "pids"
        self.log = tmp_path / "log"
        self.process: subprocess.Popen[bytes]

    def start(self, program: str, grace: float = 5.0, count: int = 1) -> None:
        argv = [sys.executable, "-I", "-S", supervisor.__file__, str(grace)]
        argv += [sys.executable, "-S", "-c", program, str(self.pid_file)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        wait_until(lambda: len(self.pids) >= count)

    @property
    def pids(self) -> list[int]:
        return [int(p) for p in self.pid_file.read_text().split()] if self.pid_file.exists() else []

    def end(self, *, by_itself: bool = False) -> list[str]:
        """What it said, after it ended; `communicate` closes its stdin, which ends the bot."""
        if by_itself:
            self.process.wait(timeout=20)
        out, _ = self.process.communicate(timeout=20)
        return out.decode().splitlines()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Supervised]:
    supervised = Supervised(tmp_path)
    yield supervised
    for pid in supervised.pids:
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)
    supervised.process.kill()
    supervised.process.communicate()


def test_reports_pid_and_exit_code_of_a_bot_that_ends_by_itself(run: Supervised) -> None:
    run.start(PIDS + "sys.exit(3)")
    assert run.end(by_itself=True) == [f"started {run.pids[0]}", "exited 3 0"]
    assert run.process.returncode == 0


def test_reports_the_signal_somebody_else_sent(run: Supervised) -> None:
    run.start(SLEEP)
    os.kill(run.pids[0], signal.SIGKILL)
    assert run.end(by_itself=True)[-1] == "exited -9 0"


def test_says_why_a_program_cannot_be_started() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", supervisor.__file__, "1", "/no/such/program"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.stdout == b"failed No such file or directory\n"
    assert done.returncode == 1


@pytest.mark.parametrize("how", ["stdin closed", "SIGTERM", "SIGINT", "SIGHUP"])
def test_ends_the_bot(run: Supervised, how: str) -> None:
    run.start(SLEEP)
    if how == "stdin closed":
        assert run.process.stdin is not None
        run.process.stdin.close()
        run.process.stdin = None
    else:
        run.process.send_signal(getattr(signal, how))
    assert run.end()[-1] == "exited -15 1"
    assert not is_running(run.pids[0])


def test_kills_a_bot_that_ignores_sigterm_after_the_grace_period(run: Supervised) -> None:
    run.start(STUBBORN, grace=0.3)
    begun = time.monotonic()
    assert run.end()[-1] == "exited -9 1"
    assert 0.3 <= time.monotonic() - begun < 3


@pytest.mark.parametrize("child", [SLEEP, STUBBORN], ids=["polite child", "stubborn child"])
@pytest.mark.parametrize(
    "rest",
    ["time.sleep(60)", "time.sleep(0.3); sys.exit(4)"],
    ids=["bot is ended", "bot ends by itself"],
)
def test_ends_what_the_bot_started(run: Supervised, child: str, rest: str) -> None:
    run.start(parent(child, rest), grace=0.5, count=2)
    by_itself = "exit" in rest
    if by_itself:
        bot = int(run.process.stdout.readline().split()[1])
        wait_until(lambda: not is_running(bot))
        assert run.process.stdout.readline() == b"exited 4 0\n"
    run.end()
    assert [pid for pid in run.pids if is_running(pid)] == []


@pytest.mark.skipif(sys.platform != "linux", reason="sessions are read from /proc")
def test_ends_a_grandchild_in_a_process_group_of_its_own(run: Supervised) -> None:
    run.start(parent("import os; os.setpgid(0, 0)\n" + SLEEP, "time.sleep(60)"), count=2)
    assert len({os.getpgid(pid) for pid in run.pids}) == 2
    run.end()
    assert [pid for pid in run.pids if is_running(pid)] == []


@pytest.mark.skipif(sys.platform != "linux", reason="adopting orphans is a Linux feature")
@pytest.mark.parametrize("rest", ["time.sleep(60)", "sys.exit(4)"], ids=["ended", "by itself"])
def test_ends_a_child_that_left_the_session(run: Supervised, rest: str) -> None:
    run.start(parent("import os; os.setsid()\n" + SLEEP, "time.sleep(0.3);" + rest), count=2)
    run.end(by_itself="exit" in rest)
    assert [pid for pid in run.pids if is_running(pid)] == []


def test_without_proc_the_group_is_signalled(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(supervisor, "session_members", lambda session: None)
    monkeypatch.setattr(os, "killpg", lambda group, number: sent.append((group, number)))
    assert supervisor.signal_session(77, signal.SIGTERM)
    assert sent == [(77, signal.SIGTERM)]


def test_a_group_that_is_gone_is_nobody_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(group: int, number: int) -> None:
        raise ProcessLookupError

    monkeypatch.setattr(supervisor, "session_members", lambda session: None)
    monkeypatch.setattr(os, "killpg", gone)
    assert not supervisor.signal_session(77, 0)


def test_passes_on_ready_lines_only_and_logs_all(run: Supervised) -> None:
    ready = '{"event": "ready", "url": "ws://h:1"}'
    run.start(
        PIDS + f"print('hello'); print('''{ready}'''); print('bye'); sys.stderr.write('bad\\n')"
    )
    said = run.end(by_itself=True)
    assert said == [f"started {run.pids[0]}", f"ready {ready}", "exited 0 0"]
    assert sorted(run.log.read_text().splitlines()) == ["bad", "bye", "hello", ready]


def test_a_ready_line_in_two_pieces_is_one(run: Supervised) -> None:
    pieces = (
        "sys.stdout.write('{\"event\": \"re'); sys.stdout.flush(); time.sleep(0.2); print('ady\"}')"
    )
    run.start(PIDS + "import time\n" + pieces)
    assert run.end(by_itself=True)[1] == 'ready {"event": "ready"}'


def test_never_waits_for_a_reader(run: Supervised) -> None:
    """All but the first three short ready lines go to the log alone."""
    flood = (
        PIDS + 'line = \'{"event": "ready", "x": "%s"}\'\n'
        "for _ in range(2000): print(line % ('y' * 500)); print(line % ('y' * 5000))"
    )
    run.start(flood)
    run.process.wait(timeout=20)
    said = run.end()
    assert [line.split()[0] for line in said] == ["started", "ready", "ready", "ready", "exited"]
    assert run.log.stat().st_size > 11_000_000


def test_output_of_a_bot_that_prints_without_end_does_not_delay_its_end(run: Supervised) -> None:
    run.start(PIDS + "while True: print('x' * 1000)", grace=5)
    begun = time.monotonic()
    assert run.end()[-1] == "exited -15 1"
    assert time.monotonic() - begun < 4


def test_starts_fast_because_it_imports_little() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-I", "-S", supervisor.__file__, "1", "true"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "subprocess" in imported
    assert {"typing", "json", "asyncio", "argparse", "logging"}.isdisjoint(imported)
