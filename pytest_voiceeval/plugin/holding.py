"""Holding one call, in text or with sound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_voiceeval.call.session import run_call

if TYPE_CHECKING:
    from pytest_voiceeval.call.plan import CallPlan
    from pytest_voiceeval.call.result import Conversation


async def hold(plan: CallPlan) -> Conversation:
    """Hold the conversation of a plan.

    Raises:
        CallError: Something else than the agent went wrong.
    """
    if plan.sound is None:
        return await run_call(plan)
    from pytest_voiceeval.call.audio.session import run_audio_call

    return await run_audio_call(plan)
