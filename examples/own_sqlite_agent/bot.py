"""The dental practice's voice agent: a Pipecat bot with its own prompt, tools and database.

It imports nothing of pytest-voiceeval. Three lines are there for its tests, each with its reason.
"""

import argparse
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvicorn
from fastapi import FastAPI, WebSocket
from pipecat.frames.frames import EndWorkerFrame, FunctionCallResultProperties
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.frameworks.rtvi import RTVIFunctionCallReportLevel, RTVIObserverParams
from pipecat.serializers.protobuf import ProtobufFrameSerializer
from pipecat.services.llm_service import FunctionCallParams
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.transports.websocket.fastapi import FastAPIWebsocketParams, FastAPIWebsocketTransport
from pipecat.turns.user_turn_strategies import ExternalUserTurnStrategies
from pipecat.workers.runner import WorkerRunner
from practice import Practice

PROMPT = """You answer the phone of a dental practice. Be brief; what you say is spoken.
Ask for the phone number first: without the one we have on file you tell and change nothing.
Name day and time and let the caller agree before you book, move or cancel anything.
Once everything is settled, say goodbye and call end_conversation in the same answer."""

Tool = Callable[..., Awaitable[None]]


def tools_of(practice: Practice) -> list[Tool]:
    """What the model can call; their signatures and docstrings are what it is told."""

    async def find_appointments(params: FunctionCallParams, phone: str) -> None:
        """List a patient's appointments, with their ids.

        Args:
            phone: Phone number on file, digits only.
        """
        await params.result_callback(practice.find_appointments(phone))

    async def free_slots(params: FunctionCallParams, day: str) -> None:
        """List the free slots of a day.

        Args:
            day: The day, as 2026-05-12.
        """
        await params.result_callback(practice.free_slots(day))

    async def book_appointment(
        params: FunctionCallParams, phone: str, slot_id: str, reason: str
    ) -> None:
        """Book a new appointment.

        Args:
            phone: Phone number on file, digits only.
            slot_id: A free slot.
            reason: One of check-up, cleaning, pain.
        """
        await params.result_callback(practice.book_appointment(phone, slot_id, reason))

    async def move_appointment(
        params: FunctionCallParams, appointment_id: str, slot_id: str
    ) -> None:
        """Move a booked appointment.

        Args:
            appointment_id: The appointment.
            slot_id: A free slot.
        """
        await params.result_callback(practice.move_appointment(appointment_id, slot_id))

    async def cancel_appointment(params: FunctionCallParams, appointment_id: str) -> None:
        """Cancel a booked appointment.

        Args:
            appointment_id: The appointment.
        """
        await params.result_callback(practice.cancel_appointment(appointment_id))

    async def end_conversation(params: FunctionCallParams) -> None:
        """End the call, once you have said goodbye."""
        last = FunctionCallResultProperties(run_llm=False)
        await params.result_callback({"status": "success"}, properties=last)
        # What is still to be said is said, then the connection is closed.
        await params.llm.push_frame(EndWorkerFrame())

    return [
        find_appointments,
        free_slots,
        book_appointment,
        move_appointment,
        cancel_appointment,
        end_conversation,
    ]


def database_of(session: str) -> Path:
    """The practice's database. For its tests: each call has one of its own."""
    folder = os.environ.get("PRACTICE_DATABASES")
    return Path(folder) / f"{session}.db" if folder else Path("practice.db")


async def answer(websocket: WebSocket, session: str, options: argparse.Namespace) -> None:
    """Hold one conversation."""
    transport = FastAPIWebsocketTransport(
        websocket, FastAPIWebsocketParams(serializer=ProtobufFrameSerializer())
    )
    llm = OpenAILLMService(
        base_url=options.llm_url,
        api_key=os.environ.get(options.api_key_name, "not-needed"),
        settings=OpenAILLMService.Settings(model=options.model),
    )
    context = LLMContext(
        [{"role": "system", "content": PROMPT}], tools_of(Practice(database_of(session)))
    )
    user, assistant = LLMContextAggregatorPair(
        context,
        # Text needs no turn detection. A bot that listens leaves this out.
        user_params=LLMUserAggregatorParams(user_turn_strategies=ExternalUserTurnStrategies()),
    )
    # A bot that speaks has its STT after the input and its TTS before the output.
    pipeline = Pipeline([transport.input(), user, llm, transport.output(), assistant])
    worker = PipelineWorker(
        pipeline,
        params=PipelineParams(enable_metrics=True, enable_usage_metrics=True),
        # For its tests: a red one names the tool calls.
        rtvi_observer_params=RTVIObserverParams(
            function_call_report_level={"*": RTVIFunctionCallReportLevel.FULL}
        ),
        idle_timeout_secs=None,
    )

    async def hung_up(_transport: object, _websocket: WebSocket) -> None:
        await worker.cancel()

    transport.add_event_handler("on_client_disconnected", hung_up)
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await runner.run()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=int(os.environ.get("WEBSOCKET_PORT", "8765")))
    parser.add_argument("--llm-url", required=True, help="an OpenAI-compatible API")
    parser.add_argument("--model", default="default")
    parser.add_argument("--api-key-name", default="LLM_API_KEY", help="environment variable")
    options = parser.parse_args()

    app = FastAPI()

    @app.websocket("/ws/{session}")
    async def connect(websocket: WebSocket, session: str) -> None:
        await websocket.accept()
        await answer(websocket, session, options)

    # For its tests: where to call, and that the path tells one call from another.
    url = f"ws://127.0.0.1:{options.port}/ws/{{session}}"
    print(json.dumps({"event": "ready", "url": url}), flush=True)
    uvicorn.run(app, port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
