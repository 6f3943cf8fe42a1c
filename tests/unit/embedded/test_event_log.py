"""What the event log keeps of an event, and what it leaves out."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.embedded.event_log import EventLog, canonical
from pytest_voiceeval.wire.backlog import Event
from pytest_voiceeval.wire.frames import AudioFrame, InterruptionFrame
from pytest_voiceeval.wire.rtvi import Envelope


def test_a_line_for_each_event_and_the_hash_of_all(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "log", start=1000.0)
    log.take("agent", Event(1000.5, AudioFrame(b"\1\0", 24_000, 1, id=7)))
    log.take("user", Event(1001.25, Envelope("bot-ready", {"a": 1}, "id-1")))
    log.take("user", Event(1002.0, InterruptionFrame()))
    hash_ = log.close()
    data = (tmp_path / "log").read_bytes()
    assert hash_ == hashlib.sha256(data).hexdigest()
    lines = [json.loads(line) for line in data.splitlines()]
    assert [(line["at"], line["side"], line["type"]) for line in lines] == [
        (0.5, "agent", "audio"),
        (1.25, "user", "bot-ready"),
        (2.0, "user", "interruption"),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"text": "a", "id": "x"}, {"id": "y", "text": "a"}),
        ({"timestamp": "2026-11-30"}, {"timestamp": "2026-12-01"}),
        ({"tool_call_id": "c1", "args": [1]}, {"tool_call_id": "c2", "args": [1]}),
        ({"ttfb": [{"processor": "ModelService#1"}]}, {"ttfb": [{"processor": "ModelService#9"}]}),
        (None, None),
    ],
    ids=["ids", "times", "calls", "numbered parts", "nothing"],
)
def test_what_is_new_in_every_run_is_left_out(one: Any, other: Any) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"text": "a"}, {"text": "b"}),
        ({"arguments": {"id": "UA1"}}, {"arguments": {"id": "UA2"}}),
        ({"value": 0.1}, {"value": 0.2}),
    ],
    ids=["texts", "arguments that are named id", "numbers"],
)
def test_what_differs_shows(one: Any, other: Any) -> None:
    assert canonical(one) != canonical(other)
