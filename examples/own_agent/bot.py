"""An agent of your own, as a Pipecat bot that pytest-voiceeval can call.

The pipeline is yours. A harness needs of it: a WebSocket transport with the protobuf serializer,
metrics, and the control messages of `pytest_voiceeval.bots.handlers`.
"""

import argparse
import asyncio
import os

from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.frameworks.rtvi import (
    RTVIFunctionCallReportLevel,
    RTVIObserverParams,
    RTVIProcessor,
)
from pipecat.serializers.protobuf import ProtobufFrameSerializer
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.transports.websocket.server import (
    SingleClientWebsocketServerParams,
    SingleClientWebsocketServerTransport,
)
from pipecat.turns.user_turn_strategies import ExternalUserTurnStrategies
from pipecat.workers.runner import WorkerRunner

from pytest_voiceeval.bots.handlers import (
    SharedStateRef,
    TaskRef,
    create_apply_initialization_action,
    create_apply_sync_delta_action,
    create_configure_output_action,
    create_get_context_history_action,
    create_get_scenario_summary_action,
    create_reset_context_action,
    create_update_system_prompt_action,
    register_client_message_handlers,
    register_schema_tools_to_llm,
)
from pytest_voiceeval.tools import get_schema_tool_for_eval

PROMPT = {"role": "system", "content": "You answer the phone for an airline. Be brief."}


async def run_bot(options: argparse.Namespace) -> None:
    """Serve one client at a time, for as long as the process lives."""
    transport = SingleClientWebsocketServerTransport(
        SingleClientWebsocketServerParams(serializer=ProtobufFrameSerializer()),
        host=options.host,
        port=options.port,
    )
    llm = OpenAILLMService(
        base_url=options.llm_url,
        api_key=os.environ.get(options.api_key_name, "not-needed"),
        settings=OpenAILLMService.Settings(model=options.model),
    )
    original_messages = [PROMPT]
    context = LLMContext([dict(PROMPT)])
    user_agg, assistant_agg = LLMContextAggregatorPair(
        context,
        # Text needs no turn detection. A bot that listens leaves this out.
        user_params=LLMUserAggregatorParams(user_turn_strategies=ExternalUserTurnStrategies()),
    )
    # A bot that speaks has its STT after the input and its TTS before the output, and lists both
    # in `services`, to be reset between calls.
    pipeline = Pipeline([transport.input(), user_agg, llm, transport.output(), assistant_agg])
    services: list[object] = []

    rtvi = RTVIProcessor()
    worker = PipelineWorker(
        pipeline,
        params=PipelineParams(enable_metrics=True, enable_usage_metrics=True),
        rtvi_processor=rtvi,
        # Without this reports do not show which tools were called, and how.
        rtvi_observer_params=RTVIObserverParams(
            function_call_report_level={"*": RTVIFunctionCallReportLevel.FULL}
        ),
        idle_timeout_secs=None,
    )

    task_ref, shared_state_ref = TaskRef(task=worker), SharedStateRef()
    conversation = (task_ref, user_agg, assistant_agg, original_messages, services)
    register_client_message_handlers(
        rtvi,
        [
            create_reset_context_action(*conversation),
            create_update_system_prompt_action(
                *conversation,
                llm=llm,
                context=context,
                rtvi=rtvi,
                tool_factory=get_schema_tool_for_eval,
                register_schema_tools=register_schema_tools_to_llm,
                shared_state_ref=shared_state_ref,
            ),
            create_get_context_history_action(task_ref, assistant_agg),
            create_get_scenario_summary_action(task_ref, shared_state_ref),
            create_apply_initialization_action(shared_state_ref),
            create_apply_sync_delta_action(shared_state_ref),
            create_configure_output_action(task_ref),
        ],
    )

    runner = WorkerRunner(handle_sigterm=True)
    await runner.add_workers(worker)
    await runner.run()


def main() -> None:
    """Read the command line and run the bot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=int(os.environ.get("WEBSOCKET_PORT", "8765")))
    parser.add_argument("--llm-url", required=True, help="an OpenAI-compatible API")
    parser.add_argument("--model", default="default")
    parser.add_argument("--api-key-name", default="LLM_API_KEY", help="environment variable")
    asyncio.run(run_bot(parser.parse_args()))


if __name__ == "__main__":
    main()
