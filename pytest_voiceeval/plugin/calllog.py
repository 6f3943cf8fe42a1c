"""Log records of a call, filed with that call although others run at the same time.

Calls run ahead of the item being reported, so pytest's own capture would put their records into
whichever item is current. A context variable says whose they are.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.report.evaluation_log import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

MOST_RECORDS = 1000
"""Records kept of a call; the oldest go first."""

_CURRENT: ContextVar[CallLog | None] = ContextVar("voiceeval_call_log", default=None)


class CallLog:
    """What was logged during one call, and the steps the harness took in it."""

    def __init__(self) -> None:
        self._records: deque[Entry] = deque(maxlen=MOST_RECORDS)
        self._steps: list[Entry] = []
        self._count = 0

    def add(self, line: str, level: str = "INFO") -> None:
        """Take one formatted record."""
        self._records.append(Entry(time.time(), line, level))
        self._count += 1

    def step(self, text: str, level: str = "INFO") -> None:
        """Note what the harness did; it is no log record, and shows in no item's report."""
        self._steps.append(Entry(time.time(), text, level))

    @property
    def text(self) -> str:
        """All records, with a note of what was dropped; empty if nothing was logged."""
        dropped = self._count - len(self._records)
        head = [f"({dropped} earlier records dropped)"] if dropped else []
        return "\n".join([*head, *(record.text for record in self._records)])

    @property
    def entries(self) -> list[Entry]:
        """Steps and records, in the order of their time."""
        return sorted([*self._steps, *self._records], key=lambda entry: entry.at)


@contextmanager
def filed_under(log: CallLog) -> Iterator[None]:
    """File what this task, and the tasks and threads it starts, log meanwhile."""
    token = _CURRENT.set(log)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def note_step(text: str, level: str = "INFO") -> None:
    """Note a step of the call that this task or thread works for; of no call, nothing is noted."""
    log = _CURRENT.get()
    if log is not None:
        log.step(text, level)


class _Filing(logging.Handler):
    """Files the records of calls; takes no notice of any other."""

    def emit(self, record: logging.LogRecord) -> None:
        log = _CURRENT.get()
        if log is not None:
            log.add(self.format(record), record.levelname)


class _NotOfACall(logging.Filter):
    """For pytest's capture: keeps the records of calls out of the current item."""

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002
        return _CURRENT.get() is None


@contextmanager
def filing(config: pytest.Config) -> Iterator[None]:
    """File the log records of calls meanwhile, at the level and in the format of pytest's own."""
    # pytest's plugin has no public name for what it holds; without it nothing is captured
    capture: Any = config.pluginmanager.get_plugin("logging-plugin")
    handler = _Filing()
    handler.setFormatter(getattr(capture, "formatter", None))
    with ExitStack() as undo:
        for name in ("caplog_handler", "report_handler"):
            captured: logging.Handler | None = getattr(capture, name, None)
            if captured is not None:
                not_of_a_call = _NotOfACall()
                captured.addFilter(not_of_a_call)
                undo.callback(captured.removeFilter, not_of_a_call)
        root = logging.getLogger()
        # pytest lowers the level only while a test runs; calls also run between two tests
        undo.callback(root.setLevel, root.level)
        root.setLevel(min(root.level, getattr(capture, "log_level", None) or root.level))
        if not any(isinstance(other, _Filing) for other in root.handlers):
            # a run inside a run files its records once
            root.addHandler(handler)
            undo.callback(root.removeHandler, handler)
        yield
