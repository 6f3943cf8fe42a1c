"""A real Pipecat server, run as a child process by the tests.

It serves one bot twice: on Pipecat's own server, which takes one client at a time, and under
FastAPI, with a pipeline for each connection. Prints one JSON line with both addresses; ends when
its stdin closes.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from typing import Any

import uvicorn
from fastapi import FastAPI, WebSocket
from pipecat.frames.frames import (
    Frame,
    InputAudioRawFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMMessagesAppendFrame,
    LLMTextFrame,
    TTSAudioRawFrame,
    TTSStartedFrame,
    TTSStoppedFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.processors.frameworks.rtvi import RTVIProcessor
from pipecat.processors.frameworks.rtvi.models import ClientMessage
from pipecat.serializers.protobuf import ProtobufFrameSerializer
from pipecat.transports.base_transport import BaseTransport
from pipecat.transports.websocket.fastapi import (
    FastAPIWebsocketParams,
    FastAPIWebsocketTransport,
)
from pipecat.transports.websocket.server import (
    SingleClientWebsocketServerParams,
    SingleClientWebsocketServerTransport,
)
from pipecat.workers.runner import WorkerRunner


class Brain(FrameProcessor):
    """Answers text with text and a little sound, and says what it hears."""

    def __init__(self, rtvi: RTVIProcessor) -> None:
        super().__init__()
        self._rtvi = rtvi

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, LLMMessagesAppendFrame):
            message: Any = frame.messages[-1]
            await self._answer(message["content"])
            return
        if isinstance(frame, InputAudioRawFrame):
            heard = [len(frame.audio), frame.sample_rate, frame.num_channels]
            await self._rtvi.send_server_message({"heard": heard})
        await self.push_frame(frame, direction)

    async def _answer(self, text: str) -> None:
        await self.push_frame(LLMFullResponseStartFrame())
        await self.push_frame(LLMTextFrame(f"You said {text}."))
        await self.push_frame(LLMFullResponseEndFrame())
        await self.push_frame(TTSStartedFrame())
        await self.push_frame(TTSAudioRawFrame(b"\1\0" * 2400, 24000, 1))
        await self.push_frame(TTSStoppedFrame())


async def answer(rtvi: RTVIProcessor, message: ClientMessage) -> None:
    args: Any = message.data or {}
    if message.type == "echo":
        await rtvi.send_server_message({"type": "action-applied", "for": args})
        await rtvi.send_server_response(message, args)
    elif message.type == "size":
        await rtvi.send_server_response(message, len(args["text"]))
    elif message.type == "big":
        await rtvi.send_server_response(message, {"text": "b" * args["size"]})
    elif message.type == "slow":
        await asyncio.sleep(args["seconds"])
        await rtvi.send_server_response(message, "slow")
    elif message.type == "none":
        await rtvi.send_server_response(message, None)
    else:
        await rtvi.send_error_response(message, f"unknown message type: {message.type}")


def new_worker(transport: BaseTransport) -> PipelineWorker:
    rtvi = RTVIProcessor()
    rtvi.add_event_handler("on_client_message", answer)
    return PipelineWorker(
        Pipeline([transport.input(), Brain(rtvi), transport.output()]),
        params=PipelineParams(enable_metrics=True, enable_usage_metrics=True),
        rtvi_processor=rtvi,
        idle_timeout_secs=None,
    )


async def run(worker: PipelineWorker) -> None:
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await runner.run()


async def serve_single(ready: asyncio.Event) -> None:
    params = SingleClientWebsocketServerParams(
        serializer=ProtobufFrameSerializer(), audio_in_enabled=True, audio_out_enabled=True
    )
    transport = SingleClientWebsocketServerTransport(params, "127.0.0.1", PORT)

    async def opened(_transport: object) -> None:
        ready.set()

    transport.add_event_handler("on_websocket_ready", opened)
    await run(new_worker(transport))


app = FastAPI()


@app.websocket("/ws")
async def serve_many(websocket: WebSocket) -> None:
    await websocket.accept()
    params = FastAPIWebsocketParams(
        serializer=ProtobufFrameSerializer(), audio_in_enabled=True, audio_out_enabled=True
    )
    transport = FastAPIWebsocketTransport(websocket, params)
    worker = new_worker(transport)

    async def left(_transport: object, _websocket: WebSocket) -> None:
        await worker.cancel()

    transport.add_event_handler("on_client_disconnected", left)
    await run(worker)


def bound() -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    return listener


with bound() as probe:  # Pipecat's server cannot tell which port it chose
    PORT: int = probe.getsockname()[1]


async def main() -> None:
    listener = bound()
    config = uvicorn.Config(app, log_level="warning", lifespan="off")
    ready = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(serve_single(ready)),
            group.create_task(uvicorn.Server(config).serve(sockets=[listener])),
        ]
        await ready.wait()
        single, many = f"ws://127.0.0.1:{PORT}", f"ws://127.0.0.1:{listener.getsockname()[1]}/ws"
        print(json.dumps({"single": single, "many": many}), flush=True)
        await asyncio.to_thread(sys.stdin.read)
        for task in tasks:
            task.cancel()


if __name__ == "__main__":
    asyncio.run(main())
