"""The voice of espeak-ng: what it needs, and what comes of it."""

from __future__ import annotations

import shutil

import pytest

from pytest_voiceeval.bots.speech.config import SpeechError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def make(**arguments: object) -> object:
    from pytest_voiceeval.bots.speech.espeak import EspeakTTSService

    return EspeakTTSService(**arguments)


def test_without_the_program_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _program: None)
    with pytest.raises(SpeechError, match=r"espeak-ng is not installed .*apt install espeak-ng"):
        make()


def test_a_speed_nobody_can_follow_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _program: "/bin/espeak-ng")
    with pytest.raises(SpeechError, match="words_per_minute must be 80 to 450, got 900"):
        make(words_per_minute=900)
    with pytest.raises(SpeechError, match="words_per_minute must be 80 to 450, got 'fast'"):
        make(words_per_minute="fast")


@pytest.mark.parametrize("voice", ["klingon-xx", 7])
def test_a_voice_it_does_not_have_is_named_before_the_call(voice: object) -> None:
    if shutil.which("espeak-ng") is None:
        pytest.skip("the program espeak-ng is not installed")
    with pytest.raises(SpeechError, match=f"espeak-ng has no voice {voice!r}: see"):
        make(voice=voice)


async def test_a_program_that_fails_leaves_the_bot_mute(monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_voiceeval.bots.speech.speaking import Mute

    monkeypatch.setattr(shutil, "which", lambda _program: "/bin/false")
    voice = make()
    with pytest.raises(Mute, match=r"espeak-ng did not speak: .*non-zero exit status 1"):
        await voice.speak("Hello.")  # type: ignore[attr-defined]


def test_it_speaks() -> None:
    if shutil.which("espeak-ng") is None:
        pytest.skip("the program espeak-ng is not installed")
    sound, rate = make()._run("Hello, how may I help you?")  # type: ignore[attr-defined]
    assert 0.8 < len(sound) / 2 / rate < 6
