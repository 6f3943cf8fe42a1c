"""Which calls are held on the virtual clock, and what the others say about it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_voiceeval import get_eval_scenario
from pytest_voiceeval.plugin import audio_options
from pytest_voiceeval.plugin.audio_options import AudioSettings
from pytest_voiceeval.plugin.embedding import why_real
from pytest_voiceeval.plugin.options import OPTIONS
from pytest_voiceeval.plugin.sounding import sound_plan


class Bots:
    """The bots of a run, as far as it is asked whose they are."""

    def __init__(self, *, agent_is_ours: bool = True) -> None:
        self.pairs = object()
        self._agent_is_ours = agent_is_ours

    def is_stock(self, _source: Any) -> bool:
        return self._agent_is_ours

    def is_stock_caller(self, source: Any) -> bool:
        return bool(source == "ours")

    def scripted_session(self, _source: Any, session: str) -> str | None:
        return session if self._agent_is_ours else None


def job(bots: Bots | None = None, fault: str | None = None, **given: Any) -> Any:
    audio = AudioSettings("audio", clock=given.pop("clock", "virtual"), clock_given=True)
    values = {
        "settings": SimpleNamespace(audio=audio, agent_fault=fault),
        "bots": bots or Bots(),
        "agent": "agent",
        "caller": "ours",
        "caller_model": None,
        "session": "s1",
        "scenario": get_eval_scenario("restaurant__pizza_pepperoni"),
    }
    return SimpleNamespace(**{**values, **given})


def test_the_built_in_bots_need_no_real_clock() -> None:
    assert why_real(job()) is None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (job(clock="real"), ""),
        (job(Bots(agent_is_ours=False)), "a fixture names a bot of its own"),
        (job(caller="theirs"), "a fixture names a bot of its own"),
        (job(caller_model="qwen"), "a fixture names a bot of its own"),
        (job(fault="crashes"), "--agent-fault crashes ends the process of the bot"),
    ],
    ids=["asked for", "agent", "caller", "model", "crashes"],
)
def test_why_a_call_is_real(given: Any, why: str) -> None:
    assert why_real(given) == why


def test_a_call_that_has_to_be_real_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SERVER_CONFIG_PATH", "bots.yaml")
    plan = sound_plan(job(), tmp_path)
    assert plan is not None
    expected = "held on the real clock: the bots are set up by the file of SERVER_CONFIG_PATH"
    assert plan.remark == expected


def read(**given: Any) -> AudioSettings:
    values = {option.flag: option.default for option in OPTIONS}
    flags = {"--" + name.replace("_", "-"): value for name, value in given.items()}
    return audio_options.read({**values, **flags}, Path())


@pytest.mark.parametrize(
    ("given", "clock"),
    [
        ({}, "real"),
        ({"modality": "audio"}, "virtual"),
        ({"modality": "audio", "clock": "real"}, "real"),
        ({"modality": "audio", "agent_url": ["ws://127.0.0.1:1"]}, "real"),
        ({"modality": "audio", "caller_url": "http://127.0.0.1:1/v1"}, "real"),
        ({"modality": "audio", "user_cmd": "bot", "clock": "real"}, "real"),
    ],
    ids=["text", "audio", "asked", "agent", "caller's model", "both"],
)
def test_the_clock_by_default(given: Any, clock: str) -> None:
    assert read(**given).clock == clock


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "--clock virtual is about calls with sound: give --modality audio"),
        (
            {"modality": "audio", "user_url": ["ws://127.0.0.1:1"]},
            "takes both bots to be the built-in ones: whom --user-url names lives by the real",
        ),
    ],
    ids=["text", "a bot of one's own"],
)
def test_the_virtual_clock_is_for_the_built_in_bots(given: Any, text: str) -> None:
    with pytest.raises(pytest.UsageError, match=text):
        read(clock="virtual", **given)
