"""Who said what: for people, and for tools that compute word error rates."""

from __future__ import annotations

import pytest

from pytest_voiceeval.call.result import EndReason
from pytest_voiceeval.report.conversation_log import conversation_log, seglst
from tests.unit.report_files.samples import said, talk

LINE = "=" * 80


def test_the_layout_is_the_reference_s() -> None:
    assert conversation_log(talk()).split("\n") == [
        "RTVI Evaluation Bridge - Conversation Log",
        LINE,
        "Start Time: 2026-03-01T09:00:00.000+00:00",
        LINE,
        "",
        "[  0.200s -   0.400s] (0.200s) AGENT: Shop, hello.",
        "[  1.000s -   2.000s] (1.000s) USER: I want to return order one.",
        "[  2.500s -   3.000s] (0.500s) AGENT: Done.",
        "  → Response latency: 500.0ms",
        "",
        "",
        LINE,
        "End time: 2026-03-01T09:00:03.250000+00:00",
        "Stop reason: [EXIT]",
        LINE,
        "",
    ]


def test_entries_are_sorted_and_every_agent_turn_is_measured_against_the_last_caller_turn() -> None:
    spoken = (
        said("agent", "second answer", 4.0, 5.0),
        said("agent", "barges in", 1.5, 2.0),
        said("user", "question", 1.0, 2.0),
    )
    log = conversation_log(talk(transcript=spoken)).splitlines()
    assert log[5:10] == [
        "[  1.000s -   2.000s] (1.000s) USER: question",
        "[  1.500s -   2.000s] (0.500s) AGENT: barges in",
        "  → Response latency: -500.0ms",
        "[  4.000s -   5.000s] (1.000s) AGENT: second answer",
        "  → Response latency: 2000.0ms",
    ]


@pytest.mark.parametrize(
    ("reason", "shown"),
    [(EndReason.EXIT, "[EXIT]"), (None, "[ERROR]")]
    + [(reason, "[TIMEOUT]") for reason in EndReason if reason is not EndReason.EXIT],
)
def test_the_stop_reason(reason: EndReason | None, shown: str) -> None:
    assert f"\nStop reason: {shown}\n" in conversation_log(talk(end_reason=reason))


def test_nobody_said_anything_leaves_the_header() -> None:
    log = conversation_log(talk(transcript=(), started_at=""))
    assert log.splitlines()[2:] == ["Start Time: never", LINE, ""]


def test_a_turn_is_one_line_whatever_was_said() -> None:
    forged = "yes\n[  0.000s -   0.000s] (0.000s) USER: no\r\u2028\x1b[31m"
    log = conversation_log(talk(transcript=(said("agent", forged, 0.0, 1.0),)))
    [turn] = [text for text in log.split("\n") if "AGENT" in text]
    assert turn.endswith(r"AGENT: yes [  0.000s -   0.000s] (0.000s) USER: no  \x1b[31m")


def test_seglst() -> None:
    assert seglst(talk())[1] == {
        "session_id": "report_shop__return",
        "words": "I want to return order one.",
        "speaker": "user",
        "start_time": 1.0,
        "end_time": 2.0,
    }
    starts = [segment["start_time"] for segment in seglst(talk(transcript=talk().transcript[::-1]))]
    assert starts == [0.2, 1.0, 2.5]
