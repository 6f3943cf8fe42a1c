"""How a stock bot misbehaves on purpose, so that a harness can be tested against it."""

from __future__ import annotations

import asyncio
import os
import random
from typing import Any

from loguru import logger
from pipecat.frames.frames import (
    Frame,
    InputTransportMessageFrame,
    OutputTransportMessageUrgentFrame,
)
from pipecat.serializers.protobuf import ProtobufFrameSerializer

from pytest_voiceeval.bots.faults import REPLIES_BEFORE_CRASH

CRASH_EXIT_CODE = 13
CRASH_DELAY = 0.2
"""Seconds between the reply and the crash, so that the client has the whole reply."""

GARBAGE_FROM_TURN = 3


class GarbageSerializer(ProtobufFrameSerializer):
    """Sends bytes that are no protobuf message instead of every frame, from the third turn on.

    Args:
        seed: Makes the bytes repeatable, e.g. the session's id.
    """

    def __init__(self, seed: str) -> None:
        super().__init__()
        self._random = random.Random(seed)  # noqa: S311 - noise, not a secret
        self._texts = self._speeches = 0
        self._told = False

    async def deserialize(self, data: str | bytes) -> Frame | None:
        """Read a frame, and count the turns: in text each begins with a send-text."""
        frame = await super().deserialize(data)
        if isinstance(frame, InputTransportMessageFrame):
            self._texts += frame.message.get("type") == "send-text"
        return frame

    async def serialize(self, frame: Frame) -> str | bytes | None:
        """Write a frame, or noise in its place; with a voice, a turn begins when it speaks."""
        if isinstance(frame, OutputTransportMessageUrgentFrame):
            self._speeches += frame.message.get("type") == "bot-started-speaking"
        if max(self._texts, self._speeches) < GARBAGE_FROM_TURN:
            return await super().serialize(frame)
        if not self._told:
            self._told = True
            logger.warning("simulated fault 'garbage': no valid frame from here on")
        # The low bits of the first byte are a wire type that protobuf does not have.
        return b"\xff" + self._random.randbytes(self._random.randint(8, 64))


class Crash:
    """Ends the process, as a crash would, after the second complete reply of a session."""

    def __init__(self) -> None:
        self._replies = 0

    async def on_reply(self, _aggregator: Any, message: Any) -> None:
        """Count a reply; to be registered for `on_assistant_turn_stopped`."""
        if message.interrupted or not message.content:
            return
        self._replies += 1
        if self._replies < REPLIES_BEFORE_CRASH:
            return
        await asyncio.sleep(CRASH_DELAY)
        logger.critical(
            f"simulated fault 'crashes': the process ends with exit code {CRASH_EXIT_CODE} "
            f"after {REPLIES_BEFORE_CRASH} replies"
        )
        logger.complete()
        os._exit(CRASH_EXIT_CODE)
