"""The base classes of tools: one tool is one function the model may call.

Nothing here knows Pipecat: a bot calls `await tool(params)` with any object that has
`arguments` and `result_callback`, and registers `tool.schema` in its own way.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from pytest_voiceeval.tools import push
from pytest_voiceeval.tools.answers import (
    ToolError,
    crash_answer,
    error_answer,
    is_error,
    normalize_answer,
    require_json,
)
from pytest_voiceeval.tools.naming import function_name_of
from pytest_voiceeval.tools.schemas import place_of, unusable
from pytest_voiceeval.tools.writes import (
    Fingerprints,
    changed_fields,
    changed_records,
    fingerprint_records,
)

logger = logging.getLogger(__name__)

HANDED_IN = "_final_responses"
"""Key of the shared state under which results are kept that tools handed in."""


@dataclass(frozen=True)
class _Outbox:
    """What one call of a tool has for the client, in the order in which it was noted."""

    records: list[dict[str, Any]] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)


# That of the call that runs in this context, so that each of two calls which overlap announces its
# own. None outside `__call__`: `invoke` announces nothing.
_outbox: contextvars.ContextVar[_Outbox | None] = contextvars.ContextVar(
    "outbox of the running tool call", default=None
)


class CallParams(Protocol):
    """What a tool needs of Pipecat's `FunctionCallParams`."""

    @property
    def arguments(self) -> Any:
        """The arguments the model gave, normally a mapping."""

    @property
    def result_callback(self) -> Callable[[Any], Awaitable[Any]]:
        """Takes the result; to be called exactly once."""


@dataclass(frozen=True)
class ToolSchema:
    """A tool as a model sees it: `properties` maps each parameter to its JSON Schema."""

    name: str
    description: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    required: Sequence[str] = ()

    def to_openai(self) -> dict[str, Any]:
        """The schema as one entry of `tools` in an OpenAI chat request."""
        parameters = {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
        }
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}


class StandardSchemaTool(ABC):
    """A tool. Override `_execute`, `properties` and `required_properties`.

    `_execute(**arguments)` may be a plain or an async method. What it returns is the answer; to
    refuse, raise `ToolError(error_type, message)`. Any other exception is answered as
    `execution_error` (the reference harness answers a bare `{"error": text}` instead).

    Args:
        description: What the tool is for, told to the model. Default: the class attribute
            `description`.
        name: The function name. Default: the class attribute `name` if it is a text, else
            derived from the class name (`RebookFlightTool` -> `rebook_flight`).

    Raises:
        ValueError: The name or the description is empty.
    """

    name: str
    description: str
    ends_call: ClassVar[bool] = False
    """Whether success ends the call: a bot then has nothing more to ask its model."""
    crash: Exception | None = None
    """What nobody foresaw in the last `invoke`, for who wants to know where it was raised."""

    def __init__(self, description: str | None = None, name: str | None = None) -> None:
        cls = type(self)
        if name is not None or not isinstance(getattr(cls, "name", None), property):
            self.name = function_name_of(cls) if name is None else name
        if description is not None:
            self.description = description
        for attribute in ("name", "description"):
            if not getattr(self, attribute, None):
                raise ValueError(f"{cls.__name__}: {attribute} must be a text that is not empty")

    @property
    def properties(self) -> dict[str, Any]:
        """The JSON Schema of each parameter, by its name."""
        return {}

    @property
    def required_properties(self) -> list[str]:
        """The parameters that must be given."""
        return []

    @property
    def schema(self) -> ToolSchema:
        """The tool as the model sees it.

        Raises:
            ValueError: No model could be given it; the text names the class, file and line.
        """
        properties, required = self.properties, self.required_properties
        if problem := unusable(properties, required):
            raise ValueError(f"{place_of(type(self))}: {problem}")
        return ToolSchema(self.name, self.description, dict(properties), tuple(required))

    @abstractmethod
    def _execute(self, *args: Any, **arguments: Any) -> Any:
        """Do the work and return the answer, a JSON value. May be async."""

    async def _after_result(self, params: CallParams) -> None:  # noqa: B027 - optional
        """Called after an answer that is not an error was delivered, e.g. to end the call."""

    def invoke(self, /, **arguments: Any) -> dict[str, Any]:
        """Call the tool in process and wait for its answer.

        The answer is not normalised and nothing is sent to a client.

        Returns:
            What `_execute` returned, or an error answer. Never raises.
        """
        self.crash = None
        try:
            result = self._execute(**arguments)
            if inspect.isawaitable(result):
                result = _run_to_end(result)
            answer: dict[str, Any] = require_json(result)
        except Exception as error:  # noqa: BLE001 - never raising is the contract
            self.crash = None if isinstance(error, ToolError) else error
            return self._answer_for(error)
        return answer

    async def __call__(self, params: CallParams) -> None:
        """Run one call for Pipecat: exactly one delivery, then `_after_result` on success."""
        answer = normalize_answer(await self._perform(params))
        await params.result_callback(answer)
        if is_error(answer):
            return
        try:
            await self._after_result(params)
        except Exception:
            logger.exception("%s: the step after its result failed", self.name)

    async def _perform(self, params: CallParams) -> Any:
        """Work out the answer of one call; every exception becomes an error answer."""
        arguments = params.arguments or {}
        if not isinstance(arguments, Mapping):
            kind = type(arguments).__name__
            return error_answer("invalid_parameter", f"arguments must be an object, got {kind}")
        try:
            result = self._execute(**arguments)
            return require_json(await result if inspect.isawaitable(result) else result)
        except Exception as error:  # noqa: BLE001 - the model gets every failure as an answer
            return self._answer_for(error)

    def _answer_for(self, error: Exception) -> dict[str, Any]:
        if isinstance(error, ToolError):
            return error.answer()
        logger.error("%s crashed", self.name, exc_info=error)
        return crash_answer(error)


class _ScenarioTool(StandardSchemaTool):
    """A tool with the scenario's state."""

    def __init__(
        self,
        description: str | None = None,
        name: str | None = None,
        shared_state: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(description, name)
        self.shared_state: dict[str, Any] = {} if shared_state is None else shared_state


class ReadScenarioTool(_ScenarioTool):
    """A tool that looks at the scenario's state and leaves it alone.

    Args:
        description: See `StandardSchemaTool`.
        name: See `StandardSchemaTool`.
        shared_state: The bot's dictionary for this scenario, kept by reference. Default: a new
            one.
    """


class WriteScenarioTool(_ScenarioTool):
    """A tool that changes the scenario's state, and records what it did or hands in a result.

    `ACTION_TYPES` is the vocabulary of `action_type` in its records. After a call each record
    is announced to the client as `action-applied`, with the records of `shared_state["db"]` the
    call changed under `writes`, and what in them under `fields`, keys of ours. Of two async calls
    that overlap each may name the other's writes as its own too.

    Args:
        description: See `StandardSchemaTool`.
        name: See `StandardSchemaTool`.
        shared_state: The bot's dictionary for this scenario, kept by reference. Default: a new
            one.
    """

    ACTION_TYPES: ClassVar[Sequence[str]] = ()

    def _record_action(self, record: dict[str, Any]) -> None:
        """Append a record to `shared_state["actions"]`; it is announced after the call."""
        action_type = record.get("action_type")
        if action_type not in self.ACTION_TYPES:
            known = ", ".join(self.ACTION_TYPES) or "none"
            logger.warning("%s recorded action_type %r; known: %s", self.name, action_type, known)
        self.shared_state.setdefault("actions", []).append(record)
        outbox = _outbox.get()
        if outbox is not None:
            outbox.records.append(record)

    def _hand_in(self, result: Any) -> None:
        """Hand in a result of the conversation, such as an order, before the call is answered.

        It is what the scenario's reference answer is compared with, unless actions are recorded.
        The client gets it as `<final_response>`: a text as it is, anything else as JSON.

        Raises:
            TypeError: It is not JSON.
        """
        # a copy, because the result may be part of a state that changes later
        copied = json.loads(json.dumps(require_json(result)))
        self.shared_state.setdefault(HANDED_IN, []).append(copied)
        outbox = _outbox.get()
        if outbox is not None:
            outbox.results.append(copied)

    def _next_call_index(self, tool_name: str) -> int:
        """Count one call of `tool_name` in this scenario; the first is 1."""
        counts = self.shared_state.setdefault("_call_counts", {})
        counts[tool_name] = counts.get(tool_name, 0) + 1
        return int(counts[tool_name])

    async def _send_exit_message(self) -> None:
        """Tell the client the call is over because the caller was handed to a person."""
        message = {"text": push.EXIT_TRANSFER_COMPLETE}
        await push.push_server_message(self.shared_state.get("__rtvi__"), message, "<exit>")

    async def _perform(self, params: CallParams) -> Any:
        if not push.can_push(self.shared_state.get("__rtvi__")):
            return await super()._perform(params)
        before, outbox = self._fingerprints(), _Outbox()
        token = _outbox.set(outbox)
        try:
            answer = await super()._perform(params)
        finally:
            _outbox.reset(token)
        if outbox.records:
            await self._announce(outbox.records, _written(before, self._fingerprints()))
        for result in outbox.results:
            message = {"text": push.final_response(result)}
            rtvi = self.shared_state.get("__rtvi__")
            await push.push_server_message(rtvi, message, f"result of {self.name}")
        return answer

    async def _announce(self, records: list[dict[str, Any]], written: dict[str, Any]) -> None:
        domain = self.shared_state.get("__tool_domain__", "default")
        for record in records:
            message = {"type": "action-applied", "action": record, "tool_domain": domain}
            try:  # a copy, because the record may change before the bot sends it
                message = json.loads(json.dumps(message | written))
            except (TypeError, ValueError, RecursionError):
                logger.exception("%s: its action record is not JSON, not announced", self.name)
                continue
            rtvi = self.shared_state.get("__rtvi__")
            await push.push_server_message(rtvi, message, f"action-applied of {self.name}")

    def _fingerprints(self) -> Fingerprints:
        try:
            return fingerprint_records(self.shared_state.get("db"))
        except Exception:
            logger.exception("%s: cannot tell which records it changes", self.name)
            return {}


def _written(before: Fingerprints, after: Fingerprints) -> dict[str, Any]:
    """What a call changed: records, and what in them."""
    return {"writes": changed_records(before, after), "fields": changed_fields(before, after)}


def _run_to_end(awaitable: Awaitable[Any]) -> Any:
    """Run an awaitable in an event loop of its own, also from inside a running one."""

    async def wait() -> Any:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(contextvars.copy_context().run, asyncio.run, wait()).result()
