"""Our codec against Pipecat's, byte for byte. Pipecat runs in a child process."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
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
from pytest_voiceeval.wire.rtvi import Envelope, dump, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conformance.conftest import Child, StartChild

KINDS: dict[str, type[Frame]] = {
    "text": TextFrame,
    "audio": AudioFrame,
    "transcription": TranscriptionFrame,
    "message": MessageFrame,
    "interruption": InterruptionFrame,
}
NAMES = {kind: name for name, kind in KINDS.items()}

slowly = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
uint64 = st.integers(0, 2**64 - 1)
uint32 = st.integers(0, 2**32 - 1)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
audio = st.builds(
    AudioFrame, st.binary(max_size=200), uint32, uint32, uint64, text, st.none() | uint64
)
sensible_audio = audio.filter(lambda frame: frame.num_channels > 0)  # Pipecat divides by it
rest = st.one_of(
    st.builds(TextFrame, text, uint64, text),
    st.builds(TranscriptionFrame, text, text, text, uint64, text),
    st.builds(InterruptionFrame, uint64, text),
)
frames = st.one_of(audio, rest, st.builds(MessageFrame, text))


@pytest.fixture(scope="module")
def pipecat(start_child: StartChild) -> Iterator[Child]:
    with start_child("pipecat_codec.py") as child:
        assert child.line() == "ready"
        yield child


def ask(pipecat: Child, **request: Any) -> Any:
    pipecat.write(json.dumps(request))
    return json.loads(pipecat.line())


def fields_of(frame: Frame) -> dict[str, Any]:
    fields = dataclasses.asdict(frame)
    return {
        name: value.hex() if isinstance(value, bytes) else value
        for name, value in fields.items()
        if value is not None
    }


def written(pipecat: Child, op: str, frame: Frame) -> str:
    answer = ask(pipecat, op=op, kind=NAMES[type(frame)], fields=fields_of(frame))
    return str(answer)


def read(pipecat: Child, data: bytes) -> Frame | None:
    answer = ask(pipecat, op="parse", data=data.hex())
    if "error" in answer:
        return None
    fields = answer["fields"]
    if "audio" in fields:
        fields["audio"] = bytes.fromhex(fields["audio"])
    return KINDS[answer["kind"]](**fields)


@slowly
@given(frame=frames)
def test_we_write_what_the_generated_code_writes(pipecat: Child, frame: Frame) -> None:
    assert encode(frame).hex() == written(pipecat, "pb2", frame)


@slowly
@given(frame=frames)
def test_the_generated_code_reads_what_we_write(pipecat: Child, frame: Frame) -> None:
    assert read(pipecat, encode(frame)) == frame


@slowly
@given(frame=sensible_audio | rest)
def test_we_write_what_the_serializer_writes(pipecat: Child, frame: Frame) -> None:
    # Pipecat leaves out every falsy field, and then the frame itself if nothing is left.
    if isinstance(frame, AudioFrame) and frame.pts == 0:
        frame = dataclasses.replace(frame, pts=None)
    assume(any(fields_of(frame).values()))
    assert encode(frame).hex() == written(pipecat, "serialize", frame)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)


@slowly
@given(data=json_values, number=st.none() | text)
def test_messages_pass_both_ways(pipecat: Child, data: Any, number: str | None) -> None:
    envelope = Envelope("server-message", data, number)
    raw = encode(MessageFrame(dump(envelope)))
    there = ask(pipecat, op="deserialize", data=raw.hex())
    assert there["kind"] == "InputTransportMessageFrame"
    assert parse(json.dumps(there["fields"]["message"])) == envelope
    message = MessageFrame(json.dumps(there["fields"]["message"]))
    back = decode(bytes.fromhex(written(pipecat, "serialize", message)))
    assert isinstance(back, MessageFrame)
    assert parse(back.data) == envelope


@slowly
@given(frame=sensible_audio)
def test_our_audio_is_pipecats_input_audio(pipecat: Child, frame: AudioFrame) -> None:
    answer = ask(pipecat, op="deserialize", data=encode(frame).hex())
    assert answer["kind"] == "InputAudioRawFrame"
    fields = answer["fields"]
    assert bytes.fromhex(fields["audio"]) == frame.audio
    assert (fields["sample_rate"], fields["num_channels"]) == (
        frame.sample_rate,
        frame.num_channels,
    )
    assert fields["pts"] == (frame.pts or None)
    if frame.id:
        assert fields["id"] == frame.id
    if frame.name:
        assert fields["name"] == frame.name


def damage(raw: bytes, data: st.DataObject) -> bytes:
    """Cut, change or insert a few bytes."""
    at = data.draw(st.integers(0, len(raw)))
    inserted = data.draw(st.binary(max_size=6))
    return raw[:at] + inserted + raw[at + data.draw(st.integers(0, 4)) :]


@slowly
@given(first=frames, second=frames, data=st.data())
def test_damaged_bytes_are_read_alike(
    pipecat: Child, first: Frame, second: Frame, data: st.DataObject
) -> None:
    """Both sides see the same frame or none. (Groups, which we refuse, count as none.)"""
    raw = damage(encode(first) + encode(second), data)
    try:
        ours: Frame | None = decode(raw)
    except FrameError as exc:
        assume("wire type" not in str(exc))
        ours = None
    assert ours == read(pipecat, raw)
