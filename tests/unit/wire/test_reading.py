"""Reading messages without a socket: warnings are bounded, explanations follow what came."""

from __future__ import annotations

import pytest

from pytest_voiceeval.wire.errors import ProtocolBroken, WrongProtocol
from pytest_voiceeval.wire.frames import AudioFrame, MessageFrame, encode
from pytest_voiceeval.wire.reading import MessageReader, Warnings
from pytest_voiceeval.wire.rtvi import Envelope, dump

SOUND = AudioFrame(b"\0\0", 16000, 1)


def new_reader() -> tuple[MessageReader, Warnings]:
    warnings = Warnings()
    return MessageReader("agent at ws://x", warnings), warnings


def message(kind: str) -> bytes:
    return encode(MessageFrame(dump(Envelope(kind))))


def test_warnings_are_bounded() -> None:
    reader, warnings = new_reader()
    for _ in range(300):
        reader.read(encode(SOUND))
        reader.read(b"\xff")
    texts = warnings.texts()
    assert len(texts) == 101
    assert texts[-1] == "... and 200 more"


def test_unknown_types_are_warned_of_once_and_boundedly() -> None:
    reader, warnings = new_reader()
    for number in range(300):
        for _ in range(2):
            assert reader.read(message(f"odd-{number}")) == Envelope(f"odd-{number}")
    assert len(warnings.texts()) == 100
    assert len(reader.rtvi_kinds) == 8


def test_a_good_message_starts_the_count_anew() -> None:
    reader, _ = new_reader()
    reader.read(encode(SOUND))
    for _ in range(5):
        reader.read(b"\xff")
        reader.read(b"\xff")
        assert reader.read(encode(SOUND)) == SOUND
    reader.read(b"\xff")
    reader.read("text")
    with pytest.raises(ProtocolBroken, match=r"^agent at ws://x: 3 bad messages in a row"):
        reader.read(b"")


def test_foreign_messages_are_no_bad_messages() -> None:
    reader, warnings = new_reader()
    for _ in range(10):
        assert reader.read(encode(MessageFrame('{"label": "mine"}'))) is None
    assert len(warnings.texts()) == 1


def test_bad_messages_alone_are_another_protocol() -> None:
    reader, warnings = new_reader()
    reader.read(b"\xff")
    with pytest.raises(WrongProtocol, match="expected protobuf frames with RTVI messages"):
        reader.explain_silence()
    reader.read(b"\xff")
    with pytest.raises(WrongProtocol):
        reader.read(b"\xff")
    assert len(warnings.texts()) == 2
