"""The control messages about a bot's conversation: its prompt, its history, its output."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loguru import logger

from pytest_voiceeval.bots.handlers_base import (
    QUIET_DEADLINE,
    ClientMessageHandler,
    ControlMessageError,
    SharedStateRef,
    TaskRef,
    kind_of,
)
from pytest_voiceeval.bots.handlers_scrub import sanitize_context_for_transport
from pytest_voiceeval.bots.handlers_tools import register_schema_tools_to_llm
from pytest_voiceeval.tools.registry import get_schema_tool_for_eval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pipecat.frames.frames import LLMConfigureOutputFrame

FUNCTION_CALL_DEADLINE = 3.0
"""Seconds `get_context_history` waits for running function calls."""

FUNCTION_CALL_POLL = 0.05


def create_reset_context_action(
    task_ref: TaskRef,
    user_aggregator: Any,
    assistant_aggregator: Any,
    original_messages: list[Any],
    resettable_services: Sequence[Any] = (),
) -> ClientMessageHandler:
    """`reset`: back to the start of the conversation. Arguments: none. Reply: true.

    A reply that is still being made is interrupted first; in the reference it ends up in the
    fresh context. The shared state stays as it is. A failure is an error-response, where the
    reference answers false.

    Args:
        task_ref: The pipeline worker.
        user_aggregator: The user half of Pipecat's context aggregators.
        assistant_aggregator: The other half.
        original_messages: What the context starts with; kept current by `update_system_prompt`.
        resettable_services: Services whose `reset()` is called; None entries are skipped.
    """
    aggregators = (user_aggregator, assistant_aggregator)

    async def handler(rtvi: Any, _arguments: dict[str, Any]) -> bool:
        await _quiet(task_ref, rtvi)
        await _restart_context(aggregators, original_messages, resettable_services)
        return True

    return ("reset", handler)


def create_update_system_prompt_action(
    task_ref: TaskRef,
    user_aggregator: Any,
    assistant_aggregator: Any,
    original_messages: list[Any],
    resettable_services: Sequence[Any] = (),
    *,
    system_role: str = "system",
    system_prompt_suffix: str = "",
    enable_tool_calling: bool = True,
    llm: Any = None,
    context: Any = None,
    rtvi: Any = None,
    tool_factory: Callable[..., Any] = get_schema_tool_for_eval,
    register_schema_tools: Callable[..., Any] = register_schema_tools_to_llm,
    shared_state_ref: SharedStateRef | None = None,
) -> ClientMessageHandler:
    """`update_system_prompt`: begin a scenario. Reply: true.

    Arguments: `prompt` (text), `tools` (JSON text of `{tool name: {argument: value}}`, default
    none), `add_suffix` (default true), `tool_domain` (default `default`), `call_dir` (the folder of
    the call's files; not part of the reference's protocol, sent to bots the harness started). It is
    kept as `__call_dir__` in the shared state, for tools and bots that write files of their own.

    The prompt becomes the only message of the context, the shared state is emptied, the model
    gets exactly the given tools. A failure (no prompt, unreadable tools, a tool that does not
    exist) is an error-response and leaves prompt, state and tools as they were; the reference
    answers `false` with the state emptied, and runs on without tools.

    Args:
        task_ref: The pipeline worker.
        user_aggregator: The user half of Pipecat's context aggregators.
        assistant_aggregator: The other half.
        original_messages: Replaced in place by the new prompt.
        resettable_services: Services whose `reset()` is called; None entries are skipped.
        system_role: Role of the prompt's message.
        system_prompt_suffix: Added on a line of its own when `add_suffix` is true.
        enable_tool_calling: False ignores `tools`, with a warning.
        llm: The LLM service that calls the tools.
        context: The `LLMContext` the tools are shown in.
        rtvi: What tools push their messages through (anything with `send_server_message`);
            None means the processor that got the message.
        tool_factory: `(name, domain=, rtvi=, shared_state=, **arguments) -> tool`.
        register_schema_tools: `(llm=, context=, tools=, keep_existing_tools=)`.
        shared_state_ref: The state the tools share.
    """
    aggregators = (user_aggregator, assistant_aggregator)
    state = (shared_state_ref or SharedStateRef()).state

    async def handler(rtvi_processor: Any, arguments: dict[str, Any]) -> bool:
        request = _PromptRequest.parse(arguments)
        await _quiet(task_ref, rtvi_processor)
        channel = rtvi if rtvi is not None else rtvi_processor
        with _new_state(state, channel, request):
            if enable_tool_calling:
                tools = _build_tools(request, channel, state, tool_factory)
                register_schema_tools(
                    llm=llm, context=context, tools=tools, keep_existing_tools=False
                )
            elif request.tools:
                logger.warning(f"tool calling is off; ignored the tools {sorted(request.tools)}")
        prompt = request.text(system_prompt_suffix)
        original_messages[:] = [{"role": system_role, "content": prompt}]
        await _restart_context(aggregators, original_messages, resettable_services)
        return True

    return ("update_system_prompt", handler)


def create_get_context_history_action(
    task_ref: TaskRef,  # noqa: ARG001 - part of the reference's signature
    assistant_aggregator: Any,
) -> ClientMessageHandler:
    """`get_context_history`: what the model knows. Reply: `{"context": text}`.

    The text is JSON, a list of messages without media (see `sanitize_context_for_transport`);
    the reference sends Python source. Running function calls are waited for, 3 s at most. A
    context that cannot be read is an error-response; the reference answers an empty list.

    Args:
        task_ref: The pipeline worker.
        assistant_aggregator: The assistant half of Pipecat's context aggregators.
    """

    async def handler(_rtvi: Any, _arguments: dict[str, Any]) -> dict[str, str]:
        await _await_function_calls(assistant_aggregator)
        messages = sanitize_context_for_transport(assistant_aggregator.messages)
        return {"context": json.dumps(messages, ensure_ascii=False)}

    return ("get_context_history", handler)


def create_configure_output_action(task_ref: TaskRef) -> ClientMessageHandler:
    """`configure_output`: speak or stay silent. Arguments: `audio` (bool). Reply: true.

    Not part of the reference's protocol. A bot that answers it promises to hold the setting for
    all replies that follow, those after tool calls too, which `audio_response` of a single
    send-text does not.

    Args:
        task_ref: The pipeline worker.
    """

    async def handler(rtvi: Any, arguments: dict[str, Any]) -> bool:
        audio = arguments.get("audio")
        if not isinstance(audio, bool):
            raise ControlMessageError(f"`audio` must be true or false, got {kind_of(audio)}")
        worker = task_ref.worker(rtvi)
        # From the top of the pipeline, so that the RTVI processor sees it as well: it restores
        # its own idea of the setting after every send-text.
        await worker.queue_frame(lasting_output(skip_tts=not audio))
        if not await worker.flush_pipeline(timeout=QUIET_DEADLINE):
            raise ControlMessageError(f"the pipeline took no frame within {QUIET_DEADLINE} s")
        return True

    return ("configure_output", handler)


def lasting_output(*, skip_tts: bool) -> LLMConfigureOutputFrame:
    """A frame that configures the model's output and that no interruption drops on its way.

    Every send-text interrupts. A setting that was lost to one is as bad as none: pipecat's RTVI
    processor then goes back to speech after the reply, and replies that follow tool calls are held
    back for a voice that never starts.
    """
    from pipecat.frames.frames import LLMConfigureOutputFrame

    frame = LLMConfigureOutputFrame(skip_tts=skip_tts)
    frame.interruptible = False
    return frame


async def _quiet(task_ref: TaskRef, rtvi: Any) -> None:
    """Drop what the bot is doing, and let what it did so far reach the old context."""
    worker = task_ref.worker(rtvi)
    if worker is None:
        return
    await rtvi.interrupt_bot()
    if not await worker.flush_pipeline(timeout=QUIET_DEADLINE):
        logger.warning(f"the pipeline did not drain within {QUIET_DEADLINE} s; going on")


async def _restart_context(
    aggregators: Iterable[Any], messages: list[Any], services: Iterable[Any]
) -> None:
    for aggregator in aggregators:
        await aggregator.reset()
        aggregator.set_messages(copy.deepcopy(messages))
    for service in services:
        reset = getattr(service, "reset", None)
        outcome = None if reset is None else reset()
        if inspect.isawaitable(outcome):
            await outcome


async def _await_function_calls(aggregator: Any) -> None:
    try:
        async with asyncio.timeout(FUNCTION_CALL_DEADLINE):
            # Pipecat has no event for it
            while aggregator.has_function_calls_in_progress:  # noqa: ASYNC110
                await asyncio.sleep(FUNCTION_CALL_POLL)
    except TimeoutError:
        logger.warning(f"function calls still run after {FUNCTION_CALL_DEADLINE} s; going on")


@dataclass(frozen=True)
class _PromptRequest:
    prompt: str
    tools: dict[str, dict[str, Any]]
    add_suffix: bool
    tool_domain: str
    call_dir: str | None

    @classmethod
    def parse(cls, arguments: Mapping[str, Any]) -> _PromptRequest:
        prompt = arguments.get("prompt", "")
        if not isinstance(prompt, str) or not prompt:
            raise ControlMessageError("`prompt` must be a text that is not empty")
        call_dir = arguments.get("call_dir")
        return cls(
            prompt=prompt,
            tools=_parse_tools(arguments.get("tools", "{}")),
            add_suffix=bool(arguments.get("add_suffix", True)),
            tool_domain=str(arguments.get("tool_domain", "default")),
            call_dir=call_dir if isinstance(call_dir, str) else None,
        )

    def text(self, suffix: str) -> str:
        return f"{self.prompt}\n{suffix}" if self.add_suffix and suffix else self.prompt


def _parse_tools(payload: Any) -> dict[str, dict[str, Any]]:
    try:
        tools = json.loads(payload) if isinstance(payload, str) else payload
    except ValueError as error:
        raise ControlMessageError(f"`tools` is not JSON: {error}") from error
    if not isinstance(tools, dict):
        raise ControlMessageError(f"`tools` must be an object by tool name, got {kind_of(tools)}")
    for name, arguments in tools.items():
        if not isinstance(arguments, dict):
            kind = kind_of(arguments)
            raise ControlMessageError(f"the arguments of tool {name!r} must be an object: {kind}")
    return tools


@contextmanager
def _new_state(state: dict[str, Any], channel: Any, request: _PromptRequest) -> Iterator[None]:
    """Empty the shared state for a scenario; what it held comes back if the block fails."""
    before = dict(state)
    state.clear()
    state.update({"__rtvi__": channel, "__tool_domain__": request.tool_domain})
    if request.call_dir is not None:
        state["__call_dir__"] = request.call_dir
    try:
        yield
    except BaseException:
        state.clear()
        state.update(before)
        raise


def _build_tools(
    request: _PromptRequest,
    channel: Any,
    state: dict[str, Any],
    tool_factory: Callable[..., Any],
) -> list[Any]:
    def build(name: str, arguments: dict[str, Any]) -> Any:
        domain = request.tool_domain
        try:
            return tool_factory(name, domain=domain, rtvi=channel, shared_state=state, **arguments)
        except Exception as error:
            cause = f"{kind_of(error)}: {error}"
            raise ControlMessageError(f"tool {name!r} of domain {domain!r}: {cause}") from error

    return [build(name, arguments) for name, arguments in request.tools.items()]
