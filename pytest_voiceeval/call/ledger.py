"""What one bot's events tell about its side of the call: tokens, runs, calls, actions, results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.context import ContextCall, read_arguments
from pytest_voiceeval.call.messages import Applied, FinalResponse, error_text, parse_server_message
from pytest_voiceeval.call.result import Tokens
from pytest_voiceeval.call.tap import Tap
from pytest_voiceeval.scoring.delivery import read_result
from pytest_voiceeval.wire.rtvi import Envelope

if TYPE_CHECKING:
    from pytest_voiceeval.wire.backlog import Event


@dataclass
class WireCall:
    """A function call as the events showed it; what the bot keeps to itself is None."""

    id: str
    turn: int
    name: str | None = None
    arguments: Mapping[str, Any] | None = None
    result: Any = None
    stopped: bool = False


@dataclass(frozen=True)
class AppliedAction:
    """A recorded action, with the calls in progress when it was pushed."""

    turn: int
    action: Applied
    during: tuple[str, ...]


@dataclass
class Ledger:
    """Takes every event of one bot during the talk.

    Attributes:
        final_responses: What the bot handed in, as it sent it.
        applied: The actions it recorded.
        handed_in: What it handed in, where that is an object, with the calls in progress then.
        errors: Texts of the errors that were not fatal.
        calls: Function calls by id.
        tap: Passes the events on.
    """

    final_responses: list[str] = field(default_factory=list)
    applied: list[AppliedAction] = field(default_factory=list)
    handed_in: list[AppliedAction] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    calls: dict[str, WireCall] = field(default_factory=dict)
    tap: Tap = field(default_factory=Tap)
    _usage: list[tuple[int, int]] = field(default_factory=list)
    _runs_seen: int = 0
    _asked_again: int = 0

    def note(self, event: Event, turn: int) -> str | None:
        """Take one event of exchange ``turn``; return the text of a fatal error, else None."""
        self.tap.take(event)
        if not isinstance(event.kind, Envelope):
            return None
        message = event.kind
        match message.type:
            case "metrics":
                self._usage += _usage_in(message.data)
            case "bot-llm-started":
                self._runs_seen += 1
            case "server-message":
                self._server_message(message.data, turn)
            case "error":
                return self._error(message.data)
            case kind if kind.startswith("llm-function-call-"):
                self._call(kind, message.data, turn)
        return None

    @property
    def tokens(self) -> Tokens | None:
        """Usage so far, None if the bot never reported any."""
        if not self._usage:
            return None
        prompts, completions = zip(*self._usage, strict=True)
        return Tokens(len(self._usage), sum(prompts), sum(completions))

    @property
    def model_runs(self) -> int:
        """Model calls: usage reports if there are any, else the runs the events showed."""
        return len(self._usage) or self._runs_seen

    @property
    def uncounted_runs(self) -> int:
        """Model runs the events showed beyond those whose usage was reported."""
        return max(0, self._runs_seen - len(self._usage))

    @property
    def requests(self) -> int:
        """Requests to its model: the runs its events showed, and those it tried again."""
        return self._runs_seen + self._asked_again

    def _error(self, data: Any) -> str | None:
        text, fatal = error_text(data)
        if isinstance(data, Mapping) and "model_endpoint" in data and not fatal:
            self._asked_again += 1
        if not fatal:
            self.errors.append(text)
        return text if fatal else None

    def _server_message(self, data: Any, turn: int) -> None:
        match parse_server_message(data):
            case FinalResponse(payload=payload):
                self.final_responses.append(payload)
                result = read_result(payload)
                if isinstance(result, Mapping):
                    self.handed_in.append(self._during(turn, Applied(result, writes=())))
            case Applied() as action:
                self.applied.append(self._during(turn, action))

    def _during(self, turn: int, action: Applied) -> AppliedAction:
        during = tuple(call.id for call in self.calls.values() if not call.stopped)
        return AppliedAction(turn, action, during)

    def _call(self, kind: str, data: Any, turn: int) -> None:
        """Calls are told apart by id, so that an event delivered twice counts once."""
        if not isinstance(data, Mapping) or not data.get("tool_call_id"):
            return
        identity = str(data["tool_call_id"])
        call = self.calls.setdefault(identity, WireCall(identity, turn))
        call.name = data.get("function_name") or call.name
        if data.get("arguments") is not None:
            call.arguments = read_arguments(data["arguments"])[0]
        if kind == "llm-function-call-stopped":
            call.stopped = True
            call.result = data.get("result") or call.result


def as_context_calls(ledger: Ledger) -> list[ContextCall]:
    """The calls the events named, in the shape of those found in a context."""
    return [
        ContextCall(c.id, c.turn, c.name, c.arguments or {}, None, c.result, c.stopped)
        for c in ledger.calls.values()
        if c.name
    ]


def _usage_in(data: Any) -> list[tuple[int, int]]:
    entries = data.get("tokens") if isinstance(data, Mapping) else None
    if not isinstance(entries, list):
        return []
    return [
        (_count(entry.get("prompt_tokens")), _count(entry.get("completion_tokens")))
        for entry in entries
        if isinstance(entry, Mapping)
    ]


def _count(value: Any) -> int:
    """A token number; numeric text counts, anything else is nothing."""
    try:
        return max(0, int(value or 0))
    except (TypeError, ValueError, OverflowError):
        return 0
