"""A voice from the program espeak-ng, for bots that are to be heard by real ears or real models."""

from __future__ import annotations

import asyncio
import io
import shutil
import subprocess
import wave
from typing import TYPE_CHECKING, Any

from pipecat.frames.frames import ErrorFrame, Frame, TTSAudioRawFrame
from pipecat.services.settings import TTSSettings
from pipecat.services.tts_service import TTSService

from pytest_voiceeval.bots.speech.config import SpeechError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

PROGRAM = "espeak-ng"
DEADLINE = 20.0
"""Seconds the program has to speak one sentence."""

_CHUNK = 0.04


class EspeakTTSService(TTSService):
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
        if not 80 <= words_per_minute <= 450:
            raise SpeechError(f"words_per_minute must be 80 to 450, got {words_per_minute}")
        given: dict[str, Any] = {
            "settings": TTSSettings(model=PROGRAM, voice=voice, language=None),
            "push_start_frame": True,
            "push_stop_frames": True,
        }
        super().__init__(**{**given, **options})
        self._command = [program, "--stdout", "--stdin", "-v", voice, "-s", str(words_per_minute)]

    def can_generate_metrics(self) -> bool:
        """Characters and time to first byte are reported."""
        return True

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[Frame | None, None]:
        """Speak one sentence.

        Args:
            text: What to say.
            context_id: Which utterance it belongs to.

        Yields:
            The sound, in frames of 40 ms, or an error.
        """
        await self.start_tts_usage_metrics(text)
        try:
            sound, rate = await asyncio.to_thread(self._speak, text)
        except (OSError, subprocess.SubprocessError, wave.Error) as error:
            yield ErrorFrame(error=f"{PROGRAM} did not speak: {error}")
            return
        await self.stop_ttfb_metrics()
        sound = await self._resampler.resample(sound, rate, self.sample_rate)
        size = 2 * round(_CHUNK * self.sample_rate)
        for start in range(0, len(sound), size):
            chunk = sound[start : start + size]
            yield TTSAudioRawFrame(chunk, self.sample_rate, 1, context_id=context_id)

    def _speak(self, text: str) -> tuple[bytes, int]:
        """Samples, 16 bit mono, and their rate."""
        done = subprocess.run(  # noqa: S603 - the program by its full path, no shell
            self._command, input=text.encode(), capture_output=True, check=True, timeout=DEADLINE
        )
        # what is written to a pipe says it is endless; its samples follow the header
        with wave.open(io.BytesIO(done.stdout)) as file:
            return file.readframes(file.getnframes()), file.getframerate()
