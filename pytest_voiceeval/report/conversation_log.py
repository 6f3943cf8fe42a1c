"""`conversation_log.txt` and `conversation_log.seglst.json`: who said what when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_voiceeval.report.clock import wall_clock
from pytest_voiceeval.report.files import one_line
from pytest_voiceeval.report.sound import response_latencies

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_voiceeval.call.result import Conversation, EndReason, Utterance

LINE = "=" * 80


def conversation_log(conversation: Conversation) -> str:
    """The conversation for people, in the reference's layout.

    Nobody said anything: the header only. A call that broke off has the stop reason `[ERROR]`,
    which the reference does not know.
    """
    header = [
        "RTVI Evaluation Bridge - Conversation Log",
        LINE,
        f"Start Time: {conversation.started_at or 'never'}",
        LINE,
        "",
    ]
    if not conversation.transcript:
        return "\n".join(header) + "\n"
    end = wall_clock(conversation, conversation.duration)
    reason = stop_reason(conversation.end_reason) or "[ERROR]"
    footer = ["", "", LINE, f"End time: {end or 'never'}", f"Stop reason: {reason}", LINE]
    return "\n".join([*header, *_turns(conversation), *footer]) + "\n"


def seglst(conversation: Conversation) -> list[dict[str, Any]]:
    """The utterances as SegLST: what tools that compute word error rates read."""
    return [
        {
            "session_id": conversation.scenario or "evaluation",
            "words": utterance.text,
            "speaker": utterance.role,
            "start_time": utterance.start,
            "end_time": utterance.end,
        }
        for utterance in by_start(conversation.transcript)
    ]


def stop_reason(reason: EndReason | None) -> str | None:
    """The reference's two words for how a call ended; None for one that broke off."""
    if reason is None:
        return None
    return "[EXIT]" if reason == "exit" else "[TIMEOUT]"


def by_start(utterances: Sequence[Utterance]) -> list[Utterance]:
    """In the order in which they began; what began at once keeps its order."""
    return sorted(utterances, key=lambda utterance: utterance.start)


def _turns(conversation: Conversation) -> Iterable[str]:
    utterances = by_start(conversation.transcript)
    for utterance, latency in response_latencies(conversation, utterances):
        start, end = utterance.start, utterance.end
        who = utterance.role.upper()
        yield (
            f"[{start:7.3f}s - {end:7.3f}s] ({end - start:.3f}s) {who}: {one_line(utterance.text)}"
        )
        if latency is not None:
            yield f"  → Response latency: {latency:.1f}ms"
