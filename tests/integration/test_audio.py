"""Calls with sound through the plugin: bots of the user's that speak, and what pytest says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_voiceeval.plugin import audio_options
from pytest_voiceeval.plugin.audio_options import AudioSettings
from tests.integration.conftest import Run
from tests.integration.endpoints import hold
from tests.unit.audio.bots import SoundBot, answering, asking, serving

__all__ = ["hold"]

ITEM = "eva_airline::cancellation_refund"
Results = Callable[[], list[dict[str, Any]]]


def test_a_call_with_sound_is_timed_and_held_to_its_budget(
    run: Run, hold: Any, results: Results, pytester: pytest.Pytester
) -> None:
    agent = hold(serving(SoundBot(answering(1, delay=0.4), waits_for_kickoff=True)))
    user = hold(serving(SoundBot(asking(1))))
    audio = ("--modality", "audio", "--record-tracks", "--max-latency-p95", "150")
    urls = ("--agent-url", agent.url, "--user-url", user.url)
    found = run(ITEM, *audio, *urls, "--min-agent-turns", "0")

    found.assert_outcomes(failed=1)
    found.stdout.re_match_lines_random(
        [
            r".*latency_p95: the P95 of the response latencies is \d{3} ms",
            r".*the budget 150 ms",
            r".*slowest of 1 answer, from the sound:",
            r".*turn 2: \d{3} ms, after: Question 0 please\.",
            r"latency:  P50 \d{3} ms, P90 \d{3} ms, P95 \d{3} ms, P99 \d{3} ms, 1 answer",
        ]
    )
    [line] = results()
    assert (line["modality"], line["end_reason"], line["agent_turns"]) == ("audio", "exit", 2)
    assert line["signals"]["latency_p95"] is False
    assert line["sound"]["response_latency_ms"]["count"] == 1

    folder = pytester.path / "out" / line["artifacts"]
    names = {"conversation_log.wav", "track_agent.wav", "track_user.wav"}
    assert names <= {path.name for path in folder.iterdir()}
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["latency_stats"]["count"] == 1  # by events, the reference's
    assert [e["turn"] for e in metrics["sound"]["exchanges"]] == [2]
    assert metrics["sound"]["relay"]["sound_of"]["agent"]["underruns"] == 0
    log = (folder / "conversation_log.txt").read_text(encoding="utf-8")
    first = metrics["sound"]["exchanges"][0]["latency_ms"]
    assert f"→ Response latency: {first:.1f}ms" in log


def test_who_cannot_speak_with_whom_is_said_before_anything_is_started(
    run: Run, results: Results
) -> None:
    found = run(ITEM, "--modality", "audio", "--agent-url", "ws://127.0.0.1:9")
    found.assert_outcomes(errors=1)
    found.stdout.fnmatch_lines(["*the built-in caller speaks in tones that only the stock agent*"])
    assert results()[0]["error"]["code"] == "caller_failed"


GIVEN = {option.flag: option.default for option in audio_options.OPTIONS} | {
    "--user-url": None,
    "--user-cmd": None,
}
VOICE = {"--modality": "audio", "--caller-voice": "v.yaml"}


def test_settings_of_the_options(tmp_path: Any) -> None:
    assert audio_options.read(GIVEN, tmp_path) == AudioSettings()
    given = {**GIVEN, "--modality": "audio", "--max-latency-p50": 800.0, "--max-first-audio": 1e3}
    settings = audio_options.read(given, tmp_path)
    assert settings.on
    assert settings.budgets == {"max_latency_p50": 800.0, "max_first_audio": 1000.0}
    (tmp_path / "v.yaml").write_text("tts: {type: espeak}\n")
    assert audio_options.read(GIVEN | VOICE, tmp_path).caller_voice == tmp_path / "v.yaml"
    budgets = settings.with_budgets({"max_latency_p50": 1.0}).budgets
    assert budgets == {"max_latency_p50": 1.0, "max_first_audio": 1000.0}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"--jitter-buffer": -1.0}, "--jitter-buffer must be 0 to 5000 ms, not -1"),
        ({"--jitter-buffer": float("nan")}, "--jitter-buffer must be 0 to 5000 ms, not nan"),
        ({"--speech-level": 0.0}, "--speech-level must be -90 to below 0 dBFS, not 0"),
        ({"--max-latency-p95": 0.0}, "--max-latency-p95 must be a positive number"),
        ({"--max-first-audio": float("inf")}, "--max-first-audio must be a positive number"),
        ({"--caller-voice": "v.yaml"}, "--caller-voice is about calls with sound: give --modality"),
        (
            {**VOICE, "--user-url": ["ws://x"]},
            "--caller-voice is about the built-in caller, --user",
        ),
        (VOICE, "--caller-voice: there is no file v.yaml"),
    ],
    ids=str,
)
def test_options_that_cannot_be_used(given: dict[str, Any], error: str, tmp_path: Any) -> None:
    with pytest.raises(pytest.UsageError, match=error):
        audio_options.read(GIVEN | given, tmp_path)
