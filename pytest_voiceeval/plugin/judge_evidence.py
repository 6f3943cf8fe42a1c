"""What a judge is shown of a call."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.judge.evidence import as_json
from pytest_voiceeval.scoring.matching import normalize_scenario_payload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_voiceeval.call.result import CallResult, Conversation


def evidence_of(
    reference: Any, result: CallResult, statements: Sequence[str], *, transcript: bool
) -> dict[str, Any]:
    """The arguments of `LLMJudge.judge_scenario` for a call.

    Args:
        reference: The scenario's reference answer, None or empty if it has none.
        result: The call.
        statements: What the judge is to decide about.
        transcript: Whether it is shown what was said beside the agent's context; without a context
            it is shown that anyway.
    """
    conversation = result.conversation
    agent, user = conversation.agent, conversation.user
    return {
        "reference": _payload(reference) if reference else None,
        "prediction": None if _is_bare(result.prediction) else _payload(result.prediction),
        "conversation": _turns(conversation) if transcript or not agent.context else None,
        "agent_context_history": agent.context,
        "user_context_history": None if user is None else user.context,
        "nl_assertions": list(statements),
    }


def _payload(value: Any) -> str:
    """As the reference harness shows it: shapes made alike, indented by two."""
    value = {"message": value} if isinstance(value, str) else normalize_scenario_payload(value)
    return as_json(value)


def _is_bare(prediction: Sequence[Any]) -> bool:
    """Whether nothing was recorded, as in a call that is only talk."""
    return all(payload == {"actions": []} for payload in prediction)


def _turns(conversation: Conversation) -> list[dict[str, str]]:
    """Who said what; what somebody said in one turn, after a filler for example, is one line."""
    said = [utterance for utterance in conversation.transcript if utterance.text.strip()]
    return [
        {"role": role, "text": " ".join(utterance.text for utterance in turn)}
        for (role, _), turn in groupby(said, key=lambda each: (each.role, each.turn))
    ]
