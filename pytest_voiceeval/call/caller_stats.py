"""What had to be handled while a model played the caller, counted for the call's warnings."""

from __future__ import annotations

from collections import Counter
from enum import Enum

SHOWN_DETAILS = 5
"""Most details that a warning lists."""


class Handled(Enum):
    """Something that was handled; the value says it to people."""

    RATE_LIMITED = "rate-limited by its provider and asked again"
    SERVER_ERROR = "asked again after a server error"
    TIMED_OUT = "asked again after a timeout"
    DISCONNECTED = "asked again after a connection error"
    BROKEN_ANSWER = "asked again after an answer that broke off or could not be read"
    PARAMETER_REFUSED = "asked without a parameter that its endpoint refuses"
    TOOLS_REFUSED = "asked for an end marker because its endpoint takes no tools"
    NOT_STREAMED = "answered in one piece although asked for a stream"
    THOUGHT = "thinking was left out of its reply"
    STAGE_DIRECTION = "a stage direction was left out of its reply"
    MARKUP = "markup was left out of its reply"
    PREFIX = "a speaker's name was left out of its reply"
    BOTH_PARTS = "the agent's lines were cut off its reply"
    TOO_LONG = "its reply was cut at the end of a sentence (max_words)"
    LENGTH_STOP = "its reply was cut short by the token limit (max_tokens)"
    WRITTEN_END = "ended the call in plain text instead of by the tool"
    UNKNOWN_TOOL = "called a tool that a caller does not have"
    SILENT_HANG_UP = "hung up without a word, so a goodbye was said for it"
    EARLY_HANG_UP = "hung up while it asked for something, so it was heard out first"
    EMPTY = "asked again after a reply without words"
    CONFUSED = "asked again after it spoke as if it were the agent"
    REFUSED = "asked again after it refused to play the caller"
    REPEATED = "said again what it had said before"
    INVENTED = "said an identifier that neither its scenario nor the agent had named"


class CallerStats:
    """Counts, and a few details of each kind.

    Attributes:
        counts: How often each thing was handled.
        waited: Seconds spent waiting for the rate cap.
    """

    def __init__(self) -> None:
        self.counts: Counter[Handled] = Counter()
        self.waited = 0.0
        self._details: dict[Handled, list[str]] = {}

    def note(self, what: Handled, detail: str = "") -> None:
        """Count one."""
        self.counts[what] += 1
        details = self._details.setdefault(what, [])
        if detail and detail not in details:
            details.append(detail)

    def warnings(self) -> tuple[str, ...]:
        """One line a kind, in the order of first appearance."""
        lines = [self._line(what) for what in self.counts]
        if self.waited >= 1:
            lines.append(f"the caller's model waited {self.waited:.1f} s for its rate cap (rpm)")
        return tuple(lines)

    def _line(self, what: Handled) -> str:
        times = self.counts[what]
        details = self._details[what]
        more = ", ..." if len(details) > SHOWN_DETAILS else ""
        shown = f": {', '.join(details[:SHOWN_DETAILS])}{more}" if details else ""
        how_often = "once" if times == 1 else f"{times} times"
        return f"the caller's model, {how_often}: {what.value}{shown}"
