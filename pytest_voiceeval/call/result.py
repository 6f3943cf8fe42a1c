"""What a call leaves behind: plain, frozen data, and the words for it.

Times are seconds since the kickoff. A number nobody reported is None, never 0.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_voiceeval.call.audio.report import SoundReport
    from pytest_voiceeval.call.database import Database
    from pytest_voiceeval.call.judgement import Judgement
    from pytest_voiceeval.call.prices import Cost
    from pytest_voiceeval.call.spelling import SpokenAsWritten
    from pytest_voiceeval.scenario.registry import DomainInfo
    from pytest_voiceeval.scoring.db_diff import Change
    from pytest_voiceeval.scoring.explain import FieldDifference
    from pytest_voiceeval.scoring.signals import SuccessSignal

Side = Literal["agent", "user"]
"""Which bot; the caller is ``user`` on the wire and in artifacts."""

Record = Mapping[str, Any]
"""One recorded action, as the bot reports it."""


class EndReason(StrEnum):
    """How a conversation ended."""

    EXIT = "exit"
    CALLER_HANGUP = "caller_hangup"
    TIMEOUT = "timeout"
    TURN_LIMIT = "turn_limit"
    AGENT_SILENT = "agent_silent"
    AGENT_ERROR = "agent_error"
    AGENT_GONE = "agent_gone"
    BOTH_SILENT = "both_silent"


AGENT_FAULTS = frozenset({EndReason.AGENT_SILENT, EndReason.AGENT_ERROR, EndReason.AGENT_GONE})
"""Ends that fail the call whatever the signals say."""


@dataclass(frozen=True)
class ProcessExit:
    """How a bot's process ended: its exit code or the signal, and the end of its log."""

    code: int | None
    signal: int | None
    log_tail: tuple[str, ...] = ()


ExitProbe = Callable[[], Awaitable[ProcessExit | None]]
"""Tells how a bot's process ended, None if it still runs or is not ours."""


@dataclass(frozen=True)
class Utterance:
    """One turn's words.

    Attributes:
        role: Who spoke.
        text: The words, stripped.
        start: First sign of text or speech.
        end: Last one.
        turn: Number of the exchange: the kickoff opens 1, each line of the caller the next.
        partial: The words were begun and cut off.
    """

    role: Side
    text: str
    start: float
    end: float
    turn: int
    partial: bool = False


@dataclass(frozen=True, slots=True)
class WireEvent:
    """One message a bot sent during the talk, as far as a log needs it.

    Attributes:
        at: When it arrived; negative if that was before the kickoff.
        side: Which bot.
        type: RTVI message type.
        data: Its payload, long parts cut; None for types of which a log shows no payload.
    """

    at: float
    side: Side
    type: str
    data: Any = None


@dataclass(frozen=True)
class ToolCallSeen:
    """One function call, put together from the context, the events and the recorded actions.

    Attributes:
        turn: Exchange in which it was made.
        name: Function name; whatever the agent called, known to the scenario or not.
        arguments: None when the agent wrote something that is not a JSON object.
        result: What the tool answered, None if it never did.
        record: The action it recorded or the result it handed in, if it is known.
        writes: ``(table, record key)`` pairs of the database it changed.
        fields: The same as finely as is known, as paths: ``(table, record key, field, ...)``, list
            elements by their identity.
        side: Whose call.
        finished: False if it was still running when the call was read.
        malformed: The raw argument text when ``arguments`` is None.
    """

    turn: int
    name: str
    arguments: Mapping[str, Any] | None
    result: Any = None
    record: Record | None = None
    writes: tuple[tuple[str, str], ...] = ()
    fields: tuple[tuple[str, ...], ...] = ()
    side: Side = "agent"
    finished: bool = True
    malformed: str | None = None


@dataclass(frozen=True)
class Tokens:
    """Token usage of one side, from its ``metrics`` events: one entry is one model call."""

    calls: int
    prompt: int
    completion: int


@dataclass(frozen=True)
class TurnLatency:
    """Seconds from our message to the first text and to the last event of the agent's turn."""

    turn: int
    first_text: float | None
    turn_end: float


@dataclass(frozen=True)
class SideRecord:
    """What one bot reported, during the call and when asked at its end.

    Attributes:
        context: Its model's messages, None if they could not be read.
        actions: Its recorded actions, None if the summary could not be read.
        db_hash: Hash of its database, None if it reported none.
        db: The database itself, None unless asked for and sent.
        tokens: None if it never reported usage.
        model_runs: Model calls: usage reports, else the runs its events showed.
        uncounted_runs: Runs its events showed beyond those it reported usage of.
    """

    context: tuple[Record, ...] | None = None
    actions: tuple[Record, ...] | None = None
    db_hash: str | None = None
    db: Any = None
    tokens: Tokens | None = None
    model_runs: int = 0
    uncounted_runs: int = 0


@dataclass(frozen=True)
class Conversation:
    """Everything measured in one call, before any verdict.

    Attributes:
        scenario: Full name.
        domain: Its domain.
        end_reason: None only inside a :class:`~pytest_voiceeval.call.errors.CallError`.
        end_detail: One sentence of evidence for the end.
        transcript: Who said what; the kickoff is ours and not part of it.
        tool_calls: Of both sides, by turn.
        agent: The agent's side.
        user: The caller's side, None for a caller without a bot.
        final_responses: Payloads of the agent's ``<final_response>`` messages.
        latencies: One entry an agent turn.
        agent_turns: Completed agent turns.
        duration: From the kickoff to the end, without the read-outs.
        started_at: Wall clock of the kickoff, ISO 8601 in UTC, empty if it never came.
        expected_hash: Hash of the scenario's expected database, None if it has none.
        process_exit: How the agent's process ended, if it did and is known.
        warnings: What looked odd and changed no verdict.
        events: What the bots sent, by time.
        elapsed: Seconds the whole call took, set-up and read-outs included.
        cost: What its models cost, None as long as nobody has worked it out.
        sound: What was measured of its sound; None for a call in text. Times are then seconds since
            the first frame of the recording, a second before the kickoff.
        data: Edition and fingerprint of the domain's data, None where its pack does not tell.
    """

    scenario: str
    domain: str
    end_reason: EndReason | None = None
    end_detail: str = ""
    transcript: tuple[Utterance, ...] = ()
    tool_calls: tuple[ToolCallSeen, ...] = ()
    agent: SideRecord = field(default_factory=SideRecord)
    user: SideRecord | None = None
    final_responses: tuple[str, ...] = ()
    latencies: tuple[TurnLatency, ...] = ()
    agent_turns: int = 0
    duration: float = 0.0
    started_at: str = ""
    expected_hash: str | None = None
    process_exit: ProcessExit | None = None
    warnings: tuple[str, ...] = ()
    events: tuple[WireEvent, ...] = ()
    elapsed: float = 0.0
    cost: Cost | None = None
    sound: SoundReport | None = None
    data: DomainInfo | None = None


@dataclass(frozen=True)
class ActionDifference:
    """One part of the reference answer that was not met, or one that should not be there.

    Attributes:
        kind: ``changed`` is the nearest record that nothing else accounts for.
        reference: What was wanted, None for an extra.
        recorded: What there was, None if it is missing.
        fields: For ``changed``, what differs inside.
        path: Where it is in the answer: ``("actions", 2)``, ``("message",)``, ``()`` for the whole.
    """

    kind: Literal["missing", "extra", "changed"]
    reference: Any
    recorded: Any
    fields: tuple[FieldDifference, ...] = ()
    path: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """A signal about a call that a plugin or a conftest adds, see `pytest_voiceeval_signals`.

    Attributes:
        name: Its key in files and reports, an identifier that is no signal of ours.
        holds: The verdict; None where it does not apply.
        gates: Whether the call fails when it does not hold; else it is only shown.
        why: One sentence of evidence.
    """

    name: str
    holds: bool | None
    gates: bool = False
    why: str = ""


@dataclass(frozen=True)
class CallResult:
    """A scored call: what the ``call`` fixture returns.

    Attributes:
        scenario: Full name of the scenario.
        domain: Its domain.
        signals: Verdict of every signal, None where it does not apply.
        passed: The whitelisted signals all hold and the agent did its part; None if none applies.
        task_passed: The same without ``clean_exit``.
        stalled: Fewer agent turns than asked for.
        end_reason: How the conversation ended.
        end_detail: Evidence for it.
        transcript: Who said what.
        tool_calls: Function calls of both sides.
        actions: Recorded actions of both sides, each with its ``side``.
        prediction: What the reference answer was compared with.
        db: The agent's final database, None unless it was needed and sent.
        expected_db: The scenario's, None if it has none.
        db_hash: Hash the agent reported.
        expected_hash: Hash it should have reported.
        db_diff: Difference in the reference's shape, None if unknown: see ``db_note``.
        changes: The same, one entry a leaf.
        db_note: Why there is no diff although the hashes differ, else empty.
        action_differences: Reference actions not matched, and extras where they are disallowed.
        assertion_verdicts: One entry a database predicate, in the reference's shape.
        latencies: Text latencies, one entry an agent turn.
        tokens: Usage by side, None where a side reported none.
        agent_turns: Completed agent turns.
        model_runs: The agent's model calls.
        duration: Seconds from kickoff to end.
        breakdown: Signals by verdict: passed, failed, not_applicable, excluded.
        conversation: The raw measurements.
        warnings: What looked odd and changed no verdict.
        artifacts: Folder of this call's files, set by whoever wrote them.
        verdicts: What plugins add; their names are among `signals` and in `breakdown` too.
        judgement: What the LLM judge said, None if it was not asked.
        user_database: The caller's final database against the expected one, None if the scenario
            expects none.
        misspoken: Identifiers the agent spoke as they are written; no verdict. None where the
            scenario has no identifiers.
    """

    scenario: str
    domain: str
    signals: Mapping[SuccessSignal, bool | None]
    passed: bool | None
    task_passed: bool | None
    stalled: bool
    end_reason: EndReason
    end_detail: str
    transcript: tuple[Utterance, ...]
    tool_calls: tuple[ToolCallSeen, ...]
    actions: tuple[Record, ...]
    prediction: Sequence[Any]
    db: Any
    expected_db: Any
    db_hash: str | None
    expected_hash: str | None
    db_diff: Mapping[str, Any] | None
    changes: tuple[Change, ...] | None
    db_note: str
    action_differences: tuple[ActionDifference, ...]
    assertion_verdicts: tuple[Mapping[str, Any], ...]
    latencies: tuple[TurnLatency, ...]
    tokens: Mapping[Side, Tokens | None]
    agent_turns: int
    model_runs: int
    duration: float
    breakdown: Mapping[str, Sequence[str]]
    conversation: Conversation
    warnings: tuple[str, ...] = ()
    artifacts: Path | None = None
    verdicts: tuple[Verdict, ...] = ()
    judgement: Judgement | None = None
    user_database: Database | None = None
    misspoken: tuple[SpokenAsWritten, ...] | None = None

    @property
    def sound(self) -> SoundReport | None:
        """What was measured of its sound, in seconds; None for a call in text."""
        return self.conversation.sound

    @property
    def why_failed(self) -> tuple[str, ...]:
        """Short machine-readable reasons, empty for a call that passed or was not applicable."""
        if self.passed is not False:
            return ()
        reasons = [str(self.end_reason)] if self.end_reason in AGENT_FAULTS else []
        reasons += ["stalled"] if self.stalled else []
        for signal in self.breakdown["failed"]:
            clean_exit = str(signal) == "clean_exit"
            reasons.append(f"clean_exit ({self.end_reason})" if clean_exit else str(signal))
        return tuple(reasons)
