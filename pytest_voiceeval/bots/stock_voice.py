"""What a stock bot with a voice has that one without has not: stages, transport, turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipecat.audio.vad.vad_analyzer import VADParams
from pipecat.processors.aggregators.llm_response_universal import LLMUserAggregatorParams
from pipecat.processors.audio.vad_processor import VADProcessor
from pipecat.serializers.protobuf import ProtobufFrameSerializer
from pipecat.turns.user_start import VADUserTurnStartStrategy
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies

if TYPE_CHECKING:
    from pipecat.audio.vad.vad_analyzer import VADAnalyzer
    from pipecat.processors.frame_processor import FrameProcessor

    from pytest_voiceeval.bots.speech.config import SpeechConfig

SAMPLE_RATE_IN = 16_000
SAMPLE_RATE_OUT = 24_000
VAD = VADParams(confidence=0.6, start_secs=0.1, stop_secs=0.2, min_volume=0.2)
"""What the configuration file does not say."""


def transport_options(speech: SpeechConfig) -> dict[str, Any]:
    """How the transport takes and gives sound."""
    return {
        "audio_in_enabled": True,
        "audio_out_enabled": True,
        "audio_in_sample_rate": SAMPLE_RATE_IN,
        "audio_out_sample_rate": SAMPLE_RATE_OUT,
        "audio_out_10ms_chunks": speech.chunks,
    }


def hearing_stages(speech: SpeechConfig) -> list[FrameProcessor]:
    """The stages ahead of the user's aggregator.

    Raises:
        SpeechError: A service cannot be made.
    """
    return [VADProcessor(vad_analyzer=_detector(speech)), speech.stt.make()]


def serializer(speech: SpeechConfig) -> ProtobufFrameSerializer:
    """What reads the frames; where only tones are listened to, silence is dropped early."""
    from pytest_voiceeval.bots.speech.tone_services import (
        LONG_SILENCE,
        ToneSerializer,
        ToneSTTService,
    )

    # a detector that waits for longer than that has to hear it
    patient = speech.vad_params.get("stop_secs", 0.0) >= LONG_SILENCE
    tones = speech.vad == "tones" and not patient and speech.stt.load() is ToneSTTService
    return ToneSerializer() if tones else ProtobufFrameSerializer()


def turns(speech: SpeechConfig) -> LLMUserAggregatorParams:
    """When it is the bot's turn: the other side was silent for a while.

    The default strategies would load a model for the end of turns.
    """
    return LLMUserAggregatorParams(
        user_turn_strategies=UserTurnStrategies(
            start=[VADUserTurnStartStrategy()],
            stop=[SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=speech.speech_timeout)],
        )
    )


def _detector(speech: SpeechConfig) -> VADAnalyzer:
    params = VAD.model_copy(update=dict(speech.vad_params))
    if speech.vad == "silero":
        from pipecat.audio.vad.silero import SileroVADAnalyzer

        return SileroVADAnalyzer(params=params)
    from pytest_voiceeval.bots.speech.tone_services import ToneDetector

    return ToneDetector(params=params)
