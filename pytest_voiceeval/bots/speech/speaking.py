"""What the voices of ours share: whole sentences, handed over in frames."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from pipecat.frames.frames import ErrorFrame, Frame, TTSAudioRawFrame
from pipecat.services.settings import TTSSettings
from pipecat.services.tts_service import TTSService

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

FRAME = 0.04
"""Seconds of sound in one frame."""


class Mute(Exception):
    """A sentence that could not be spoken; the text says why."""


class SentenceTTSService(TTSService):
    """Speaks whole sentences that are made at once.

    Args:
        model: What speaks.
        voice: With which voice.
        options: Of Pipecat's `TTSService`.
    """

    def __init__(self, *, model: str, voice: str, **options: Any) -> None:
        given: dict[str, Any] = {
            "settings": TTSSettings(model=model, voice=voice, language=None),
            "push_start_frame": True,
            "push_stop_frames": True,
        }
        super().__init__(**{**given, **options})

    def can_generate_metrics(self) -> bool:
        """Characters and time to first byte are reported."""
        return True

    @abstractmethod
    async def speak(self, text: str) -> bytes:
        """The sound of a sentence: 16 bit mono samples at `self.sample_rate`.

        Raises:
            Mute: There is none.
        """

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
            sound = await self.speak(text)
        except Mute as error:
            yield ErrorFrame(error=str(error))
            return
        await self.stop_ttfb_metrics()
        size = 2 * round(FRAME * self.sample_rate)
        for start in range(0, len(sound), size):
            chunk = sound[start : start + size]
            yield TTSAudioRawFrame(chunk, self.sample_rate, 1, context_id=context_id)
