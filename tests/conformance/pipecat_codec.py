"""Pipecat's own frame code behind a pipe, run as a child process by the tests.

One JSON request a line, one JSON answer a line:
``{"op": "pb2", "kind", "fields"}``  the generated protobuf class writes a frame;
``{"op": "serialize", "kind", "fields"}``  Pipecat's serializer writes Pipecat's frame;
``{"op": "parse", "data"}``  the generated class reads bytes;
``{"op": "deserialize", "data"}``  Pipecat's serializer reads bytes.
Bytes are hexadecimal text.
"""

from __future__ import annotations

import asyncio
import json
import sys
import warnings
from typing import Any

warnings.simplefilter("ignore")

from google.protobuf.message import DecodeError  # type: ignore[import-untyped] # noqa: E402
from pipecat.frames import frames as pipecat_frames  # noqa: E402
from pipecat.frames.protobufs import frames_pb2 as generated  # noqa: E402
from pipecat.serializers.protobuf import ProtobufFrameSerializer  # noqa: E402

frames_pb2: Any = generated  # its classes exist at run time only

MESSAGES = {
    "text": "TextFrame",
    "audio": "AudioRawFrame",
    "transcription": "TranscriptionFrame",
    "message": "MessageFrame",
    "interruption": "InterruptionFrame",
}
OUTPUTS = {"audio": "OutputAudioRawFrame", "message": "OutputTransportMessageFrame"}
SERIALIZER = ProtobufFrameSerializer()


def pb2(kind: str, fields: dict[str, Any]) -> bytes:
    inner = getattr(frames_pb2, MESSAGES[kind])(**fields)
    whole: bytes = frames_pb2.Frame(**{kind: inner}).SerializeToString()
    return whole


def serialize(kind: str, fields: dict[str, Any]) -> bytes | str | None:
    special = {name: fields.pop(name) for name in ("id", "name", "pts") if name in fields}
    if kind == "message":
        fields = {"message": json.loads(fields["data"])}
    frame = getattr(pipecat_frames, OUTPUTS.get(kind, MESSAGES[kind]))(**fields)
    for name, value in special.items():
        setattr(frame, name, value)
    return asyncio.run(SERIALIZER.serialize(frame))


def parse(data: bytes) -> dict[str, Any]:
    try:
        frame = frames_pb2.Frame.FromString(data)
    except DecodeError as exc:
        return {"error": str(exc)}
    kind = frame.WhichOneof("frame")
    if kind is None:
        return {"error": "no frame"}
    inner = getattr(frame, kind)
    fields = {field.name: getattr(inner, field.name) for field in inner.DESCRIPTOR.fields}
    if kind == "audio" and not inner.HasField("pts"):
        fields["pts"] = None
    return {"kind": kind, "fields": fields}


def deserialize(data: bytes) -> dict[str, Any]:
    frame = asyncio.run(SERIALIZER.deserialize(data))
    names = ("id", "name", "pts", "audio", "sample_rate", "num_channels", "message", "text")
    fields = {name: getattr(frame, name) for name in names if hasattr(frame, name)}
    return {"kind": type(frame).__name__, "fields": fields}


def handle(request: dict[str, Any]) -> Any:
    if request["op"] in {"parse", "deserialize"}:
        read = parse if request["op"] == "parse" else deserialize
        return read(bytes.fromhex(request["data"]))
    fields = request["fields"]
    if "audio" in fields:
        fields["audio"] = bytes.fromhex(fields["audio"])
    write = pb2 if request["op"] == "pb2" else serialize
    return write(request["kind"], fields)


def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        answer = handle(json.loads(line))
        print(json.dumps(answer, default=bytes.hex), flush=True)


if __name__ == "__main__":
    main()
