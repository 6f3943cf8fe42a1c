"""The fault `garbage`: from the third turn on, in text as with a voice."""

from __future__ import annotations

import warnings

import pytest

from pytest_voiceeval.wire.frames import FrameError, MessageFrame, decode, encode

with warnings.catch_warnings():
    # pipecat imports what Python is about to drop
    warnings.simplefilter("ignore", DeprecationWarning)
    from pipecat.frames.frames import OutputTransportMessageUrgentFrame

    from pytest_voiceeval.bots.stock_faults import GarbageSerializer


def says(kind: str) -> OutputTransportMessageUrgentFrame:
    return OutputTransportMessageUrgentFrame(message={"label": "rtvi-ai", "type": kind})


async def is_frame(garbage: GarbageSerializer, kind: str) -> bool:
    data = await garbage.serialize(says(kind))
    assert isinstance(data, bytes)
    try:
        decode(data)
    except FrameError:
        return False
    return True


@pytest.mark.parametrize("how", ["text", "voice"])
async def test_it_begins_with_the_third_turn(how: str) -> None:
    garbage = GarbageSerializer("s1")
    for turn in (1, 2, 3):
        if how == "text":
            await garbage.deserialize(encode(MessageFrame('{"type": "send-text"}')))
        spoke = await is_frame(garbage, "bot-started-speaking" if how == "voice" else "bot-output")
        assert spoke is (turn < 3)
    assert not await is_frame(garbage, "bot-output")
