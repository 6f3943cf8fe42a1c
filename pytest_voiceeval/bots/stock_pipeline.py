"""The stock bot's pipeline: one per connection, around what its session keeps."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loguru import logger
from pipecat.frames.frames import (
    LLMRunFrame,
    OutputTransportMessageUrgentFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.aggregators.llm_text_processor import LLMTextProcessor
from pipecat.processors.frameworks.rtvi import (
    RTVIFunctionCallReportLevel,
    RTVIObserverParams,
    RTVIProcessor,
)
from pipecat.serializers.protobuf import ProtobufFrameSerializer
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.transports.websocket.fastapi import FastAPIWebsocketParams, FastAPIWebsocketTransport
from pipecat.turns.user_turn_strategies import ExternalUserTurnStrategies
from pipecat.workers.runner import WorkerRunner
from pydantic import BaseModel

from pytest_voiceeval.bots import handlers
from pytest_voiceeval.bots.handlers_context import lasting_output
from pytest_voiceeval.bots.stock_faults import Crash, GarbageSerializer
from pytest_voiceeval.bots.stock_model import ModelService
from pytest_voiceeval.bots.stock_voice import hearing_stages, serializer, transport_options, turns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import WebSocket
    from openai import AsyncOpenAI
    from pipecat.processors.frame_processor import FrameProcessor

    from pytest_voiceeval.bots.speech.config import SpeechConfig
    from pytest_voiceeval.bots.stock_config import BotConfig


class ErrorMessage(BaseModel):
    """RTVI's `error`, with room for keys of our own."""

    label: str = "rtvi-ai"
    type: str = "error"
    data: dict[str, Any]


class ServerMessages:
    """Where a session's tools send their messages: to the client that is connected now.

    A tool outlives the connection it was made on, so it cannot hold that connection's processor.
    """

    def __init__(self) -> None:
        self.rtvi: Any = None

    async def send_server_message(self, data: Any) -> None:
        """Send one message; without a client it is dropped, with a warning."""
        if self.rtvi is None:
            logger.warning(f"no client is connected; dropped the server message {data}")
            return
        await self.rtvi.send_server_message(data)

    async def send_error(self, data: Mapping[str, Any]) -> None:
        """Tell the client of an error, if there is one."""
        if self.rtvi is not None:
            await self.rtvi.push_transport_message(ErrorMessage(data=dict(data)))


@dataclass
class Session:
    """What a conversation keeps across connections.

    Attributes:
        id: The session's id in the URL.
        original_messages: What the context starts with, and goes back to on `reset`.
        context: The conversation as the model sees it, with the tools it is shown.
        shared_state: What its tools work on.
        messages: How its tools reach the client.
        tools: The tools of the scenario, to be registered with each connection's model service.
        crash: Counts replies for the fault `crashes`.
        speaks: Whether replies are spoken; it takes a voice and nobody who wants text.
    """

    id: str
    original_messages: list[Any]
    context: LLMContext
    shared_state: handlers.SharedStateRef = field(default_factory=handlers.SharedStateRef)
    messages: ServerMessages = field(default_factory=ServerMessages)
    tools: list[Any] = field(default_factory=list)
    crash: Crash = field(default_factory=Crash)
    speaks: bool = False

    @classmethod
    def open(cls, id_: str, config: BotConfig) -> Session:
        """A session in which nothing has been said."""
        prompt: Any = {"role": config.system_role, "content": config.system_prompt}
        speaks = config.speech is not None
        return cls(id_, [prompt], LLMContext([copy.copy(prompt)]), speaks=speaks)

    @property
    def untouched(self) -> bool:
        """Whether nothing has been said since the prompt."""
        return list(self.context.messages) == self.original_messages

    def register_tools(
        self, *, llm: Any, context: Any, tools: list[Any], keep_existing_tools: bool
    ) -> None:
        """Register a scenario's tools, and remember them for the next connection."""
        handlers.register_schema_tools_to_llm(
            llm, context, tools, keep_existing_tools=keep_existing_tools
        )
        self.tools = tools


class DirectRTVI(RTVIProcessor):
    """Pipecat's RTVI messages, handed to the transport at once.

    Pipecat sends each of them through all stages, which only pass it on: four in ten of the frames
    that a text bot moves.

    Args:
        output: The transport's end of the pipeline.
    """

    def __init__(self, output: FrameProcessor) -> None:
        super().__init__()
        self._output = output

    async def push_transport_message(self, model: Any, exclude_none: bool = True) -> None:
        """Queue a message for the client; messages keep their order."""
        message = model.model_dump(exclude_none=exclude_none)
        await self._output.queue_frame(OutputTransportMessageUrgentFrame(message=message))


async def serve_connection(
    websocket: WebSocket, session: Session, config: BotConfig, client: AsyncOpenAI
) -> None:
    """Run a pipeline for one client, until it disconnects.

    Args:
        websocket: An accepted WebSocket.
        session: What the client talks to; nobody else may use it meanwhile.
        config: The bot's configuration.
        client: The process's client for the model's API.
    """
    transport = FastAPIWebsocketTransport(
        websocket,
        FastAPIWebsocketParams(
            serializer=_serializer(session, config),
            **(transport_options(config.speech) if config.speech else {}),
        ),
    )
    worker = build_worker(transport, session, config, client)

    async def end(_transport: Any, _websocket: Any) -> None:
        await worker.cancel(reason="the client disconnected")

    transport.add_event_handler("on_client_disconnected", end)
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    session.messages.rtvi = worker.rtvi
    # Ahead of whatever the client sends: text that could be spoken is not reported until it is.
    await worker.queue_frame(lasting_output(skip_tts=not session.speaks))
    try:
        await runner.run()
    finally:
        session.messages.rtvi = None


def build_worker(
    transport: FastAPIWebsocketTransport, session: Session, config: BotConfig, client: AsyncOpenAI
) -> PipelineWorker:
    """Assemble the pipeline, with stages that hear and speak if the bot has a voice.

    Args:
        transport: The client's transport.
        session: What the client talks to.
        config: The bot's configuration.
        client: The client for the model's API.
    """
    llm = _model_service(session, config, client)
    handlers.register_schema_tools_to_llm(
        llm, session.context, session.tools, keep_existing_tools=False
    )
    hearing, turns, speaking = _voice(config.speech)
    user, assistant = LLMContextAggregatorPair(session.context, user_params=turns)
    stages = [*hearing, user, llm, speaking]
    stages = [transport.input(), *stages, transport.output(), assistant]
    worker = PipelineWorker(
        Pipeline(stages),
        params=PipelineParams(
            enable_metrics=True, enable_usage_metrics=True, send_initial_empty_metrics=False
        ),
        rtvi_processor=DirectRTVI(transport.output()),
        rtvi_observer_params=RTVIObserverParams(
            function_call_report_level={"*": RTVIFunctionCallReportLevel.FULL}
        ),
        idle_timeout_secs=None,
        cancel_on_idle_timeout=False,
        enable_turn_tracking=False,
    )
    _install_handlers(worker, user, assistant, llm, session, config)
    _install_behaviour(worker, assistant, session, config)
    return worker


def _voice(
    speech: SpeechConfig | None,
) -> tuple[list[FrameProcessor], LLMUserAggregatorParams, FrameProcessor]:
    """What hears, how turns are told apart, and what speaks or cuts replies into sentences."""
    if speech is not None:
        return hearing_stages(speech), turns(speech), speech.tts.make()
    # Turns come as text; the default strategies would load a turn detection model.
    params = LLMUserAggregatorParams(user_turn_strategies=ExternalUserTurnStrategies())
    # clients get the sentences as `bot-output`
    return [], params, LLMTextProcessor()


def _model_service(session: Session, config: BotConfig, client: AsyncOpenAI) -> ModelService:
    model = config.model
    given: dict[str, Any] = {
        "temperature": model.temperature,
        "top_p": model.top_p,
        "seed": model.seed,
        "max_completion_tokens": model.max_tokens,
    }
    settings = {key: value for key, value in given.items() if value is not None}
    return ModelService(
        client.with_options(base_url=model.url_for(session.id)),
        model,
        session.messages,
        settings=OpenAILLMService.Settings(model=model.name, **settings),
        function_call_timeout_secs=model.call_timeout,
        # Calls of one reply start in their order. One after another would be safer, but then
        # Pipecat asks the model again after each of them.
        run_in_parallel=True,
    )


def _install_handlers(  # noqa: PLR0917 - the parts of one pipeline
    worker: PipelineWorker,
    user: Any,
    assistant: Any,
    llm: OpenAILLMService,
    session: Session,
    config: BotConfig,
) -> None:
    task_ref = handlers.TaskRef(task=worker, running=True)
    conversation = (task_ref, user, assistant, session.original_messages)
    handlers.register_client_message_handlers(
        worker.rtvi,
        [
            handlers.create_reset_context_action(*conversation),
            handlers.create_update_system_prompt_action(
                *conversation,
                system_role=config.system_role,
                system_prompt_suffix=config.system_prompt_suffix,
                enable_tool_calling=config.model.tools,
                llm=llm,
                context=session.context,
                rtvi=session.messages,
                register_schema_tools=session.register_tools,
                shared_state_ref=session.shared_state,
            ),
            handlers.create_get_context_history_action(task_ref, assistant),
            handlers.create_get_scenario_summary_action(task_ref, session.shared_state),
            handlers.create_apply_initialization_action(session.shared_state),
            handlers.create_apply_sync_delta_action(session.shared_state),
            _remembered(handlers.create_configure_output_action(task_ref), session, config),
        ],
    )


def _remembered(
    action: handlers.ClientMessageHandler, session: Session, config: BotConfig
) -> handlers.ClientMessageHandler:
    """`configure_output` that holds for the session; a bot without a voice refuses to speak."""
    message_type, configure = action

    async def handler(rtvi: Any, arguments: dict[str, Any]) -> Any:
        if arguments.get("audio") is True and config.speech is None:
            raise handlers.ControlMessageError("this bot has no voice, it answers in text only")
        answer = await configure(rtvi, arguments)
        session.speaks = arguments["audio"]
        return answer

    return (message_type, handler)


def _install_behaviour(
    worker: PipelineWorker, assistant: Any, session: Session, config: BotConfig
) -> None:
    async def talk_first(_rtvi: Any) -> None:
        if session.untouched:
            await worker.queue_frame(LLMRunFrame())

    if config.talk_first:
        worker.rtvi.add_event_handler("on_client_ready", talk_first)
    if config.fault == "crashes":
        assistant.add_event_handler("on_assistant_turn_stopped", session.crash.on_reply)


def _serializer(session: Session, config: BotConfig) -> ProtobufFrameSerializer:
    if config.fault == "garbage":
        return GarbageSerializer(seed=session.id)
    return serializer(config.speech) if config.speech else ProtobufFrameSerializer()
