"""What the agent delivered, and how it compares with the reference answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.result import ActionDifference
from pytest_voiceeval.scoring.delivery import delivered, without_empty
from pytest_voiceeval.scoring.explain import explain_match
from pytest_voiceeval.scoring.matching import ACTIONS, match_payloads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_voiceeval.call.result import Conversation, Record
    from pytest_voiceeval.scenario.model import Scenario


def merged_actions(conversation: Conversation) -> tuple[Record, ...] | None:
    """Recorded actions of both sides, each with its ``side``; None if the agent's are unknown.

    A ``side`` that an agent's record names itself wins; the caller's are the caller's.
    """
    agent, user = conversation.agent.actions, conversation.user
    if agent is None:
        return None
    of_user = (user.actions if user is not None else None) or ()
    return (
        *({"side": "agent", **record} for record in agent),
        *({**record, "side": "user"} for record in of_user),
    )


def prediction_of(conversation: Conversation) -> list[Any]:
    """What is compared with the reference answer.

    The recorded actions when there are any, else the payloads the agent pushed, else the empty list
    of actions it reported.
    """
    return delivered(merged_actions(conversation), conversation.final_responses)


def action_match(scenario: Scenario, prediction: Sequence[Any], *, strict: bool) -> bool | None:
    """Whether the prediction holds the reference answer; None if the scenario has none.

    Raises:
        PayloadError: The reference answer cannot be compared with anything.
    """
    reference = _reference_of(scenario)
    if reference is None:
        return None
    return bool(prediction) and match_payloads(reference, prediction, **_flags(scenario, strict))


def differences(
    scenario: Scenario, prediction: Sequence[Any], *, strict: bool
) -> tuple[ActionDifference, ...]:
    """What a mismatch consists of, for people; extras only where they are disallowed.

    Raises:
        PayloadError: The reference answer cannot be compared with anything.
    """
    reference = _reference_of(scenario)
    flags = _flags(scenario, strict)
    if _asks_for_actions(reference):
        # without any prediction every record of the reference is missing, not the answer as a whole
        found = explain_match(reference, list(prediction) or [{ACTIONS: []}], **flags)
        found = found or explain_match(reference, list(prediction), **flags)
    else:
        found = explain_match(reference, without_empty(prediction), **flags)
    return tuple(
        ActionDifference(each.kind, each.expected, each.actual, each.fields, each.path)
        for each in found
        if each.blocking
    )


def _asks_for_actions(reference: Any) -> bool:
    """Whether recorded actions are asked for, not a result that is handed in."""
    payloads = reference if isinstance(reference, list) else [reference]
    return any(ACTIONS in payload for payload in payloads if isinstance(payload, dict))


def _reference_of(scenario: Scenario) -> Any:
    """The reference answer; a plain text stands for a message."""
    reference = scenario.reference_answer
    if not reference:
        return None
    return {"message": reference} if isinstance(reference, str) else reference


def _flags(scenario: Scenario, strict: bool) -> dict[str, bool]:
    return {
        "ignore_capitalization": scenario.ignore_capitalization,
        "ignore_punctuation": scenario.ignore_punctuation,
        "clean_text": scenario.clean_text,
        "disallow_extra_items": scenario.disallow_extra_items or strict,
    }
