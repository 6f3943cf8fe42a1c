"""How a bot with a voice is set up: services by type or by class, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.bots.speech.config import HEARING, SPEAKING, SpeechConfig
from pytest_voiceeval.bots.stock_config import BotConfig, ConfigError, parse_config

# pipecat, which the services are made of, imports what Python is about to drop
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ARGUMENTS = ["--role", "agent", "--llm-url", "http://127.0.0.1:1/v1", "--modality", "audio"]


def parsed(folder: Path, text: str, **environ: str) -> BotConfig:
    file = folder / "bot.yaml"
    file.write_text(text, encoding="utf-8")
    return parse_config(ARGUMENTS, {"SERVER_CONFIG_PATH": str(file), **environ})


def speech(folder: Path, text: str, **environ: str) -> SpeechConfig:
    found = parsed(folder, text, **environ).speech
    assert found is not None
    return found


def test_without_a_file_it_speaks_in_tones() -> None:
    found = parse_config(ARGUMENTS, {}).speech
    assert found is not None
    assert (found.stt.path, found.tts.path, found.vad) == (
        HEARING["tones"],
        SPEAKING["tones"],
        "sound",
    )


def test_without_audio_it_has_no_voice(tmp_path: Path) -> None:
    assert parse_config(ARGUMENTS[:-2], {}).speech is None


def test_every_key(tmp_path: Path) -> None:
    found = speech(
        tmp_path,
        """
stt: {type: tones}
tts: {class: pytest_voiceeval.bots.speech.espeak.EspeakTTSService, voice: en-gb, more: ['${WORD}']}
vad: {type: silero, confidence: 0.7, start_secs: 0.2, stop_secs: 1, min_volume: 0.1}
turn_taking: {speech_timeout: 0.8}
transport: {audio_out_10ms_chunks: 10}
""",
        WORD="said",
    )
    assert found.tts.arguments == {"voice": "en-gb", "more": ["said"]}
    assert found.vad == "silero"
    assert found.vad_params == {
        "confidence": 0.7,
        "start_secs": 0.2,
        "stop_secs": 1.0,
        "min_volume": 0.1,
    }
    assert (found.speech_timeout, found.chunks) == (0.8, 10)


def test_a_key_is_not_shown(tmp_path: Path) -> None:
    text = "tts: {type: tones, api_key: '${SPEECH_KEY}'}"
    found = speech(tmp_path, text, SPEECH_KEY="planted-secret")
    assert found.tts.arguments == {"api_key": "planted-secret"}
    assert "planted-secret" not in repr(found)
    assert [secret.reveal() for secret in found.secrets] == ["planted-secret"]


def test_a_key_inside_a_list_is_found_and_a_voice_is_none(tmp_path: Path) -> None:
    text = "stt: {type: tones, more: [{auth_token: a-long-token}]}\ntts: {voice: a-long-voice-name}"
    config = parsed(tmp_path, text)
    assert [secret.reveal() for secret in config.secrets] == ["a-long-token"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tts: {type: parrot}", r"tts\.type 'parrot' is none of tones, espeak, .*tts\.class"),
        ("stt: {type: tones, class: a.B}", "`type` and `class` both name the service"),
        ("stt: {class: nothing}", r"stt\.class must be a dotted path"),
        ("stt: {class: no_such_package.Ears}", "stt: no class no_such_package.Ears"),
        ("tts: {class: json.Voice}", "tts: no class json.Voice"),
        ("tts: loud", "`tts` must be a section of keys"),
        ("tts: {type: tones, api_key: '${UNSET_KEY}'}", "variable UNSET_KEY is not set"),
        ("vad: {type: ears}", r"vad\.type 'ears' is none of sound, silero"),
        ("vad: {stop_secs: long}", r"vad\.stop_secs must be a number"),
        ("transport: {audio_out_10ms_chunks: 0}", "audio_out_10ms_chunks must be 1 or more"),
        ("turn_taking: {speech_timeout: -1}", "speech_timeout 0 or more"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as refused:
        parsed(tmp_path, text)
    assert "bot.yaml" in str(refused.value)


def test_a_class_that_does_not_take_its_arguments_is_named(tmp_path: Path) -> None:
    from pytest_voiceeval.bots.speech.config import ServiceConfig, SpeechError

    arguments: dict[str, Any] = {"pitch": 3}
    with pytest.raises(SpeechError, match=r"stt: json\.loads cannot be made with nonsense, pitch"):
        ServiceConfig("stt", "json.loads", {"nonsense": 1, **arguments}).make()
