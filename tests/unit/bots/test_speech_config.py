"""How a bot with a voice is set up: services by type or by class, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_voiceeval.bots.speech.config import HEARING, SPEAKING, SpeechConfig, read_speech
from pytest_voiceeval.bots.stock_config import BotConfig, ConfigError, _ConfigFile, parse_config

# pipecat, which the services are made of, imports what Python is about to drop
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ARGUMENTS = ["--role", "agent", "--llm-url", "http://127.0.0.1:1/v1", "--modality", "audio"]


def parsed(folder: Path, text: str, **environ: str) -> BotConfig:
    file = folder / "bot.yaml"
    file.write_text(text, encoding="utf-8")
    return parse_config(ARGUMENTS, {"SERVER_CONFIG_PATH": str(file), **environ})


def speech(text: str, **environ: str) -> SpeechConfig:
    sections = yaml.safe_load(text)
    return read_speech(_ConfigFile("bot.yaml", sections), sections, environ)


def test_without_a_file_it_speaks_in_tones() -> None:
    found = parse_config(ARGUMENTS, {}).speech
    assert found is not None
    assert (found.stt.path, found.tts.path, found.vad) == (
        HEARING["tones"],
        SPEAKING["tones"],
        "tones",
    )


def test_without_audio_it_has_no_voice(tmp_path: Path) -> None:
    assert parse_config(ARGUMENTS[:-2], {}).speech is None


def test_every_key() -> None:
    found = speech(
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


def test_the_file_of_the_documentation(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "audio.md"
    _, _, rest = page.read_text(encoding="utf-8").partition('```yaml title="caller.yaml"\n')
    sections = yaml.safe_load(rest.partition("```")[0])
    found = read_speech(_ConfigFile("caller.yaml", sections), sections, {"DEEPGRAM_KEY": "a-key-x"})
    assert found.stt.arguments == {"api_key": "a-key-x"}
    assert (found.tts.path, found.vad, found.speech_timeout) == (SPEAKING["espeak"], "silero", 0.6)
    named = rest.partition("```")[0].splitlines()
    for line, table in ((named[0], HEARING), (named[1], SPEAKING)):
        assert set(line.partition("# ")[2].split(", ")) == set(table)


def test_a_key_is_not_shown() -> None:
    text = "tts: {type: openai, api_key: '${SPEECH_KEY}'}"
    found = speech(text, SPEECH_KEY="planted-secret")
    assert found.tts.arguments == {"api_key": "planted-secret"}
    assert "planted-secret" not in repr(found)
    assert [secret.reveal() for secret in found.secrets] == ["planted-secret"]


def test_a_key_inside_a_list_is_found_and_a_voice_is_none() -> None:
    text = "stt: {type: tones, more: [{auth_token: a-long-token}]}\ntts: {voice: a-long-voice-name}"
    assert [secret.reveal() for secret in speech(text).secrets] == ["a-long-token"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tts: {type: parrot}", r"tts\.type 'parrot' is none of tones, espeak, .*tts\.class"),
        ("stt: {type: tones, class: a.B}", "`type` and `class` both name the service"),
        ("stt: {class: nothing}", r"stt\.class must be a dotted path"),
        ("stt: {class: no_such_package.Ears}", "stt: no class no_such_package.Ears"),
        ("tts: {class: json.Voice}", "tts: no class json.Voice"),
        ("tts: {type: espeak, words_per_minute: 9}", "tts: words_per_minute must be 80 to 450"),
        ("tts: {class: os.path.join}", r"tts: os\.path\.join is no class"),
        ("tts: {type: tones, pitch: 3}", "tts: ToneTTSService takes no pitch"),
        ("stt: {class: decimal.Context, ears: 2}", "stt: decimal.Context: .*ears"),
        ("stt: {class: fractions.Fraction, ears: 2}", "stt: fractions.Fraction: .*'ears'"),
        ("tts: loud", "`tts` must be a section of keys"),
        ("tts: {type: tones, api_key: '${UNSET_KEY}'}", "variable UNSET_KEY is not set"),
        ("ttss: {type: espeak}", r"there is no ttss; did you mean tts\?"),
        ("vad: {stop_sec: 1}", r"there is no vad\.stop_sec; did you mean vad\.stop_secs\?"),
        ("transport: {audio_out_10ms_chunk: 1}", "did you mean transport.audio_out_10ms_chunks"),
        ("vad: {type: ears}", r"vad\.type 'ears' is none of tones, silero"),
        ("vad: {stop_secs: long}", r"vad\.stop_secs must be a number"),
        ("transport: {audio_out_10ms_chunks: 0}", "audio_out_10ms_chunks must be 1 or more"),
        ("turn_taking: {speech_timeout: -1}", "speech_timeout 0 or more"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as refused:
        parsed(tmp_path, text)
    assert "bot.yaml" in str(refused.value)


def test_keys_of_the_reference_that_mean_nothing_here_are_ignored(tmp_path: Path) -> None:
    text = """
server: {log_file: "", create_new_log: true, use_model_registry: false}
transport: {record_audio_data: false, audio_log_dir: logs}
diar: {enabled: false, type: nemo}
turn_taking: {backchannel_phrases_path: null, max_buffer_size: 0, bot_stop_delay: 0.0}
"""
    found = parsed(tmp_path, text).speech
    assert found == parse_config(ARGUMENTS, {}).speech


def test_a_class_that_does_not_take_its_arguments_is_named(tmp_path: Path) -> None:
    from pytest_voiceeval.bots.speech.config import ServiceConfig, SpeechError

    arguments: dict[str, Any] = {"pitch": 3}
    with pytest.raises(SpeechError, match=r"stt: json\.loads cannot be made with nonsense, pitch"):
        ServiceConfig("stt", "json.loads", {"nonsense": 1, **arguments}).make()
