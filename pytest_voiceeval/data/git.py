"""Reading some files of a git repository, without a checkout, a prompt, or a wait without end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

FETCH = "git fetch"
"""Name of the deadline of a transfer."""

# they make git look elsewhere than where we point it: set inside hooks, for example
_LOCAL = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_SHALLOW_FILE",
)
_SETTINGS = ("-c", "gc.auto=0", "-c", "maintenance.auto=false")  # nothing that stays running
_WITHOUT_QUESTIONS = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # empty means none, also not that of ssh
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",  # no helper programs
    "LC_ALL": "C",
}
_LONGEST = 400
"""Characters of what git said that are passed on."""
_USER_PART = re.compile(r"(?<=://)[^/\s@]*@")


class GitError(RuntimeError):
    """Git could not do what it was asked; the text is one line and says why."""


class NoSuchRef(GitError):
    """The other repository has no such branch or tag."""


def shown(address: str) -> str:
    """An address without the name and password it may hold."""
    return _USER_PART.sub("", address)


class Repository:
    """An empty repository of our own, to fetch into.

    Args:
        folder: a new folder for it.
        seconds: most time of all that is asked of it together.
    """

    def __init__(self, folder: Path, seconds: float) -> None:
        self._folder = folder
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._git("init", "--quiet", "--bare", "--template=", str(folder))

    def fetch(self, address: str, ref: str) -> str:
        """Take one commit, without its history, and return its full name.

        Raises:
            NoSuchRef: the other side does not have `ref`.
            GitError: anything else went wrong.
        """
        options = ("--quiet", "--no-tags", "--depth=1", "--no-recurse-submodules")
        self._git("fetch", *options, "--", address, ref)
        return self._git("rev-parse", "--verify", "FETCH_HEAD^{commit}").decode().strip()

    def read(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of those of `paths` that the fetched commit has as files."""
        wanted = list(paths)
        asked = "".join(f"FETCH_HEAD:{path}\n" for path in wanted)
        answers = self._git("cat-file", "--batch", given=asked.encode())
        at = 0
        for path in wanted:
            head_end = answers.index(b"\n", at)
            head = answers[at:head_end].split()
            at = head_end + 1
            if len(head) != 3 or not head[2].isdigit():  # "... missing"
                continue
            size = int(head[2])
            if head[1] == b"blob":
                yield path, answers[at : at + size]
            at += size + 1

    def _git(self, command: str, *arguments: str, given: bytes = b"") -> bytes:
        where = [] if command == "init" else [f"--git-dir={self._folder}"]
        left = max(0.0, self._end - time.monotonic())
        try:
            return _run(["git", *_SETTINGS, *where, command, *arguments], given, left)
        except subprocess.TimeoutExpired:
            problem = f"{FETCH} took longer than its deadline of {self._seconds:g} s"
            raise GitError(problem) from None


def _run(command: Sequence[str], given: bytes, seconds: float) -> bytes:
    """Run git to its end; on any other way out, end it and all it started."""
    environment = {key: value for key, value in os.environ.items() if key not in _LOCAL}
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell, and paths come after `--`
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment | _WITHOUT_QUESTIONS,
            start_new_session=True,  # no terminal to ask at, and a group to end
        )
    except FileNotFoundError:
        problem = "git is not installed, or not on PATH; it is needed to fetch from a repository"
        raise GitError(problem) from None
    try:
        output, said = process.communicate(given, timeout=seconds)
    except BaseException:
        with suppress(ProcessLookupError, PermissionError):  # it has just ended
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    finally:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    if process.returncode:
        raise _error(said.decode("utf-8", "replace"), process.returncode)
    return output


def _error(said: str, status: int) -> GitError:
    """Make one line of what git said up to the first cause; what follows is advice."""
    lines = [line.strip() for line in shown(said).splitlines()]
    lines = [line for line in lines if line and not line.startswith(("warning:", "hint:"))]
    fatal = [number for number, line in enumerate(lines, 1) if line.startswith("fatal:")]
    told = [re.sub("^(fatal|error|remote): ", "", line) for line in lines[: min(fatal, default=3)]]
    text = "; ".join(told)[:_LONGEST] or f"git ended with status {status}"
    return (NoSuchRef if "couldn't find remote ref" in text else GitError)(text)
