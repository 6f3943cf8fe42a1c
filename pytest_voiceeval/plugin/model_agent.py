"""The agent that a language model plays: the stock bot, on an endpoint of the user's.

What its endpoint does is not what its model does: an agent that was never answered did not fail.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.errors import CallError
from pytest_voiceeval.call.result import EndReason
from pytest_voiceeval.wire.secret import problem_of_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_voiceeval.call.result import Conversation

NOT_THE_MODEL = frozenset(
    {401, 402, 403, 404, 407, 408, 425, 429, 502, 503, 504, 520, 521, 522, 523, 524, 529}
)
"""HTTP statuses that say nothing about what was asked: key, credit, address or rate are wrong, or
whatever stands before the model does not reach it. A 500 may be what the model wrote."""

_WAYS_OUT: Mapping[int | None, str] = {
    None: "check --agent-llm-url, and whether the server runs",
    401: "check the key in the environment variable of --agent-api-key-name",
    402: "the account has no credit",
    403: "check the key in the environment variable of --agent-api-key-name",
    404: "check --agent-llm-url (the base, such as http://HOST/v1) and --agent-model",
    429: "fewer calls at once (--voice-concurrency) keep below a provider's limit",
}


class AgentModelFailed(CallError):
    """The endpoint of the agent's model failed, so that nothing is known about the model."""

    code = "agent_model_failed"


@dataclass(frozen=True, slots=True)
class AgentModel:
    """A model behind an OpenAI-compatible endpoint. None leaves a parameter to the endpoint.

    Attributes:
        url: Base URL of its API.
        model: Its name.
        api_key_env: Environment variable that holds the key; None sends no key.
        temperature: Sampling temperature, 0 to 2.
        seed: Random seed.
        max_tokens: Most tokens of one answer, thinking included.
    """

    url: str
    model: str
    api_key_env: str | None = None
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = None

    def __repr__(self) -> str:
        """Without the address as it is: its query may hold a key."""
        return f"AgentModel({self.model!r} at {self.shown_url})"

    @property
    def shown_url(self) -> str:
        """The address as a message may show it."""
        from pytest_voiceeval.wire.urls import mask_url

        return mask_url(self.url)

    @property
    def bot_options(self) -> tuple[str, ...]:
        """What the stock bot is told beside the address and the name."""
        given = {
            "--api-key-name": self.api_key_env,
            "--temperature": self.temperature,
            "--seed": self.seed,
            "--max-tokens": self.max_tokens,
        }
        return tuple(f"{flag}={value}" for flag, value in given.items() if value is not None)

    def require_key(self) -> None:
        """Look whether there is a key.

        Raises:
            AgentModelFailed: The variable that is to hold it has none.
        """
        name = self.api_key_env
        problem = "" if name is None else problem_of_key(os.environ.get(name))
        if problem:
            raise AgentModelFailed(
                f"the environment variable {name}, which is to hold the key of the agent's model "
                f"(--agent-api-key-name), {problem}"
            )


def refuse_outage(conversation: Conversation, model: AgentModel | None) -> None:
    """Tell a call in which the endpoint failed from one in which the model did.

    An address, key or rate that is wrong says nothing about the model at any time. Whatever else
    the endpoint answers, such as a server error, says nothing as long as the agent has said
    nothing; later it ends the call like any fatal error of an agent.

    Args:
        conversation: What was heard of the agent.
        model: What it is, None for an agent that is no model of ours.

    Raises:
        AgentModelFailed: It was the endpoint.
    """
    fault = _last_fault(conversation)
    if fault is None or model is None:
        return
    status = fault["model_endpoint"].get("status")
    spoke = any(said.role == "agent" for said in conversation.transcript)
    if spoke and status is not None and status not in NOT_THE_MODEL:
        return
    way_out = _way_out(fault["model_endpoint"])
    hint = f"; {way_out}" if way_out else ""
    raise AgentModelFailed(f"the agent's model ({model.model!r}): {fault['error']}{hint}")


def _way_out(endpoint: Mapping[str, Any]) -> str | None:
    """What to do about a failure; nothing helps against a connection that breaks."""
    status = endpoint.get("status")
    if status is None and endpoint.get("spent"):
        return None
    if isinstance(status, int) and 300 <= status < 400:
        return "it points elsewhere, where keys are not sent: give the final address"
    return _WAYS_OUT.get(402 if endpoint.get("no_credit") else status)


def refused_runs(conversation: Conversation) -> int:
    """Requests for an answer that the endpoint refused, so that they cost nothing."""
    faults = [fault for _, fault in _faults(conversation) if fault.get("fatal") is True]
    return sum(fault["model_endpoint"].get("spent") is False for fault in faults)


def lost_runs(conversation: Conversation) -> int:
    """Requests made again after the model may have worked on them: what they cost is unknown."""
    faults = [fault for _, fault in _faults(conversation) if fault.get("fatal") is not True]
    return sum(fault["model_endpoint"].get("spent") is True for fault in faults)


def _last_fault(conversation: Conversation) -> dict[str, Any] | None:
    """The failure of the endpoint that ended the conversation, None if something else did."""
    if conversation.end_reason not in {EndReason.AGENT_ERROR, EndReason.AGENT_SILENT}:
        return None
    heard = max((u.end for u in conversation.transcript if u.role == "agent"), default=-1.0)
    faults = [fault for at, fault in _faults(conversation) if at >= heard]
    return faults[-1] if faults else None


def _faults(conversation: Conversation) -> list[tuple[float, dict[str, Any]]]:
    """The failures of the endpoint that the stock agent told of, with their times."""
    return [
        (event.at, event.data)
        for event in conversation.events
        if event.side == "agent"
        and event.type == "error"
        and isinstance(event.data, dict)
        and isinstance(event.data.get("model_endpoint"), dict)
    ]
