"""The frame codec: known bytes, what it refuses, and that nothing makes it fall over."""

from __future__ import annotations

import dataclasses
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voiceeval.wire.frames import (
    AudioFrame,
    Frame,
    FrameError,
    InterruptionFrame,
    MessageFrame,
    TextFrame,
    TranscriptionFrame,
    decode,
    encode,
)

GOLDEN = [
    pytest.param(
        MessageFrame('{"label": "rtvi-ai"}'),
        "22160a147b226c6162656c223a2022727476692d6169227d",
        id="message",
    ),
    pytest.param(
        AudioFrame(bytes(range(8)), 16000, 1, id=1, name="OutputAudioRawFrame#0"),
        "1228080112154f7574707574417564696f5261774672616d6523301a08000102030405060720807d2801",
        id="audio",
    ),
    pytest.param(AudioFrame(b"", 8000, 2), "120520c03e2802", id="audio-empty"),
    pytest.param(AudioFrame(b"\x01", 1, 1, pts=0), "12091a0101200128013000", id="audio-pts-0"),
    pytest.param(TextFrame("hé", id=300, name="n"), "0a0b08ac0212016e1a0368c3a9", id="text"),
    pytest.param(TranscriptionFrame("a", "b", "c"), "1a091a01612201622a0163", id="transcription"),
    pytest.param(InterruptionFrame(), "2a00", id="interruption-empty"),
    pytest.param(InterruptionFrame(5, "I#5"), "2a0708051203492335", id="interruption"),
    pytest.param(MessageFrame(""), "2200", id="message-empty"),
]


@pytest.mark.parametrize(("frame", "data"), GOLDEN)
def test_known_bytes(frame: Frame, data: str) -> None:
    assert encode(frame).hex() == data
    assert decode(bytes.fromhex(data)) == frame


uint64 = st.integers(0, 2**64 - 1)
uint32 = st.integers(0, 2**32 - 1)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
frames = st.one_of(
    st.builds(TextFrame, text, uint64, text),
    st.builds(
        AudioFrame, st.binary(max_size=300), uint32, uint32, uint64, text, st.none() | uint64
    ),
    st.builds(TranscriptionFrame, text, text, text, uint64, text),
    st.builds(MessageFrame, text),
    st.builds(InterruptionFrame, uint64, text),
)


@given(frames)
def test_every_frame_comes_back(frame: Frame) -> None:
    assert decode(encode(frame)) == frame


@given(frames, st.data())
def test_every_cut_is_an_error_or_a_shorter_frame(frame: Frame, data: st.DataObject) -> None:
    whole = encode(frame)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(FrameError):
        decode(cut)


@given(st.binary(max_size=60))
def test_any_bytes_give_a_frame_or_a_frame_error(data: bytes) -> None:
    try:
        frame = decode(data)
    except FrameError:
        return
    assert decode(encode(frame)) == frame


UNKNOWN = [
    pytest.param("f80105", id="varint"),
    pytest.param("f9010102030405060708", id="fixed64"),
    pytest.param("fa0103616263", id="bytes"),
    pytest.param("fd0101020304", id="fixed32"),
]


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_unknown_fields_are_skipped(unknown: str) -> None:
    inner = bytes.fromhex("08051203492335" + unknown)
    data = bytes.fromhex(unknown) + b"\x2a" + bytes([len(inner)]) + inner + bytes.fromhex(unknown)
    assert decode(data) == InterruptionFrame(5, "I#5")


@pytest.mark.parametrize(
    ("data", "frame"),
    [
        pytest.param("2a0408010802", InterruptionFrame(2), id="last-value-counts"),
        pytest.param("2a0208012a0312016e", InterruptionFrame(1, "n"), id="same-kind-is-merged"),
        pytest.param("2a0208010a00", TextFrame(""), id="last-kind-counts"),
        pytest.param("2a020a00", InterruptionFrame(), id="field-of-another-type-is-unknown"),
        pytest.param("2a050d00000000", InterruptionFrame(), id="fixed-field-is-unknown"),
        pytest.param("120720ffffffffff0f", AudioFrame(b"", 2**32 - 1, 0), id="32-bits-are-kept"),
        pytest.param("2a020800", InterruptionFrame(), id="zero"),
        pytest.param(
            "2a0b08ffffffffffffffffff7f", InterruptionFrame(2**64 - 1), id="64-bits-are-kept"
        ),
    ],
)
def test_as_protobuf_reads_it(data: str, frame: Frame) -> None:
    assert decode(bytes.fromhex(data)) == frame


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param("", "0 bytes hold none of the five frame kinds", id="empty"),
        pytest.param("7801", "2 bytes hold none of the five frame kinds", id="unknown-kind"),
        pytest.param("22", "cut off or malformed number at byte 1", id="no-length"),
        pytest.param("220a0a05", "cut off: field 4 needs 10 bytes, 2 are left", id="cut-outside"),
        pytest.param("22020a05", "cut off: field 1 needs 5 bytes, 0 are left", id="cut-inside"),
        pytest.param("22030a01ff", "field 'data' is not UTF-8", id="not-utf8"),
        pytest.param("00", "field number 0 at byte 1 is out of range", id="field-0"),
        pytest.param("0b0c", "field 1 has wire type 3, which proto3 does not have", id="group"),
        pytest.param("2a0308" + "ff" * 2, "cut off or malformed number", id="cut-number"),
        pytest.param("08" + "ff" * 11, "cut off or malformed number", id="endless-number"),
        pytest.param("2a0c08" + "ff" * 10 + "00", "cut off or malformed number", id="11-bytes"),
        pytest.param("2affffffffffffffff7f", "cut off: field 5 needs", id="absurd-length"),
    ],
)
def test_malformed(data: str, told: str) -> None:
    with pytest.raises(FrameError) as caught:
        decode(bytes.fromhex(data))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        pytest.param(
            AudioFrame(b"", -1, 1),
            "AudioFrame.sample_rate is -1, expected 0 to 4294967295",
            id="-1",
        ),
        pytest.param(AudioFrame(b"", 1, 2**32), "AudioFrame.num_channels is 4294967296", id="2^32"),
        pytest.param(InterruptionFrame(2**64), "InterruptionFrame.id is 18446", id="2^64"),
        pytest.param(
            MessageFrame("a\ud800"), "MessageFrame.data has no UTF-8 form", id="surrogate"
        ),
    ],
)
def test_frames_without_bytes(frame: Frame, told: str) -> None:
    with pytest.raises(FrameError) as caught:
        encode(frame)
    assert told in str(caught.value)


def test_frames_are_values() -> None:
    frame = InterruptionFrame(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        frame.id = 2  # type: ignore[misc]
    assert len({frame, InterruptionFrame(1)}) == 1


def test_audio_is_copied_once() -> None:
    size = 8_000_000
    frame = AudioFrame(bytes(size), 24000, 1)
    tracemalloc.start()
    try:
        data = encode(frame)
        assert tracemalloc.get_traced_memory()[1] < 1.1 * size
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        back = decode(data)
        assert tracemalloc.get_traced_memory()[1] - before < 1.1 * size
    finally:
        tracemalloc.stop()
    assert back == frame
