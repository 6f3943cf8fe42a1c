"""From WebSocket messages to events, and what to think of messages that are not as agreed.

One bad message is a warning, three in a row end the connection. No I/O here.
"""

from __future__ import annotations

from pytest_voiceeval.wire import rtvi
from pytest_voiceeval.wire.errors import (
    EnvelopeError,
    ForeignLabel,
    FrameError,
    ProtocolBroken,
    WrongProtocol,
)
from pytest_voiceeval.wire.frames import AudioFrame, InterruptionFrame, MessageFrame, decode
from pytest_voiceeval.wire.rtvi import Envelope

Received = Envelope | AudioFrame | InterruptionFrame

BAD_IN_A_ROW = 3
_MAX_WARNINGS = 100
_MAX_KINDS = 8


class Warnings:
    """What went wrong without ending the connection: the first 100 texts, then a count."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._left_out = 0

    def add(self, text: str) -> None:
        """Keep a text."""
        if len(self._texts) < _MAX_WARNINGS:
            self._texts.append(text)
        else:
            self._left_out += 1

    def texts(self) -> list[str]:
        """Return the texts; the last line counts those that were not kept."""
        return [*self._texts, *([f"... and {self._left_out} more"] if self._left_out else [])]


class MessageReader:
    """Reads one connection's messages and remembers enough of them to explain a failure.

    Attributes:
        audio_frames: Audio frames read so far.
        rtvi_kinds: The first few RTVI message types read.
    """

    def __init__(self, where: str, warnings: Warnings) -> None:
        self._where = where
        self._warnings = warnings
        self._bad_in_row = 0
        self._last_fault = ""
        self._foreign = ""
        self._seldom: set[str] = set()
        self.audio_frames = 0
        self.rtvi_kinds: list[str] = []

    def read(self, message: bytes | str) -> Received | None:
        """Read one message.

        Args:
            message: A binary (bytes) or text (str) WebSocket message.

        Returns:
            What it holds, None if it was skipped with a warning.

        Raises:
            WrongProtocol: The peer never sent anything right, and now text, or a third bad message.
            ProtocolBroken: The third bad message in a row.
        """
        if isinstance(message, str):
            self._bad(f"text message, expected binary: {rtvi.preview(message)}", message)
            return None
        try:
            content = self._content(message)
        except (FrameError, EnvelopeError) as exc:
            self._bad(str(exc))
            return None
        self._bad_in_row = 0
        return content

    def _content(self, message: bytes) -> Received | None:
        frame = decode(message)
        if isinstance(frame, MessageFrame):
            return self._envelope(frame.data)
        if isinstance(frame, AudioFrame):
            self.audio_frames += 1
            return frame
        if isinstance(frame, InterruptionFrame):
            return frame
        self._warn_once(f"{type(frame).__name__} skipped: bots send text as RTVI messages")
        return None

    def _envelope(self, text: str) -> Envelope | None:
        try:
            envelope = rtvi.parse(text)
        except ForeignLabel as exc:
            self._foreign = str(exc)
            self._warn_once(f"message skipped: {exc}")
            return None
        if envelope.type not in self.rtvi_kinds and len(self.rtvi_kinds) < _MAX_KINDS:
            self.rtvi_kinds.append(envelope.type)
        if envelope.type not in rtvi.KNOWN_TYPES:
            self._warn_once(f"RTVI message of unknown type {envelope.type!r:.80}")
        return envelope

    def _warn_once(self, text: str) -> None:
        if text not in self._seldom and len(self._seldom) < _MAX_WARNINGS:
            self._seldom.add(text)
            self._warnings.add(text)

    @property
    def _ever_right(self) -> bool:
        return bool(self.audio_frames or self.rtvi_kinds or self._foreign)

    def _bad(self, fault: str, text: str | None = None) -> None:
        self._bad_in_row += 1
        self._last_fault = fault
        if not self._ever_right and (text is not None or self._bad_in_row >= BAD_IN_A_ROW):
            raise WrongProtocol(self._wrong_protocol(text))
        if self._bad_in_row >= BAD_IN_A_ROW:
            raise ProtocolBroken(
                f"{self._where}: {BAD_IN_A_ROW} bad messages in a row; the last: {fault}"
            )
        self._warnings.add(f"bad message skipped: {fault}")

    def _wrong_protocol(self, text: str | None) -> str:
        hint = "the bot needs Pipecat's ProtobufFrameSerializer"
        if text is not None and f'"{rtvi.LABEL}"' in text:
            hint = f"this is RTVI as JSON text; {hint} instead of a JSON one"
        return (
            f"{self._where}: wrong protocol: expected protobuf frames with RTVI messages, "
            f"got: {self._last_fault}; {hint}"
        )

    def explain_silence(self) -> str:
        """Return why ``bot-ready`` may not have come, from what did come.

        Raises:
            WrongProtocol: Only bad messages came.
        """
        if self._last_fault and not self._ever_right:
            raise WrongProtocol(self._wrong_protocol(None))
        if self.rtvi_kinds:
            return (
                f"RTVI messages came ({', '.join(self.rtvi_kinds)}) but no bot-ready: does the bot "
                "call set_bot_ready() on client-ready?"
            )
        if self.audio_frames:
            return (
                f"{self.audio_frames} audio frames came but no RTVI message: the bot's serializer "
                "may drop RTVI messages (ignore_rtvi_messages must be False), or its pipeline has "
                "no RTVIProcessor"
            )
        if self._foreign:
            return f"only messages of another protocol came ({self._foreign})"
        return "nothing came: does its pipeline have an RTVIProcessor, and did the pipeline start?"
