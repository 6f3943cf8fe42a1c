"""What a bot that hears tones is spared, and that it misses nothing by it."""

from __future__ import annotations

import warnings
from typing import Any, cast

import pytest

from pytest_voiceeval.bots.speech.tones import Listener, encode
from pytest_voiceeval.wire.frames import AudioFrame
from pytest_voiceeval.wire.frames import encode as encode_frame

with warnings.catch_warnings():
    # pipecat imports what Python is about to drop
    warnings.simplefilter("ignore", DeprecationWarning)
    from pytest_voiceeval.bots.speech.tone_services import LONG_SILENCE, ToneSerializer

RATE = 16_000
FRAME = 512
"""Bytes of 16 ms."""


async def filtered(sound: bytes) -> list[bytes]:
    serializer = ToneSerializer()
    heard = []
    for at in range(0, len(sound), FRAME):
        frame = await serializer.deserialize(
            encode_frame(AudioFrame(sound[at : at + FRAME], RATE, 1))
        )
        heard.append(b"" if frame is None else cast("Any", frame).audio)
    return heard


async def test_only_zeros_beyond_a_second_are_dropped() -> None:
    heard = await filtered(bytes(FRAME * 200))
    kept = sum(map(bool, heard))
    assert kept * 0.016 == pytest.approx(LONG_SILENCE, abs=0.016)
    assert not any(heard[kept:])

    noise = b"\1\0" * (FRAME // 2) * 200
    assert b"".join(await filtered(noise)) == noise


async def test_speech_after_a_long_silence_is_heard_whole() -> None:
    words = ("First sentence.", "A second one, much later.")
    sound = b"".join(encode(text, RATE) + bytes(5 * 2 * RATE) for text in words)
    listener = Listener(RATE)
    heard = [one for frame in await filtered(sound) if frame for one in listener.feed(frame)]
    assert tuple(one.text for one in heard) == words
