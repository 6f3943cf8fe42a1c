"""A voice from the program espeak-ng, for bots that are to be heard by real ears or real models."""

from __future__ import annotations

import asyncio
import io
import shutil
import subprocess
import wave
from functools import cache
from typing import Any

from pytest_voiceeval.bots.speech.config import SpeechError
from pytest_voiceeval.bots.speech.speaking import Mute, SentenceTTSService

PROGRAM = "espeak-ng"
DEADLINE = 20.0
"""Seconds the program has to speak one sentence."""


class EspeakTTSService(SentenceTTSService):
    """Speaks with espeak-ng, which has to be installed.

    Args:
        voice: One of `espeak-ng --voices`, such as `en-us` or `en-gb+f3`.
        words_per_minute: How fast it speaks, 80 to 450.
        options: Of Pipecat's `TTSService`.

    Raises:
        SpeechError: The program is not installed, or the speed cannot be used.
    """

    def __init__(
        self, *, voice: str = "en-us", words_per_minute: int = 165, **options: Any
    ) -> None:
        program = shutil.which(PROGRAM)
        if program is None:
            raise SpeechError(
                f"the program {PROGRAM} is not installed (Debian: apt install {PROGRAM})"
            )
        speed: object = words_per_minute  # from a file, where it may be anything
        if not isinstance(speed, int | float) or not 80 <= speed <= 450:
            raise SpeechError(f"words_per_minute must be 80 to 450, got {speed!r}")
        if not _has_voice(program, voice):
            raise SpeechError(f"{PROGRAM} has no voice {voice!r}: see {PROGRAM} --voices")
        super().__init__(model=PROGRAM, voice=voice, **options)
        self._command = [program, "--stdout", "--stdin", "-v", voice, "-s", str(round(speed))]

    async def speak(self, text: str) -> bytes:
        """What the program says, at this service's rate."""
        try:
            sound, rate = await asyncio.to_thread(self._run, text)
        except (OSError, subprocess.SubprocessError, wave.Error) as error:
            raise Mute(f"{PROGRAM} did not speak: {error}") from None
        return await self._resampler.resample(sound, rate, self.sample_rate)

    def _run(self, text: str) -> tuple[bytes, int]:
        """Samples, 16 bit mono, and their rate."""
        done = subprocess.run(  # noqa: S603 - the program by its full path, no shell
            self._command, input=text.encode(), capture_output=True, check=True, timeout=DEADLINE
        )
        # what is written to a pipe says it is endless; its samples follow the header
        with wave.open(io.BytesIO(done.stdout)) as file:
            return file.readframes(file.getnframes()), file.getframerate()


@cache
def _has_voice(program: str, voice: object) -> bool:
    if not isinstance(voice, str):
        return False
    command = [program, "-q", "-v", voice, "a"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=DEADLINE, check=False)  # noqa: S603
    except (OSError, ValueError, subprocess.SubprocessError):
        return True  # it is no question of the voice: it will say so when it is to speak
    return done.returncode == 0 or b"voice" not in done.stderr
