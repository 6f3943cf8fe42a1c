"""The child process: `python -m pytest_voiceeval.embedded.child`, jobs on stdin, answers on stdout.

It holds one call after the other and ends when its stdin does, also in the middle of a call. What
anything prints goes to stderr, the log.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import traceback
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING

from pytest_voiceeval.embedded.clock import Clock

if TYPE_CHECKING:
    from pytest_voiceeval.embedded.job import Answer, EmbeddedJob

STUCK = 60.0
"""Real seconds for one second of a call, after which the call counts as stuck."""


def main() -> int:
    """Hold calls until the parent is gone."""
    answers, jobs = _take_streams()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is told, and tells
    clock = Clock()
    clock.install()
    _import_all(clock)
    from pytest_voiceeval.embedded.job import Answer

    answer = Answer()  # ready
    while True:
        answers.write(_framed(answer))
        answers.flush()
        answer = _held(jobs.get(), clock)


def _take_streams() -> tuple[IO[bytes], SimpleQueue[EmbeddedJob]]:
    """Stdin and stdout for ourselves; prints go to the log from now on."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    jobs: SimpleQueue[EmbeddedJob] = SimpleQueue()
    source = os.fdopen(os.dup(0), "rb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    threading.Thread(target=_read_jobs, args=(source, jobs), daemon=True).start()
    return answers, jobs


def _read_jobs(source: IO[bytes], jobs: SimpleQueue[EmbeddedJob]) -> None:
    from pytest_voiceeval.embedded.job import unframe

    try:
        while True:
            jobs.put(unframe(source.read))
    except EOFError:
        os._exit(0)


def _import_all(clock: Clock) -> None:
    """Everything of the bots, with the log set up before anything writes to it."""
    from pytest_voiceeval.bots.stock import one_thread_for_numbers, spare_the_collector, start_log

    one_thread_for_numbers()
    from pytest_voiceeval.embedded.pair import MODEL_PORT, bot_config

    start_log(bot_config("agent", f"http://127.0.0.1:{MODEL_PORT}/v1"))
    spare_the_collector()
    clock.on_second = _not_stuck


def _not_stuck() -> None:
    faulthandler.dump_traceback_later(STUCK, exit=True, file=sys.stderr)


def _held(job: EmbeddedJob, clock: Clock) -> Answer:
    from pytest_voiceeval.call.errors import CallError
    from pytest_voiceeval.embedded.job import Answer
    from pytest_voiceeval.embedded.pair import hold

    _not_stuck()
    try:
        return Answer(conversation=hold(job, clock))
    except CallError as error:
        return Answer(error=error)
    except BaseException:  # noqa: BLE001 - foreign code; the parent tells of it
        return Answer(bug=traceback.format_exc())
    finally:
        faulthandler.cancel_dump_traceback_later()


def _framed(answer: Answer) -> bytes:
    from pytest_voiceeval.embedded.job import Answer, frame

    try:
        return frame(answer)
    except Exception:  # noqa: BLE001 - what a scenario put into its result
        return frame(Answer(bug=traceback.format_exc()))


if __name__ == "__main__":
    sys.exit(main())
