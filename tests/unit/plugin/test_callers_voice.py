"""The stock bot that is the voice of a caller: how it is started, and what it never learns."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_voiceeval.bots.slot import BotSlot
from pytest_voiceeval.call.errors import CallerFailed
from pytest_voiceeval.plugin.audio_options import AudioSettings
from pytest_voiceeval.plugin.calling import Job, _check_voices
from pytest_voiceeval.plugin.cost import Speaker, speakers_of
from pytest_voiceeval.plugin.held import HeldBots
from pytest_voiceeval.plugin.model_options import ModelSettings

CALLER = {
    "caller_url": "http://127.0.0.1:1/v1?key=sk-planted-in-a-query",
    "caller_model": "m",
    "caller_api_key_name": "CALLER_KEY",
    "caller_temperature": 0.5,
    "caller_seed": 7,
    "caller_max_tokens": 90,
    "caller_rpm": 60,
}


class Engine:
    """Holds whatever it is given, without starting it; an endpoint is one that has an address."""

    def hold(self, held: Any) -> Any:
        if isinstance(held, BotSlot):
            return held
        return SimpleNamespace(url=lambda session: f"http://127.0.0.1:2/{session}/v1")


@pytest.fixture
def hold(tmp_path: Path) -> Any:
    """The bots of a run in which both speak."""

    def hold(**given: Any) -> HeldBots:
        audio = AudioSettings("audio", caller_voice=given.pop("voice", None))
        settings = SimpleNamespace(
            **dict.fromkeys(CALLER),
            **dict.fromkeys(["agent_url", "agent_cmd", "agent_model", "user_url", "user_cmd"]),
            agent_fault=None,
            voice_concurrency=None,
            models=ModelSettings(),
            audio=audio,
        )
        vars(settings).update(given)
        output = SimpleNamespace(
            folder=tmp_path, worker="", bot_log=lambda role: tmp_path / f"{role}.log"
        )
        return HeldBots(Engine(), settings, output)  # type: ignore[arg-type]

    return hold


def job_of(bots: HeldBots, caller: Any, agent: Any = None) -> Job:
    settings = bots._settings
    scenario: Any = SimpleNamespace(name="d__s")
    given: Any = {"bots": bots, "include_db": False, "nodeid": "d::s", "till": None}
    return Job(scenario, "s1", settings, agent, caller, **given)


def test_the_bot_asks_this_process_and_knows_neither_model_nor_key(hold: Any) -> None:
    bots = hold(**CALLER)
    slot = bots.caller()
    assert bots.caller() is slot, "one for all calls"
    argv = " ".join(slot.command.argv)
    assert "--role user" in argv
    assert "--llm-url http://127.0.0.1:2/{session}/v1" in argv
    assert "--modality audio" in argv
    for word in ("CALLER_KEY", "sk-planted", "127.0.0.1:1", "--temperature", "--api-key-name"):
        assert word not in argv
        assert word not in repr(dict(slot.command.env))
    assert slot.command.max_calls == 4


def test_a_model_speaks_through_it_and_is_paid(hold: Any) -> None:
    bots = hold(**CALLER)
    slot = bots.caller()
    job = job_of(bots, slot)
    assert bots.scripted_session(slot, "s1-user") is None, "no script is played"
    model = job.caller_model
    assert model is not None
    assert (model.temperature, model.seed, model.max_tokens, model.rpm) == (0.5, 7, 90, 60)
    assert model.api_key_env == "CALLER_KEY"
    assert speakers_of(job)["user"] == Speaker("model", "m", CALLER["caller_url"])  # type: ignore[arg-type]
    assert job_of(bots, object()).caller_model is None, "a bot of the user's speaks for itself"


def test_without_a_model_it_plays_the_script(hold: Any) -> None:
    bots = hold()
    slot = bots.caller()
    assert bots.scripted_session(slot, "s1-user") == "s1-user"
    job = job_of(bots, slot)
    assert job.caller_model is None
    assert speakers_of(job)["user"] == Speaker("script")


def test_its_voice_is_told_to_it_alone(hold: Any, tmp_path: Path) -> None:
    bots = hold(voice=tmp_path / "voice.yaml")
    told = {"SERVER_CONFIG_PATH": str(tmp_path / "voice.yaml")}
    assert told.items() <= dict(bots.caller().command.env).items()
    assert "SERVER_CONFIG_PATH" not in bots.agent().command.env
    assert "SERVER_CONFIG_PATH" not in os.environ


def test_who_understands_whom(hold: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SERVER_CONFIG_PATH", raising=False)
    with_voice, in_tones = hold(voice=tmp_path / "voice.yaml"), hold(**CALLER)
    own: Any = SimpleNamespace()
    _check_voices(job_of(with_voice, with_voice.caller(), own))
    _check_voices(job_of(in_tones, in_tones.caller(), in_tones.agent()))
    _check_voices(job_of(in_tones, own, own))
    with pytest.raises(CallerFailed, match=r"only the stock agent understands.*--caller-voice"):
        _check_voices(job_of(in_tones, in_tones.caller(), own))
    deaf = job_of(with_voice, with_voice.caller(), with_voice.agent())
    with pytest.raises(CallerFailed, match=r"--caller-voice voice\.yaml: the stock agent"):
        _check_voices(deaf)
    monkeypatch.setenv("SERVER_CONFIG_PATH", "both.yaml")
    _check_voices(deaf)
