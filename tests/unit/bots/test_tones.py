"""The tone codec: exact or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_voiceeval.bots.speech.tones import LONGEST, Listener, encode, is_tonal, samples_of

TEXTS = [
    "Hello.",
    "Larkspur Airways reservations, good afternoon. How may I be of help?",
    "Zoë has a naïve façade: 航空券",
    "",
]


def pieces(sound: bytes, size: int) -> list[bytes]:
    return [sound[start : start + size] for start in range(0, len(sound), size)]


def texts_of(listener: Listener, sound: bytes, size: int = 512) -> list[str | None]:
    heard = [found.text for piece in pieces(sound, size) for found in listener.feed(piece)]
    return [*heard, *(found.text for found in listener.silence())]


@pytest.mark.parametrize("rate", [8000, 16000, 24000, 48000])
@pytest.mark.parametrize("text", TEXTS)
def test_what_is_spoken_is_heard(rate: int, text: str) -> None:
    pause = bytes(rate // 2)
    sound = pause + encode(text, rate) + pause + encode("And again.", rate) + pause
    for size in (160, 1000, len(sound)):
        assert texts_of(Listener(rate), sound, size) == [text, "And again."]


@pytest.mark.parametrize("snr", [20, 10, 5])
def test_noise_does_not_matter(snr: int) -> None:
    samples = np.frombuffer(encode(TEXTS[1], 16000), "<i2").astype(float)
    padded = np.concatenate([np.zeros(4000), samples, np.zeros(4000)])
    noise = np.random.default_rng(snr).normal(0, 1, len(padded))
    noisy = padded + noise * np.sqrt(np.mean(samples**2) / 10 ** (snr / 10))
    sound = np.clip(noisy, -32768, 32767).astype("<i2").tobytes()
    listener = Listener(16000)
    assert [found.text for piece in pieces(sound, 512) for found in listener.feed(piece)] == [
        TEXTS[1]
    ]


def test_the_line_of_a_telephone_does_not_matter() -> None:
    soxr = pytest.importorskip("soxr")
    samples = np.frombuffer(encode(TEXTS[1], 24000), "<i2")
    narrow = soxr.resample(soxr.resample(samples, 24000, 8000), 8000, 16000)
    sound = bytes(3200) + narrow.astype("<i2").tobytes() + bytes(3200)
    assert texts_of(Listener(16000), sound) == [TEXTS[1]]


def test_one_lost_frame_is_noticed_wherever_it_is_lost() -> None:
    frames = pieces(encode("How may I be of help?", 16000), 640)
    pause = bytes(6400)
    for lost in range(len(frames)):
        sound = pause + b"".join(frames[:lost] + frames[lost + 1 :]) + pause
        heard = texts_of(Listener(16000), sound)
        assert heard, lost
        assert set(heard) == {None}, lost


def test_a_sentence_that_breaks_off_is_damaged_and_the_next_one_is_heard() -> None:
    listener = Listener(16000)
    assert texts_of(listener, encode(TEXTS[1], 16000)[:20000]) == [None]
    assert texts_of(listener, bytes(3200) + encode("Next.", 16000) + bytes(640)) == ["Next."]


@pytest.mark.parametrize("rate", [8000, 16000])
def test_silence_clicks_and_noise_are_nothing(rate: int) -> None:
    click = np.full(80, 9000, "<i2").tobytes()
    noise = np.random.default_rng(1).normal(0, 3000, 30 * rate).astype("<i2").tobytes()
    assert texts_of(Listener(rate), bytes(32000) + click + bytes(32000) + noise) == []


@pytest.mark.parametrize("offset", range(0, 160, 20))
def test_tones_are_told_from_noise_wherever_one_begins(offset: int) -> None:
    random = np.random.default_rng(offset)
    tones = samples_of(encode(TEXTS[1], 16000)[2 * (offset + 400) :])
    noisy = tones + random.normal(0, np.sqrt(np.mean(tones**2) / 10), len(tones))  # 10 dB
    frames = [noisy[start : start + 320] for start in range(0, len(noisy) - 400, 320)]
    heard = [is_tonal(frame.astype(np.float32), 16000) for frame in frames]
    assert sum(heard) / len(heard) > 0.98
    hiss = random.normal(0, 5000, 16000 * 10).astype(np.float32)
    assert not any(is_tonal(hiss[at : at + 320], 16000) for at in range(0, len(hiss) - 320, 320))


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match=f"at most {LONGEST}"):
        encode("x" * (LONGEST + 1), 16000)
