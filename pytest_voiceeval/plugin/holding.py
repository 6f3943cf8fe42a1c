"""Holding one call: in text, with sound, or with sound on the virtual clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_voiceeval.call.session import run_call
from pytest_voiceeval.embedded.process import EmbeddedPlan

if TYPE_CHECKING:
    from pytest_voiceeval.call.plan import CallPlan
    from pytest_voiceeval.call.result import Conversation


async def hold(plan: CallPlan | EmbeddedPlan) -> Conversation:
    """Hold the conversation of a plan.

    Raises:
        CallError: Something else than the agent went wrong.
    """
    if isinstance(plan, EmbeddedPlan):
        return await plan.hold()
    if plan.sound is None:
        return await run_call(plan)
    from pytest_voiceeval.call.audio.session import run_audio_call

    return await run_audio_call(plan)
