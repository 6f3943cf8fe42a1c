"""Calls between the built-in bots on the virtual clock, through the plugin."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.conftest import Run
from tests.integration.packs import write_pack

Results = Callable[[], list[dict[str, Any]]]

SCENARIOS = ("restaurant::pizza_pepperoni", "restaurant::burger_bacon_combo")


def test_calls_on_the_virtual_clock(run: Run, results: Results, pytester: pytest.Pytester) -> None:
    found = run(*SCENARIOS, "--modality", "audio", "--voice-concurrency", "1")
    found.assert_outcomes(passed=2)
    found.stdout.fnmatch_lines(["voiceeval: sound: agent and caller speak, on a virtual clock"])
    lines = results()
    assert len(lines) == 2
    for line in lines:
        assert line["clock"] == "virtual"
        assert line["warnings"] == []
        folder = pytester.path / "out" / line["artifacts"]
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        assert metrics["event_log_hash"] == line["event_log_hash"]
        assert (folder / "event_log.jsonl").stat().st_size > 1000
        assert metrics["sound"]["relay"]["latest_frame_ms"] == 0
        assert metrics["sound"]["response_latency_ms"]["count"] >= 1
        assert (folder / "conversation_log.wav").stat().st_size > 32_000 * line["duration"]
    logs = {path.name for path in (pytester.path / "out" / "bot_logs").iterdir()}
    assert logs == {"pair.log"}, "one process held both, and no bot had one of its own"


def test_the_built_in_bots_speak_in_real_time_too(
    run: Run, results: Results, pytester: pytest.Pytester
) -> None:
    write_pack(pytester.path, ["short"])
    found = run("--domain", "shop", "--modality", "audio", "--clock", "real")
    found.stdout.fnmatch_lines(["voiceeval: sound: agent and caller speak, in real time"])
    [line] = results()
    if line.get("error", {}).get("code") == "measurement_invalid":
        pytest.skip("this machine is too busy for two bots in real time")
    found.assert_outcomes(passed=1)
    assert (line["clock"], line["end_reason"], line["agent_turns"]) == ("real", "exit", 3)
    assert "event_log_hash" not in line
