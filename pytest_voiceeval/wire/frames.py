"""Pipecat's protobuf frames in plain Python.

One WebSocket message holds one ``Frame``: a protobuf ``oneof`` of five messages. The schema is
small and has not changed since Pipecat 1.3, so this codec replaces the protobuf package (and its
version range). It writes the same bytes, and reads whatever protobuf reads, except groups, which
proto3 does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_voiceeval.wire.errors import FrameError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "AudioFrame",
    "Frame",
    "FrameError",
    "InterruptionFrame",
    "MessageFrame",
    "TextFrame",
    "TranscriptionFrame",
    "decode",
    "encode",
]


@dataclass(frozen=True, slots=True)
class AudioFrame:
    """A piece of sound.

    Attributes:
        audio: Little-endian signed 16-bit PCM, channels interleaved.
        sample_rate: Samples a second, of each channel.
        num_channels: 1 for mono.
        id: Frame number, 0 if the sender gave none.
        name: Frame name, ``""`` if the sender gave none.
        pts: Presentation time in nanoseconds, None if the sender gave none.
    """

    audio: bytes
    sample_rate: int
    num_channels: int
    id: int = 0
    name: str = ""
    pts: int | None = None


@dataclass(frozen=True, slots=True)
class MessageFrame:
    """A control message.

    Attributes:
        data: JSON text of an RTVI envelope.
    """

    data: str


@dataclass(frozen=True, slots=True)
class TextFrame:
    """Plain text. Pipecat can send it, no bot of the harness does."""

    text: str
    id: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class TranscriptionFrame:
    """Recognised speech. Pipecat can send it, no bot of the harness does."""

    text: str
    user_id: str = ""
    timestamp: str = ""
    id: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class InterruptionFrame:
    """The bot was interrupted: whatever it sent and was not heard yet is void."""

    id: int = 0
    name: str = ""


Frame = AudioFrame | MessageFrame | TextFrame | TranscriptionFrame | InterruptionFrame

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}
_PIECE = 16_384
_UINT32, _UINT64 = 2**32 - 1, 2**64 - 1


class _Field(NamedTuple):
    """One field of a message: its wire number, the attribute, and what its value may be."""

    number: int
    name: str
    kind: type = str
    limit: int = 0  # largest value of an integer field
    optional: bool = False  # has presence: written even when it is 0


_ID = _Field(1, "id", int, _UINT64)
_NAME = _Field(2, "name")

_SCHEMAS: dict[int, tuple[type[Frame], tuple[_Field, ...]]] = {
    1: (TextFrame, (_ID, _NAME, _Field(3, "text"))),
    2: (
        AudioFrame,
        (
            _ID,
            _NAME,
            _Field(3, "audio", bytes),
            _Field(4, "sample_rate", int, _UINT32),
            _Field(5, "num_channels", int, _UINT32),
            _Field(6, "pts", int, _UINT64, optional=True),
        ),
    ),
    3: (
        TranscriptionFrame,
        (_ID, _NAME, _Field(3, "text"), _Field(4, "user_id"), _Field(5, "timestamp")),
    ),
    4: (MessageFrame, (_Field(1, "data"),)),
    5: (InterruptionFrame, (_ID, _NAME)),
}
_NUMBERS = {frame: number for number, (frame, _) in _SCHEMAS.items()}
_FIELDS = {number: {field.number: field for field in row} for number, (_, row) in _SCHEMAS.items()}


def encode(frame: Frame) -> bytes:
    """Return the bytes of one WebSocket message.

    Args:
        frame: Fields that are 0 or empty are left out, as proto3 does.

    Returns:
        The same bytes as Pipecat's serializer. Audio is copied once.

    Raises:
        FrameError: An integer does not fit its field, or a text has no UTF-8 form.
    """
    if type(frame) is AudioFrame and _is_piece_of_stream(frame):
        head, tail = _around_audio(len(frame.audio), frame.sample_rate, frame.num_channels)
        return b"".join((head, frame.audio, tail))
    return _encode(frame)


def _is_piece_of_stream(frame: AudioFrame) -> bool:
    """Whether a frame is sound of a usual size and nothing else."""
    plain = not frame.id and not frame.name and frame.pts is None
    return plain and 0 < len(frame.audio) <= _PIECE


@lru_cache(maxsize=64)
def _around_audio(size: int, sample_rate: int, num_channels: int) -> tuple[bytes, bytes]:
    """What stands around so many bytes of sound: the same for all frames of a stream."""
    frame = AudioFrame(bytes(size), sample_rate, num_channels)
    rest = _SCHEMAS[_NUMBERS[AudioFrame]][1][3:]
    tail = b"".join(part for field in rest for part in _encode_field(frame, field))
    whole = _encode(frame)
    return whole[: len(whole) - size - len(tail)], tail


def _encode(frame: Frame) -> bytes:
    number = _NUMBERS[type(frame)]
    parts = [part for field in _SCHEMAS[number][1] for part in _encode_field(frame, field)]
    head = _tag(number, _LENGTH) + _encode_varint(sum(map(len, parts)))
    return b"".join((head, *parts))


def _encode_field(frame: Frame, field: _Field) -> tuple[bytes, ...]:
    value = getattr(frame, field.name)
    if not value and (value is None or not field.optional):
        return ()
    if field.kind is int:
        if not 0 <= value <= field.limit:
            raise FrameError(
                f"{type(frame).__name__}.{field.name} is {value}, expected 0 to {field.limit}"
            )
        return (_tag(field.number, _VARINT), _encode_varint(value))
    payload = value if field.kind is bytes else _utf8(frame, field, value)
    return (_tag(field.number, _LENGTH), _encode_varint(len(payload)), payload)


def _utf8(frame: Frame, field: _Field, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as exc:
        raise FrameError(
            f"{type(frame).__name__}.{field.name} has no UTF-8 form: {exc.reason} at {exc.start}"
        ) from exc


def _tag(number: int, wire_type: int) -> bytes:
    return _encode_varint(number << 3 | wire_type)


def _encode_varint(value: int) -> bytes:
    if value < 0x80:
        return value.to_bytes()
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode(data: bytes) -> Frame:
    """Read one WebSocket message.

    Unknown fields are skipped, the last of repeated values counts, as in protobuf. Work and memory
    are proportional to ``len(data)``, whose bound is the connection's ``max_incoming``; audio is
    copied once.

    Args:
        data: The message's bytes.

    Returns:
        The frame.

    Raises:
        FrameError: Cut off, malformed, a text that is not UTF-8, or none of the five kinds.
    """
    chosen = 0
    values: dict[str, Any] = {}
    for number, content in _walk(memoryview(data)):
        if number not in _SCHEMAS or not isinstance(content, memoryview):
            continue
        if number != chosen:  # of several kinds the last one counts; one kind twice is merged
            chosen, values = number, {}
        _read_fields(_FIELDS[number], content, values)
    if not chosen:
        raise FrameError(f"{len(data)} bytes hold none of the five frame kinds")
    return _build(chosen, values)


def _build(number: int, values: dict[str, Any]) -> Frame:
    kind, fields = _SCHEMAS[number]
    for field in fields:
        values.setdefault(field.name, None if field.optional else field.kind())
    return kind(**values)


def _read_fields(fields: dict[int, _Field], content: memoryview, values: dict[str, Any]) -> None:
    for number, value in _walk(content):
        field = fields.get(number)
        if field is None:
            continue
        if isinstance(value, int):
            if field.kind is int:
                values[field.name] = value & field.limit
        elif value is not None and field.kind is not int:
            values[field.name] = bytes(value) if field.kind is bytes else _text(field, value)


def _text(field: _Field, value: memoryview) -> str:
    try:
        return str(value, "utf-8")
    except UnicodeDecodeError as exc:
        raise FrameError(f"field {field.name!r} is not UTF-8: {exc.reason}") from exc


def _walk(data: memoryview) -> Iterator[tuple[int, int | memoryview | None]]:
    """Yield (field number, value); the value of a fixed-size field, which we never use, is None."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        if not 0 < number < 2**29:
            raise FrameError(f"field number {number} at byte {at} is out of range")
        if wire_type == _VARINT:
            value, at = _read_varint(data, at)
            yield number, value
            continue
        size, at = _size_of(data, at, number, wire_type)
        if size > len(data) - at:
            raise FrameError(
                f"cut off: field {number} needs {size} bytes, {len(data) - at} are left"
            )
        yield number, data[at : at + size] if wire_type == _LENGTH else None
        at += size


def _size_of(data: memoryview, at: int, number: int, wire_type: int) -> tuple[int, int]:
    if wire_type == _LENGTH:
        return _read_varint(data, at)
    if wire_type not in _FIXED_SIZES:
        raise FrameError(f"field {number} has wire type {wire_type}, which proto3 does not have")
    return _FIXED_SIZES[wire_type], at


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    for place in range(at, min(at + 10, len(data))):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    raise FrameError(f"cut off or malformed number at byte {at}")
