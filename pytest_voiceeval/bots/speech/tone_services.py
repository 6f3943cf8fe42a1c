"""Pipecat services that speak and hear in tones, and a detector that tells them from noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loguru import logger
from pipecat.audio.vad.vad_analyzer import VADAnalyzer, VADParams
from pipecat.frames.frames import (
    Frame,
    InputAudioRawFrame,
    TranscriptionFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.serializers.protobuf import ProtobufFrameSerializer
from pipecat.services.settings import STTSettings
from pipecat.services.stt_service import STTService
from pipecat.utils.time import time_now_iso8601

from pytest_voiceeval.bots.speech.speaking import Mute, SentenceTTSService
from pytest_voiceeval.bots.speech.tones import (
    Listener,
    encode,
    is_silent,
    is_tonal,
    samples_of,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from pipecat.processors.frame_processor import FrameDirection

    from pytest_voiceeval.bots.speech.tones import Heard

UNINTELLIGIBLE = "[unintelligible]"
"""What is transcribed when tones were heard and their checksum was wrong."""

LONG_SILENCE = 1.0
"""Seconds of silence after which more of it tells nothing: longer than a usual pause."""

PAUSE = 0.02
"""Seconds of silence before and after each sentence."""


class ToneTTSService(SentenceTTSService):
    """Speaks in tones: exact, 40 characters a second, no network, no weights."""

    def __init__(self, **options: Any) -> None:
        super().__init__(model="tones", voice="tones", **options)

    async def speak(self, text: str) -> bytes:
        """The tones of a sentence, with a pause before and after."""
        pause = bytes(2 * round(PAUSE * self.sample_rate))
        try:
            return pause + encode(text, self.sample_rate) + pause
        except ValueError as error:
            raise Mute(str(error)) from None


class ToneSTTService(STTService):
    """Hears tones: each sentence is transcribed as it was spoken, or as unintelligible."""

    def __init__(self, **options: Any) -> None:
        # what was heard is transcribed before the speaker is known to have stopped
        given: dict[str, Any] = {
            "settings": STTSettings(model="tones", language=None),
            "ttfs_p99_latency": 0.0,
            # nobody behind it listens, and each frame would go through all stages
            "audio_passthrough": False,
        }
        super().__init__(**{**given, **options})
        self._listener: Listener | None = None

    def can_generate_metrics(self) -> bool:
        """Nothing is worth it: what was heard is known before the speaker is said to have stopped.

        Pipecat would note with each sentence that it cannot tell how long that took.
        """
        return False

    async def run_stt(self, audio: bytes) -> AsyncGenerator[Frame | None, None]:
        """Listen to 16 bit mono samples.

        Args:
            audio: Any number of them.

        Yields:
            One transcription a sentence that ended in them.
        """
        for heard in self._ears().feed(audio):
            yield self._transcription(heard)

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Listen, and notice sentences that were cut off."""
        if isinstance(frame, VADUserStoppedSpeakingFrame):
            for heard in self._ears().silence():
                await self.push_frame(self._transcription(heard))
        await super().process_frame(frame, direction)

    def _ears(self) -> Listener:
        if self._listener is None:
            self._listener = Listener(self.sample_rate)
        return self._listener

    def _transcription(self, heard: Heard) -> TranscriptionFrame:
        if heard.text is None:
            logger.warning(f"{self}: damaged tones from {heard.start:.2f} to {heard.end:.2f} s")
        text = UNINTELLIGIBLE if heard.text is None else heard.text
        frame = TranscriptionFrame(text, self._user_id, time_now_iso8601())
        frame.finalized = True
        return frame


class ToneDetector(VADAnalyzer):
    """Voice activity of whoever speaks in tones, whatever the noise.

    Models for speech do not hear tones.
    """

    def __init__(self, *, params: VADParams) -> None:
        super().__init__(params=params.model_copy(update={"min_volume": 0.0, "confidence": 0.5}))

    def num_frames_required(self) -> int:
        """Samples that are looked at together: 20 ms, so that one whole tone is among them."""
        return self.sample_rate // 50

    def voice_confidence(self, buffer: bytes) -> float:
        """1 where there is a tone, else 0."""
        if is_silent(buffer):
            return 0.0
        return 1.0 if is_tonal(samples_of(buffer), self.sample_rate) else 0.0

    def _get_smoothed_volume(self, audio: bytes) -> float:  # noqa: ARG002 - Pipecat's name
        """Spared: any volume will do, and to measure it takes longer than to find a tone."""
        return 1.0


class ToneSerializer(ProtobufFrameSerializer):
    """Reads frames, and drops what follows on a second of silence.

    Digital zeros, in which nothing can be heard, are most of what a bot is sent, and its stages
    would spend as much on them as on speech.
    """

    def __init__(self) -> None:
        super().__init__()
        self._silent = 0.0

    async def deserialize(self, data: str | bytes) -> Frame | None:
        """Read a frame; None is one that nobody has to hear."""
        frame = await super().deserialize(data)
        if not isinstance(frame, InputAudioRawFrame):
            return frame
        seconds = frame.num_frames / frame.sample_rate
        self._silent = self._silent + seconds if is_silent(frame.audio) else 0.0
        return None if self._silent > LONG_SILENCE else frame
