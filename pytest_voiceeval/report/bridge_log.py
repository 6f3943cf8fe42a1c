"""`bridge_log.txt`: what went over the wire, line by line, in words that log readers look for.

The lines have the layout of loguru's default format. Times are UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.messages import Applied, FinalResponse, error_text, parse_server_message
from pytest_voiceeval.call.minutes import SYNCED
from pytest_voiceeval.report.clock import moment
from pytest_voiceeval.report.conversation_log import by_start, stop_reason
from pytest_voiceeval.report.files import json_text, one_line
from pytest_voiceeval.report.sound import response_latencies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_voiceeval.call.result import Conversation, SideRecord, WireEvent

_SPEAKING = {"bot-started-speaking": "STARTED", "bot-stopped-speaking": "STOPPED"}


@dataclass(frozen=True, slots=True)
class _Line:
    """One line: seconds since the kickoff, level, text."""

    at: float
    text: str
    level: str = "DEBUG"


def bridge_log(conversation: Conversation, error: str | None = None) -> str:
    """The log of one call.

    Args:
        conversation: What was measured.
        error: Why there is no verdict, for a call that broke off.
    """
    talk = [_Line(0.0, "[APPLY INIT] set-up done, kickoff sent to the agent", "INFO")]
    talk += [line for event in conversation.events for line in _wire_lines(event)]
    talk += _turn_lines(conversation)
    talk = sorted(talk, key=lambda line: line.at) if conversation.started_at else []
    lines = [*talk, *_closing_lines(conversation, error)]
    began = moment(conversation, 0.0) or datetime.now(UTC)
    return "".join(f"{_render(line, began, conversation.scenario)}\n" for line in lines)


def _render(line: _Line, began: datetime, scenario: str) -> str:
    at = began + timedelta(seconds=line.at)
    time = at.isoformat(sep=" ", timespec="milliseconds").partition("+")[0]
    return f"{time} | {line.level:<8} | voiceeval.bridge:{scenario}:0 - {one_line(line.text)}"


# -- what the bots sent


def _wire_lines(event: WireEvent) -> Iterator[_Line]:
    side = event.side.upper()
    for text in _texts(side, event):
        yield _Line(event.at, text)


def _texts(side: str, event: WireEvent) -> Iterator[str]:
    if event.type in _SPEAKING:
        user_starts = side == "USER" and event.type == "bot-started-speaking"
        speaking = f"[{side} {_SPEAKING[event.type]} SPEAKING]"
        yield "[TIMING] User started speaking" if user_starts else speaking
    elif event.type == "bot-tts-text":
        yield f"[{side} TTS] {_field(event.data, 'text')}"
    elif event.type == SYNCED:
        yield f"[SYNC] {event.side}: {json_text(event.data)}"
    else:
        yield f"[{side} EVENT] type={event.type}"
        tell = _TELLERS.get(event.type)
        if tell is not None:
            yield from tell(side, event.data)


def _metrics(side: str, data: Any) -> Iterator[str]:
    for entry in _entries(data, "ttfb"):
        value = entry.get("value")
        if isinstance(value, int | float):
            yield f"[{side} METRICS] ttfb processor={entry.get('processor')} value={value:.3f}s"
    for entry in _entries(data, "tokens"):
        prompt, completion = entry.get("prompt_tokens") or 0, entry.get("completion_tokens") or 0
        yield f"[{side} METRICS] tokens prompt={prompt} completion={completion}"


def _transcription(side: str, data: Any) -> Iterator[str]:
    kind = "final" if isinstance(data, Mapping) and data.get("final") else "partial"
    yield f"[{side} STT {kind}] '{_field(data, 'text')}'"


def _action(side: str, data: Any) -> Iterator[str]:
    yield f"[{side} ACTION] {json_text(data)}"


def _server_message(side: str, data: Any) -> Iterator[str]:
    text = data.get("text") if isinstance(data, Mapping) else data
    yield f"[{side} SERVER MESSAGE] {text if isinstance(text, str) else json_text(data)}"
    match parse_server_message(data):
        case FinalResponse(payload=payload):
            yield f"[{side} FINAL RESPONSE] {payload}"
        case Applied(record=record):
            yield f"[{side} ACTION] {json_text(record)}"


def _error(side: str, data: Any) -> Iterator[str]:
    text, fatal = error_text(data)
    yield f"[{side} ERROR] {'fatal: ' if fatal else ''}{text}"


_TELLERS: dict[str, Callable[[str, Any], Iterator[str]]] = {
    "metrics": _metrics,
    "user-transcription": _transcription,
    "action": _action,
    "server-message": _server_message,
    "error": _error,
    "error-response": _error,
}


def _entries(data: Any, key: str) -> list[Mapping[str, Any]]:
    entries = data.get(key) if isinstance(data, Mapping) else None
    listed = entries if isinstance(entries, list) else []
    return [entry for entry in listed if isinstance(entry, Mapping)]


def _field(data: Any, key: str) -> str:
    return str(data.get(key, "")) if isinstance(data, Mapping) else str(data or "")


# -- what we made of it


def _turn_lines(conversation: Conversation) -> Iterator[_Line]:
    utterances = by_start(conversation.transcript)
    for utterance, latency in response_latencies(conversation, utterances):
        if latency is not None:
            text = f"[LATENCY] Response latency: {latency:.1f}ms"
            yield _Line(utterance.start, text, "INFO")
        yield _Line(utterance.end, f"[{utterance.role.upper()}] {utterance.text}", "INFO")


def _closing_lines(conversation: Conversation, error: str | None) -> Iterator[_Line]:
    at = conversation.duration
    reason = stop_reason(conversation.end_reason)
    if reason is not None:
        words = f"{reason} {conversation.end_reason}: {conversation.end_detail}"
        yield _Line(at, f"[STOP] {words}", "INFO")
    for side, record in (("agent", conversation.agent), ("user", conversation.user)):
        if record is not None:
            yield from (_Line(at, text) for text in _read_out(side, record))
    for warning in conversation.warnings:
        yield _Line(at, warning, "WARNING")
    if error is not None:
        yield _Line(at, error, "ERROR")


def _read_out(side: str, record: SideRecord) -> Iterator[str]:
    if record.context is not None:
        yield f"[CONTEXT HISTORY] {side}: {len(record.context)} messages"
    if record.actions is not None:
        count, db_hash = len(record.actions), record.db_hash
        yield f"[SCENARIO SUMMARY] {side}: {count} actions, db_hash={db_hash or 'none'}"
