"""Calls with sound between two scripted bots."""

from __future__ import annotations

import wave
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_voiceeval.call.audio import session
from pytest_voiceeval.call.audio.activity import Span, find_speech
from pytest_voiceeval.call.audio.plan import SoundPlan
from pytest_voiceeval.call.audio.session import run_audio_call
from pytest_voiceeval.call.bot_caller import BotCaller
from pytest_voiceeval.call.limits import CallLimits
from pytest_voiceeval.call.plan import AgentLink, CallPlan
from pytest_voiceeval.call.result import Conversation
from tests.unit.audio.bots import Script, SoundBot, serving
from tests.unit.call.conftest import FakeScenario

LIMITS = CallLimits(
    connect=2.0,
    ready=2.0,
    optional_request=1.0,
    max_duration=20.0,
    turn_silence=3.0,
    both_silent=1.0,
    speech_start=0.5,
    exit_settle=0.2,
    exit_words=5.0,
    last_reply=5.0,
)

Hold = Callable[..., Awaitable[Conversation]]


@pytest.fixture
def hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hold:
    """Hold a call between two scripts, or bots; recordings go to ``tmp_path``."""
    monkeypatch.setattr(session, "KICKOFF_AFTER", 0.1)

    async def hold(
        agent: Script | SoundBot,
        user: Script | SoundBot,
        *,
        sound: SoundPlan | None = None,
        scenario: Any = None,
        **limits: Any,
    ) -> Conversation:
        agent_bot = (
            agent if isinstance(agent, SoundBot) else SoundBot(agent, waits_for_kickoff=True)
        )
        user_bot = user if isinstance(user, SoundBot) else SoundBot(user)
        scenario = scenario or FakeScenario()
        mine = replace(LIMITS, **limits)
        async with serving(agent_bot), serving(user_bot):
            plan = CallPlan(
                scenario,
                AgentLink(agent_bot.url),
                BotCaller(user_bot.url, scenario, mine, audio=True),
                limits=mine,
                sound=replace(sound or SoundPlan(), folder=tmp_path),
            )
            return await run_audio_call(plan)

    return hold


def recorded(folder: Path) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Speech in the recording: what the agent heard, and what the caller heard."""
    with wave.open(str(folder / "conversation_log.wav")) as file:
        data = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2)
    return find_speech(data[:, 0].copy()), find_speech(data[:, 1].copy())
