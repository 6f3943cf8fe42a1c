"""Which calls with sound run on the virtual clock, and what they are made of."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pytest_voiceeval.bots.script_player import Script as ModelScript
from pytest_voiceeval.embedded.job import EmbeddedJob, pack_scenario
from pytest_voiceeval.embedded.process import EmbeddedPlan

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from pytest_voiceeval.plugin.calling import Job
    from pytest_voiceeval.plugin.dialogues import Script
    from pytest_voiceeval.plugin.options import Settings

ENDS_ITS_PROCESS = frozenset({"crashes"})
"""Faults that take a process of the bot's own."""


def why_real(job: Job) -> str | None:
    """Why a call of the pair has to use the real clock; None if it need not.

    An empty text: it was asked for, or the bots are not the pair, which needs no words.
    """
    audio = job.settings.audio
    if not audio.on or audio.clock == "real" or job.bots.pairs is None:
        return ""
    if not _is_pair(job):
        return "a fixture names a bot of its own" if audio.clock_given else ""
    return _obstacle(job)


def _is_pair(job: Job) -> bool:
    """Whether both bots are the built-in ones, and follow scripts."""
    caller, agent = job.caller, job.bots.scripted_session(job.agent, job.session)
    if caller is None or job.caller_model is not None or not job.bots.is_stock_caller(caller):
        return False
    return job.bots.is_stock(job.agent) and agent == job.session


def obstacle_of_run(settings: Settings) -> str | None:
    """Why the built-in bots of a run need processes of their own; None if they do not."""
    from pytest_voiceeval.bots.stock_config import CONFIG_VARIABLE

    if os.environ.get(CONFIG_VARIABLE):
        return f"the bots are set up by the file of {CONFIG_VARIABLE}"
    if settings.agent_fault in ENDS_ITS_PROCESS:
        return f"--agent-fault {settings.agent_fault} ends the process of the bot"
    return None


def _obstacle(job: Job) -> str | None:
    obstacle = obstacle_of_run(job.settings)
    if obstacle is not None:
        return obstacle
    packed = pack_scenario(job.scenario)
    return f"the scenario cannot be held elsewhere: {packed}" if isinstance(packed, str) else None


@asynccontextmanager
async def embedded(job: Job, script: Script, folder: Path) -> AsyncIterator[EmbeddedPlan]:
    """Have a process for a call that need not be real, and give its plan.

    Raises:
        PairLost: There is none.
    """
    from pytest_voiceeval.plugin.sounding import sound_plan

    sound, scenario = sound_plan(job, folder), pack_scenario(job.scenario)
    assert sound is not None and job.bots.pairs is not None  # noqa: S101, PT018 - see `why_real`
    assert isinstance(scenario, bytes)  # noqa: S101 - see `why_real`
    call = EmbeddedJob(
        scenario=scenario,
        domain=job.scenario.domain,
        agent=ModelScript(script.agent or (), "agent", hang_at_turn=script.hang_at_turn),
        user=ModelScript(script.caller or (), "user"),
        limits=job.limits,
        sound=sound,
        bot_fault=script.bot_fault,
        single_connection=job.settings.single_connection,
        call_dir=str(folder),
        include_db=job.include_db,
    )
    longest = job.limits.duration_for(job.scenario.max_duration)
    async with job.bots.pairs.lease() as pair:
        yield EmbeddedPlan(pair, call, longest)
