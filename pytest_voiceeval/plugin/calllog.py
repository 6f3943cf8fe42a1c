"""Log records of a call, filed with that call although others run at the same time.

Calls run ahead of the item being reported, so pytest's own capture would put their records into
whichever item is current. A context variable says whose they are.
"""

from __future__ import annotations

import logging
from collections import deque
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

MOST_RECORDS = 1000
"""Records kept of a call; the oldest go first."""

_CURRENT: ContextVar[CallLog | None] = ContextVar("voiceeval_call_log", default=None)


class CallLog:
    """What was logged during one call, as text."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=MOST_RECORDS)
        self._count = 0

    def add(self, line: str) -> None:
        """Take one formatted record."""
        self._lines.append(line)
        self._count += 1

    @property
    def text(self) -> str:
        """All of it, with a note of what was dropped; empty if nothing was logged."""
        dropped = self._count - len(self._lines)
        head = [f"({dropped} earlier records dropped)"] if dropped else []
        return "\n".join([*head, *self._lines])


@contextmanager
def filed_under(log: CallLog) -> Iterator[None]:
    """File what this task, and the tasks and threads it starts, log meanwhile."""
    token = _CURRENT.set(log)
    try:
        yield
    finally:
        _CURRENT.reset(token)


class _Filing(logging.Handler):
    """Files the records of calls; takes no notice of any other."""

    def emit(self, record: logging.LogRecord) -> None:
        log = _CURRENT.get()
        if log is not None:
            log.add(self.format(record))


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
