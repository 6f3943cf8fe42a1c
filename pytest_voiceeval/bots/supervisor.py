"""Own one bot's processes, and end them when the harness goes away.

Run as a child of the harness, as a plain file and with the standard library only (it must start
fast): `python -I -S supervisor.py GRACE PROGRAM ARG…`. The bot leads a session and process group
of its own, so that everything it starts can be ended with it.

The bot ends, SIGTERM first and after `GRACE` seconds SIGKILL, as soon as this process's stdin is
closed (the harness ended, however that happened), its parent changes, or it gets SIGTERM, SIGINT
or SIGHUP. When the bot ends by itself, what it left behind is ended the same way.

Lines on stdout, for the harness; few and short enough for a pipe that nobody reads:

    started PID           the bot runs
    failed TEXT           it could not be started
    ready LINE            the bot printed a line that looks like `{"event": "ready", …}`
    exited STATUS ASKED   return code, negative for a signal; 1 if the bot had been asked to end

The log is stderr: all the bot prints is copied there.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time

TYPE_CHECKING = False  # `typing` itself would cost as much as all the rest
if TYPE_CHECKING:
    from collections.abc import Callable

READY_LINES = 3
"""At most so many ready lines are passed on …"""
READY_BYTES = 4096
"""… each at most so long: together less than the smallest pipe."""
CHUNK = 65536
"""Bytes of the bot's output copied at a time."""
POLL = 1.0
"""Seconds between two looks at the parent, should its end ever not close our stdin."""
KILL_WAIT = 2.0
"""Seconds to wait for a process after SIGKILL."""


PR_SET_CHILD_SUBREAPER = 36


def emit(line: str) -> None:
    """Tell the harness, if it is still there."""
    with contextlib.suppress(OSError):
        os.write(1, line.encode("utf-8", "surrogateescape") + b"\n")


def session_members(session: int) -> list[int] | None:
    """Give the living processes of a session, and ours below it that left it.

    None where `/proc` cannot tell (not Linux).
    """
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return None
    if not names:
        return None
    parents: dict[int, int] = {}
    members: set[int] = set()
    for name in names:
        pid, parent, its_session = _of_process(name)
        parents[pid] = parent
        if its_session == session:
            members.add(pid)
    return sorted(members | _descendants(os.getpid(), parents))


def _descendants(ancestor: int, parents: dict[int, int]) -> set[int]:
    """Processes below this one: as their reaper it also has those that left the session."""
    found: set[int] = set()
    new = {ancestor}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new} - found
        found |= new
    return found - {0}


def adopt_orphans() -> None:
    """Become the parent of what the bot's processes leave behind (Linux), so that it is found."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _of_process(name: str) -> tuple[int, int, int]:
    """Process, parent and session id; parent and session 0 for one that is gone or a zombie."""
    try:
        with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()  # state, parent, group, session, …
    except OSError:
        return int(name), 0, 0
    alive = fields[0] not in (b"Z", b"X")
    return (int(name), int(fields[1]), int(fields[3])) if alive else (int(name), 0, 0)


def signal_session(leader: int, number: int) -> bool:
    """Signal the leader's group, then members of its session in other groups (`timeout` does so).

    Args:
        leader: process id of the bot, which is also the id of its group and its session.
        number: the signal; 0 only looks whether somebody is left.

    Returns:
        Whether there was anybody to signal.
    """
    members = session_members(leader)
    in_group = _send(os.killpg, leader, number) if members or members is None else False
    for pid in members or ():
        if number and _group_of(pid) != leader:
            _send(os.kill, pid, number)
    return in_group if members is None else bool(members)


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def _send(kill: Callable[[int, int], None], pid: int, number: int) -> bool:
    try:
        kill(pid, number)
    except (ProcessLookupError, PermissionError):  # the second: only zombies, on BSD
        return False
    return True


class Signals:
    """Signals that ask this process to end; caught from before the bot starts."""

    def __init__(self) -> None:
        self.asked = False
        self.fd, wake_end = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(wake_end, False)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # only to end a pending `select`
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True


class Supervisor:
    """One bot and the reasons to end it."""

    def __init__(self, bot: subprocess.Popen[bytes], grace: float, signals: Signals) -> None:
        self.bot = bot
        self.grace = grace
        self.deadline: float | None = None
        self._signals = signals
        self._alone = False
        self._output = Output(bot)
        self._parent = os.getppid()
        self._watched = [0, self._output.fd, signals.fd]

    @property
    def asked(self) -> bool:
        """Whether the bot is to end."""
        return self._alone or self._signals.asked

    def run(self) -> None:
        """Wait for the bot's end, report it, and end what it left behind."""
        while self.bot.poll() is None and not self._overdue(KILL_WAIT):
            self._wait_for_news()
            self._end_if_asked()
        self._output.copy()
        if self.bot.returncode is not None:
            emit(f"exited {self.bot.returncode} {int(self.asked)}")
            self._end_rest()

    def _overdue(self, more: float = 0.0) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline + more

    def _wait_for_news(self) -> None:
        wait = POLL if self.deadline is None else 0.05
        readable, _, _ = select.select(self._watched, [], [], wait)
        if self._signals.fd in readable:
            os.read(self._signals.fd, 512)
        if self._output.fd in readable and not self._output.copy():
            self._watched.remove(self._output.fd)
        if 0 in readable and not os.read(0, CHUNK):
            self._watched.remove(0)
            self._alone = True
        if os.getppid() != self._parent:
            self._alone = True

    def _end_if_asked(self) -> None:
        if self.asked and self.deadline is None:
            self.deadline = time.monotonic() + self.grace
            signal_session(self.bot.pid, signal.SIGTERM)
        elif self._overdue():
            signal_session(self.bot.pid, signal.SIGKILL)

    def _end_rest(self) -> None:
        self.deadline = self.deadline or time.monotonic() + self.grace
        left = signal_session(self.bot.pid, signal.SIGTERM)
        while left and not self._overdue(KILL_WAIT):
            time.sleep(0.02)
            left = signal_session(self.bot.pid, signal.SIGKILL if self._overdue() else 0)


class Output:
    """What the bot prints: copied into the log, ready lines passed on."""

    def __init__(self, bot: subprocess.Popen[bytes]) -> None:
        assert bot.stdout is not None  # noqa: S101 - asked for when it was started
        self.fd = bot.stdout.fileno()
        os.set_blocking(self.fd, False)
        self._begun = b""
        self._ready_lines = 0

    def copy(self) -> bool:
        """Copy what is there, at most one chunk; False when nothing more can come."""
        try:
            chunk = os.read(self.fd, CHUNK)
        except BlockingIOError:
            return True
        with contextlib.suppress(OSError):  # a full disk must not end the bot
            os.write(2, chunk)
        if self._ready_lines < READY_LINES:
            self._pass_on_ready(chunk)
        return bool(chunk)

    def _pass_on_ready(self, chunk: bytes) -> None:
        *lines, rest = (self._begun + chunk).split(b"\n")
        self._begun = rest[: READY_BYTES + 1]  # longer than that is no ready line
        ready = [line for line in lines if is_ready_line(line)]
        for line in ready[: READY_LINES - self._ready_lines]:
            emit("ready " + line.decode("utf-8", "replace").strip())
        self._ready_lines += len(ready)


def is_ready_line(line: bytes) -> bool:
    """Whether a printed line may be a ready line; the harness parses it."""
    looks_so = line.lstrip().startswith(b"{") and b'"event"' in line and b'"ready"' in line
    return looks_so and len(line) <= READY_BYTES


def main(argv: list[str]) -> int:
    """Run `GRACE PROGRAM ARG…`; 0 when the bot ran, whatever became of it."""
    grace, program = float(argv[0]), argv[1:]
    signals = Signals()
    adopt_orphans()
    try:
        bot = subprocess.Popen(  # noqa: S603 - the user's own command, run without a shell
            program,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # one pipe, so that the log keeps the order of the lines
            start_new_session=True,
        )
    except OSError as error:
        emit(f"failed {error.strerror or error}")
        return 1
    emit(f"started {bot.pid}")
    Supervisor(bot, grace, signals).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
