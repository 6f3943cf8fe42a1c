"""Calls between the built-in bots on the virtual clock, through the plugin."""

from __future__ import annotations

import json
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.integration.conftest import Run
from tests.integration.packs import write_pack

Results = Callable[[], list[dict[str, Any]]]

OWN = """
import pytest

@pytest.mark.voiceeval(scenario="shop::short", max_latency_p95=1500, max_first_audio=10)
def test_of_the_users_own(call):
    assert call.signals["latency_p95"] is True
    assert call.signals["first_audio"] is False
    assert call.sound.timing.latency.p95 < 1.5
    assert len(call.sound.virtual.event_log_hash) == 64

@pytest.mark.voiceeval(scenario="shop::short", max_latency_p90="fast")
def test_with_a_bad_marker(call): ...
"""


NOISE = """
from pytest_voiceeval import NoiseConfig

S1.noise_config = NoiseConfig(random_white_noise=True, white_noise_db=-30.0)
"""


def test_calls_on_the_virtual_clock(run: Run, results: Results, pytester: pytest.Pytester) -> None:
    write_pack(pytester.path, ["short", "noisy"], extra=NOISE)
    pytester.makepyfile(test_own=OWN)
    audio = ("--modality", "audio", "--voice-concurrency", "1")
    found = run("shop::short", "shop::noisy", "test_own.py", *audio)
    found.assert_outcomes(passed=3, errors=1)
    found.stdout.fnmatch_lines(["voiceeval: sound: agent and caller speak, on a virtual clock"])
    found.stdout.fnmatch_lines(["*max_latency_p90 must be a positive number of*, not fast*"])
    lines = {line["nodeid"]: line for line in results() if line["outcome"] != "error"}
    assert len(lines) == 3
    for line in lines.values():
        assert line["clock"] == "virtual"
        folder = pytester.path / "out" / line["artifacts"]
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        assert metrics["event_log_hash"] == line["event_log_hash"]
        assert (folder / "event_log.jsonl").stat().st_size > 1000
        assert metrics["sound"]["relay"]["latest_frame_ms"] == 0
        assert metrics["sound"]["response_latency_ms"]["count"] >= 1
        assert (folder / "conversation_log.wav").stat().st_size > 32_000 * line["duration"]
    own = lines.pop("test_own.py::test_of_the_users_own")
    assert own["event_log_hash"] == lines["shop::short"]["event_log_hash"]
    assert own["event_log_hash"] != lines["shop::noisy"]["event_log_hash"]
    _is_noisy(pytester.path / "out" / lines["shop::noisy"]["artifacts"])
    logs = {path.name for path in (pytester.path / "out" / "bot_logs").iterdir()}
    assert logs == {"pair.log"}, "one process held both, and no bot had one of its own"


def _is_noisy(folder: Path) -> None:
    """The agent, who understands tones that only arrive whole, hears noise; the caller does not."""
    with wave.open(str(folder / "conversation_log.wav")) as file:
        both = np.frombuffer(file.readframes(8000), "<i2").reshape(-1, 2).astype(float)
    to_agent, to_caller = np.sqrt((both**2).mean(axis=0))  # half a second before anybody speaks
    assert to_agent == pytest.approx(32768 * 10 ** (-30 / 20) / 3**0.5, rel=0.05)
    assert to_caller == 0


SHORTER = """
S0.reference_dialogue = (
    DialogueTurn("agent", "Hello."),
    DialogueTurn("user", "Bye."),
    DialogueTurn("agent", "Bye.", (ToolCall("end_conversation"),)),
)
"""


def test_the_built_in_bots_speak_in_real_time_too(
    run: Run, results: Results, pytester: pytest.Pytester
) -> None:
    write_pack(pytester.path, ["short"], extra=SHORTER)
    audio = ("--modality", "audio", "--clock", "real", "--min-agent-turns", "0")
    found = run("--domain", "shop", *audio)
    found.stdout.fnmatch_lines(["voiceeval: sound: agent and caller speak, in real time"])
    [line] = results()
    if line.get("error", {}).get("code") == "measurement_invalid":
        pytest.skip("this machine is too busy for two bots in real time")
    found.assert_outcomes(passed=1)
    assert (line["clock"], line["end_reason"], line["agent_turns"]) == ("real", "exit", 2)
    assert "event_log_hash" not in line
