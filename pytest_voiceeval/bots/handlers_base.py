"""What the control message handlers share: the references to a bot's parts, and their error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

ClientMessageHandler: TypeAlias = tuple[str, Callable[[Any, dict[str, Any]], Awaitable[Any]]]
"""A message type, and `async (rtvi, arguments) -> reply`; the reply must be JSON."""

QUIET_DEADLINE = 2.0
"""Seconds without progress after which a pipeline that should drain counts as stuck."""


class ControlMessageError(Exception):
    """A control message could not be carried out; the text goes to the harness."""


@dataclass
class TaskRef:
    """Holds the pipeline worker, which is made after the handlers that need it.

    Attributes:
        task: The `PipelineWorker`; None means the one the RTVI processor runs in.
        running: For runners that want to say whether it runs; not read by our handlers.
    """

    task: Any = None
    running: bool = False

    def worker(self, rtvi: Any) -> Any:
        """The pipeline worker, or None when neither this nor the processor knows it."""
        return self.task if self.task is not None else getattr(rtvi, "pipeline_worker", None)


@dataclass
class SharedStateRef:
    """Holds the dictionary a bot's tools work on (`db`, `actions`, ...).

    The dictionary is emptied and filled but never replaced, so that tools keep seeing it.
    """

    state: dict[str, Any] = field(default_factory=dict)


def kind_of(value: Any) -> str:
    """The name of a value's type, for error texts."""
    return type(value).__name__
