"""The state of an agent whose tools are its own: set and learnt by code of the user's.

Such an agent need not know any message of ours. The call takes from it the conversation alone.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import threading
import traceback
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.errors import AgentStateFailed, CallError, OwnVerdict
from pytest_voiceeval.scoring.db_hash import StateError, get_dict_hash
from pytest_voiceeval.scoring.plain import decimal_number

if TYPE_CHECKING:
    from pytest_voiceeval.call.limits import CallLimits
    from pytest_voiceeval.scenario.model import Scenario

StateFunction = Callable[["Scenario", str], Any]
"""Gets the scenario and the call's session id. It may be async, else it runs in a thread."""

_THREAD = "voiceeval-agent-state"


@dataclass(frozen=True)
class StateProbe:
    """How to set and to learn the agent's state in one call.

    Attributes:
        scenario: What the call is about.
        session: The call's id, which is also what the agent's URL has for ``{session}``.
        read_state: Returns the final state, a dictionary of JSON values.
        set_state: Called before the agent is; None leaves its state as it is.
        name: What errors call it, such as ``agent_state (conftest.py:12)``.
        verdicts: What the functions raise to decide the test by themselves, with the outcome it
            means; the first that fits counts.
        note: What is odd about the state the call begins with, else empty.
    """

    scenario: Scenario
    session: str
    read_state: StateFunction
    set_state: StateFunction | None = None
    name: str = "agent_state"
    verdicts: Mapping[type[BaseException], str] = field(default_factory=dict)
    note: str = ""

    async def prepare(self, limits: CallLimits) -> None:
        """Set the agent's state; the limit is ``state_prepare``.

        Raises:
            AgentStateFailed: It raised, or took too long.
            OwnVerdict: It decided the test by itself.
        """
        if self.set_state is not None:
            await self._ask("prepare of ", self.set_state, limits.state_prepare, "state_prepare")

    async def read(self, limits: CallLimits) -> tuple[dict[str, Any], str]:
        """The agent's state, as a copy in plain JSON, and its hash; the limit is ``state_read``.

        Raises:
            AgentStateFailed: It raised, took too long, or gave something else than a state.
            OwnVerdict: It decided the test by itself.
        """
        state = await self._ask("", self.read_state, limits.state_read, "state_read")
        return await asyncio.to_thread(self._checked, state)

    async def _ask(self, step: str, function: StateFunction, seconds: float, limit: str) -> Any:
        late = f"{step}{self.name} was not through after {seconds:g} s ({limit})"
        try:
            async with asyncio.timeout(seconds) as deadline:
                answer = await _in_thread(lambda: function(self.scenario, self.session))
                return await _awaited(answer) if inspect.isawaitable(answer) else answer
        except _Raised as raised:
            if deadline.expired():
                raise AgentStateFailed(late) from raised.error
            raise self._fault(step, raised.error) from raised.error
        except TimeoutError as error:
            raise AgentStateFailed(late) from error

    def _fault(self, step: str, error: BaseException) -> CallError:
        """What it means that the user's code raised."""
        for kind, outcome in self.verdicts.items():
            if isinstance(error, kind):
                text = f"{step}{self.name}: {error}"
                return OwnVerdict(text, raised=error, outcome=outcome)
        return AgentStateFailed(
            f"{step}{self.name} raised {type(error).__name__}{_place(error)}: {error}"
        )

    def _checked(self, state: Any) -> tuple[dict[str, Any], str]:
        if not isinstance(state, dict):
            raise AgentStateFailed(
                f"{self.name} gave {state!r:.80}, expected the agent's state as a dictionary, "
                "such as {table: {key: record}}"
            )
        try:
            digest = get_dict_hash(state)
        except StateError as error:
            raise AgentStateFailed(
                f"{self.name} gave what is not JSON: at {error.path}: {error.problem}"
            ) from error
        # a copy: the user's own object may go on changing
        copy: dict[str, Any] = json.loads(json.dumps(state, default=decimal_number))
        return copy, digest


class _Raised(Exception):
    """Holds what a user's code raised: some exceptions mean something to asyncio, or end it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


async def _in_thread(function: Callable[[], Any]) -> Any:
    """Call it in a thread of its own: one that hangs must not keep other work waiting."""
    answer: Future[Any] = Future()
    answer.set_running_or_notify_cancel()
    arguments = (contextvars.copy_context(), function, answer)
    threading.Thread(target=_resolve, args=arguments, name=_THREAD, daemon=True).start()
    return await asyncio.wrap_future(answer)


def _resolve(
    context: contextvars.Context, function: Callable[[], Any], answer: Future[Any]
) -> None:
    try:
        answer.set_result(context.run(function))
    except BaseException as error:  # noqa: BLE001 - it belongs to whoever asked
        answer.set_exception(_Raised(error))


async def _awaited(answer: Awaitable[Any]) -> Any:
    try:
        return await answer
    except BaseException as error:
        task = asyncio.current_task()
        cancelled = isinstance(error, asyncio.CancelledError) and task and task.cancelling()
        if cancelled or isinstance(error, GeneratorExit):
            raise
        raise _Raised(error) from error


def _place(error: BaseException) -> str:
    """Where in the user's code it was raised; empty if it never came to run."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return "" if frame.filename == __file__ else f" ({Path(frame.filename).name}:{frame.lineno})"
