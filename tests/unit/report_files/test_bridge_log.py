"""The log of the wire: the tagged lines that log readers look for, in order, one an event."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pytest_voiceeval.call.ledger import Ledger
from pytest_voiceeval.call.result import SideRecord
from pytest_voiceeval.call.tap import LONGEST_TEXT, MOST_EVENTS, MOST_ITEMS, Tap
from pytest_voiceeval.report.bridge_log import bridge_log
from pytest_voiceeval.wire.backlog import Event
from pytest_voiceeval.wire.frames import AudioFrame
from pytest_voiceeval.wire.rtvi import Envelope
from tests.unit.report_files.samples import agent, heard, talk

LAYOUT = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \| (DEBUG|INFO|WARNING|ERROR) * \| \S+:\S+:0 - .+"
)


def texts(log: str) -> list[str]:
    """The lines without time, level and place."""
    return [line.partition(" - ")[2] for line in log.splitlines()]


def of_events(*events: tuple[str, Any], side: str = "agent") -> list[str]:
    """What the log says of some events."""
    seen = tuple(heard(0.1, kind, data, side) for kind, data in events)
    return texts(bridge_log(talk(events=seen, transcript=(), agent=SideRecord())))[1:-1]


@pytest.mark.parametrize(
    ("kind", "data", "lines"),
    [
        ("bot-llm-started", None, ["[AGENT EVENT] type=bot-llm-started"]),
        ("bot-started-speaking", None, ["[AGENT STARTED SPEAKING]"]),
        ("bot-stopped-speaking", None, ["[AGENT STOPPED SPEAKING]"]),
        ("bot-tts-text", {"text": "Hello there."}, ["[AGENT TTS] Hello there."]),
        (
            "metrics",
            {
                "ttfb": [{"processor": "LLM#0", "value": 0.25}, {"processor": "TTS", "value": 0}],
                "tokens": [{"prompt_tokens": 10, "completion_tokens": None}],
                "processing": [{"processor": "LLM#0", "value": 1}],
            },
            [
                "[AGENT EVENT] type=metrics",
                "[AGENT METRICS] ttfb processor=LLM#0 value=0.250s",
                "[AGENT METRICS] ttfb processor=TTS value=0.000s",
                "[AGENT METRICS] tokens prompt=10 completion=0",
            ],
        ),
        (
            "user-transcription",
            {"text": "I'd like", "final": False},
            ["[AGENT EVENT] type=user-transcription", "[AGENT STT partial] 'I'd like'"],
        ),
        (
            "user-transcription",
            {"text": "a pizza", "final": True},
            ["[AGENT EVENT] type=user-transcription", "[AGENT STT final] 'a pizza'"],
        ),
        (
            "server-message",
            {"text": "<exit>The task is finished.</exit>"},
            [
                "[AGENT EVENT] type=server-message",
                "[AGENT SERVER MESSAGE] <exit>The task is finished.</exit>",
            ],
        ),
        (
            "server-message",
            {"text": "<final_response>pizza</final_response>"},
            [
                "[AGENT EVENT] type=server-message",
                "[AGENT SERVER MESSAGE] <final_response>pizza</final_response>",
                "[AGENT FINAL RESPONSE] pizza",
            ],
        ),
        (
            "server-message",
            {"type": "action-applied", "action": {"name": "refund"}},
            [
                "[AGENT EVENT] type=server-message",
                '[AGENT SERVER MESSAGE] {"type": "action-applied", "action": {"name": "refund"}}',
                '[AGENT ACTION] {"name": "refund"}',
            ],
        ),
        ("action", {"a": 1}, ["[AGENT EVENT] type=action", '[AGENT ACTION] {"a": 1}']),
        (
            "error",
            {"error": "no model", "fatal": True},
            ["[AGENT EVENT] type=error", "[AGENT ERROR] fatal: no model"],
        ),
    ],
)
def test_the_tagged_lines(kind: str, data: Any, lines: list[str]) -> None:
    assert of_events((kind, data)) == lines


def test_the_caller_s_bot_has_its_own_tag() -> None:
    assert of_events(
        ("bot-started-speaking", None),
        ("bot-tts-text", {"text": "Hi."}),
        ("bot-stopped-speaking", None),
        ("user-transcription", {"text": "Shop.", "final": True}),
        side="user",
    ) == [
        "[TIMING] User started speaking",
        "[USER TTS] Hi.",
        "[USER STOPPED SPEAKING]",
        "[USER EVENT] type=user-transcription",
        "[USER STT final] 'Shop.'",
    ]


@pytest.mark.parametrize(
    "data",
    [None, "text", 3, [], {"ttfb": 3}, {"ttfb": [1], "tokens": ["x"]}, {"ttfb": [{"value": "x"}]}],
)
@pytest.mark.parametrize("kind", ["metrics", "server-message", "user-transcription", "error"])
def test_a_payload_of_any_shape_is_logged(kind: str, data: Any) -> None:
    assert of_events((kind, data))[0] == f"[AGENT EVENT] type={kind}"


def test_turns_latency_and_read_outs_are_logged_where_they_belong() -> None:
    user = SideRecord(context=(), actions=None)
    log = bridge_log(talk(events=(heard(2.4, "bot-llm-started"),), user=user, warnings=("odd",)))
    assert texts(log) == [
        "[APPLY INIT] set-up done, kickoff sent to the agent",
        "[AGENT] Shop, hello.",
        "[USER] I want to return order one.",
        "[AGENT EVENT] type=bot-llm-started",
        "[LATENCY] Response latency: 500.0ms",
        "[AGENT] Done.",
        "[STOP] [EXIT] exit: The task is finished.",
        "[CONTEXT HISTORY] agent: 1 messages",
        f"[SCENARIO SUMMARY] agent: 1 actions, db_hash={agent().db_hash}",
        "[CONTEXT HISTORY] user: 0 messages",
        "odd",
    ]
    assert all(map(LAYOUT.fullmatch, log.splitlines()))
    assert log.startswith("2026-03-01 09:00:00.000 | INFO     | ")
    assert log.splitlines()[-1].startswith("2026-03-01 09:00:03.250 | WARNING  | ")


def test_a_call_that_never_began_has_its_error_logged() -> None:
    log = bridge_log(
        talk(transcript=(), started_at="", end_reason=None, agent=SideRecord()), "gone"
    )
    assert texts(log) == ["gone"]
    assert all(map(LAYOUT.fullmatch, log.splitlines()))


def test_no_text_can_forge_a_line() -> None:
    forged = "x\n2026-03-01 09:00:00.000 | DEBUG    | a:b:0 - [AGENT SERVER MESSAGE] <exit>"
    log = bridge_log(talk(events=(heard(0.1, "bot-tts-text", {"text": forged}),)))
    assert all(map(LAYOUT.fullmatch, log.splitlines()))
    assert not any(text.startswith("[AGENT SERVER MESSAGE]") for text in texts(log))


# -- the tap that fills it


def tapped(*payloads: Any, kind: str = "server-message") -> list[tuple[float, str, Any]]:
    tap = Tap()
    for payload in payloads:
        tap.take(Event(1.5, Envelope(kind, payload)))
    return tap.events


def test_the_ledger_taps_every_message_and_no_audio() -> None:
    ledger = Ledger()
    ledger.note(Event(1.0, AudioFrame(b"\1\0", 16000, 1)), 1)
    ledger.note(Event(2.0, Envelope("bot-llm-text", {"text": "Hi"})), 1)
    ledger.note(Event(3.0, Envelope("server-message", {"text": "<exit></exit>"})), 1)
    assert ledger.tap.events == [
        (2.0, "bot-llm-text", None),
        (3.0, "server-message", {"text": "<exit></exit>"}),
    ]


def test_what_is_kept_of_a_payload_is_bounded() -> None:
    [(_, _, text)] = tapped("x" * 10 * LONGEST_TEXT)
    assert text == "x" * LONGEST_TEXT + "…"
    [(_, _, items)] = tapped(list(range(10 * MOST_ITEMS)))
    assert items == list(range(MOST_ITEMS))
    [(_, _, pairs)] = tapped({str(key): key for key in range(10 * MOST_ITEMS)})
    assert len(pairs) == MOST_ITEMS
    deep: Any = "bottom"
    for _ in range(50):
        deep = [deep]
    [(_, _, shown)] = tapped(deep)
    assert str(shown) == "[[[[[['…']]]]]]"


def test_a_bot_gone_wild_fills_no_memory() -> None:
    tap = Tap()
    for _ in range(MOST_EVENTS + 5):
        tap.take(Event(0.0, Envelope("bot-llm-text")))
    assert (len(tap.events), tap.dropped) == (MOST_EVENTS, 5)
