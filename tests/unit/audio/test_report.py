"""What a call with sound leaves: figures in files, the log, and across processes."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import Any

import pytest

from pytest_voiceeval.call.audio.activity import Span
from pytest_voiceeval.call.audio.playout import PlayoutFigures
from pytest_voiceeval.call.audio.relay import Pace
from pytest_voiceeval.call.audio.report import SoundReport
from pytest_voiceeval.call.audio.timing import Heard, measure
from pytest_voiceeval.call.result import Conversation, EndReason, TurnLatency, Utterance
from pytest_voiceeval.report.conversation_log import conversation_log
from pytest_voiceeval.report.metrics import unscored_metrics
from pytest_voiceeval.report.results_file import conversation_line
from pytest_voiceeval.report.sound import sound_figures
from pytest_voiceeval.report.summary_text import Call, summary_text
from pytest_voiceeval.report.terminal import summary


def conversation() -> Conversation:
    heard = Heard(
        agent=[Span(1.3, 2.0), Span(4.5, 5.0)],
        user=[Span(3.0, 3.5)],
        kickoff=1.0,
        end=6.0,
        opens=[3.0],
        words={"agent": 4, "user": 2},
    )
    report = SoundReport(
        timing=measure(heard),
        spans={"agent": (Span(1.5, 2.2), Span(4.7, 5.2)), "user": (Span(3.0, 3.5),)},
        kickoff=1.0,
        jitter=0.2,
        pace=Pace(375, 1, 0.04),
        playout={"agent": PlayoutFigures(30, 1, 0.25), "user": PlayoutFigures(12)},
        recording="conversation_log.wav",
    )
    return Conversation(
        scenario="shop__return",
        domain="shop",
        end_reason=EndReason.EXIT,
        transcript=(
            Utterance("agent", "Good day.", 1.5, 2.2, 1),
            Utterance("user", "A question.", 3.0, 3.5, 2),
            Utterance("agent", "An answer.", 4.7, 5.2, 2),
        ),
        latencies=(TurnLatency(2, 1.21, 1.7),),
        started_at="2026-03-01T10:00:00.000+00:00",
        duration=6.0,
        sound=report,
    )


def test_the_figures_of_metrics_json() -> None:
    metrics = unscored_metrics(conversation(), "folder", ValueError("x"))
    assert json.loads(json.dumps(metrics, allow_nan=False))["modality"] == "audio"
    sound: dict[str, Any] = metrics["sound"]
    assert sound["response_latency_ms"]["count"] == 1
    assert sound["response_latency_ms"]["p95_ms"] == 1000.0
    assert sound["first_audio_ms"] == metrics["greeting_latency_ms"] == 300.0
    assert sound["exchanges"] == [
        {
            "turn": 2,
            "latency_ms": 1000.0,
            "timing": "on time",
            "tool_call": False,
            "barge_ins": 0,
            "overlap_ms": 0.0,
            "yield_ms": None,
            "turn_taking": 1.0,
        }
    ]
    assert sound["relay"]["late_frames"] == 1
    assert sound["relay"]["sound_of"]["agent"]["hole_ms"] == 250.0
    assert "type 7" in sound["interpolation"]
    # the reference's own, by events, stays what it is
    assert [entry["latency_ms"] for entry in metrics["latencies"]] == [1210.0]


def test_a_line_of_results_and_the_properties_of_a_report() -> None:
    line = conversation_line(conversation())
    assert line["modality"] == "audio"
    assert line["sound"]["underruns"] == 1
    assert line["sound"]["latest_frame_ms"] == 40.0
    figures = dict(sound_figures(conversation()))
    assert figures["response_p50_ms"] == 1000.0
    assert figures["first_audio_ms"] == 300.0


def test_the_answers_of_all_calls_together_in_the_summaries() -> None:
    calls = [
        {"outcome": "passed", "sound": {"response_latencies_ms": [600.0, 700.0]}},
        {"outcome": "failed", "sound": {"response_latencies_ms": [1400.0]}},
        {"outcome": "error", "sound": {"response_latencies_ms": [9000.0]}},  # no evidence
        {"outcome": "passed", "reported": False, "sound": {"response_latencies_ms": [1.0]}},
        {"outcome": "passed"},  # in text
        {"outcome": "passed", "sound": {"response_latencies_ms": []}},
    ]
    shown = summary(calls, "out")
    expected = "latency:  P50 700 ms, P90 1260 ms, P95 1330 ms, P99 1386 ms, 3 answers"
    assert [each for each in shown if each.startswith("latency")] == [expected]
    text = summary_text([Call(call, None) for call in calls if call.get("reported", True)])
    figures = "mean=900.0ms, min=600.0ms, p50=700.0ms, p90=1260.0ms, p95=1330.0ms, p99=1386.0ms"
    assert f"\nOverall latency from the sound (n=3): {figures}, max=1400.0ms\n" in text
    assert text.count("\n  Latency from the sound (n=") == 2
    assert not any("latency" in each for each in summary(calls[4:], "out"))
    assert conversation_line(conversation())["sound"]["response_latencies_ms"] == [1000.0]


def test_a_call_in_text_says_nothing_of_sound() -> None:
    text = replace(conversation(), sound=None)
    assert "sound" not in conversation_line(text)
    assert "modality" not in unscored_metrics(text, "folder", ValueError("x"))
    assert dict(sound_figures(text)) == {}


@pytest.mark.parametrize(("sound", "expected"), [(True, "1000.0ms"), (False, "1200.0ms")])
def test_the_log_has_the_latency_from_the_sound(sound: bool, expected: str) -> None:
    call = conversation() if sound else replace(conversation(), sound=None)
    lines = conversation_log(call).splitlines()
    assert [line for line in lines if "latency" in line] == [f"  → Response latency: {expected}"]


def test_a_conversation_survives_the_way_between_processes() -> None:
    assert pickle.loads(pickle.dumps(conversation())) == conversation()
