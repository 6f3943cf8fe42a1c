"""One call from the pytest side: lease the bots, hold the conversation, free everything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.caller import Caller, ScriptedCaller
from pytest_voiceeval.call.errors import CallerFailed, ScenarioInvalid
from pytest_voiceeval.call.limits import CallLimits
from pytest_voiceeval.call.session import AgentLink, CallPlan, run_call
from pytest_voiceeval.plugin.lines import line_to

if TYPE_CHECKING:
    from pytest_voiceeval.call.result import Conversation
    from pytest_voiceeval.plugin.dialogues import Script
    from pytest_voiceeval.plugin.held import HeldBots
    from pytest_voiceeval.plugin.lines import Source
    from pytest_voiceeval.plugin.options import Settings
    from pytest_voiceeval.scenario.model import Scenario

SCRIPTED_SILENCE = 5.0
"""Seconds without a sign after which a scripted agent counts as silent: it answers at once."""


@dataclass(frozen=True, slots=True)
class Job:
    """Everything one call needs, chosen before the engine is asked to hold it."""

    scenario: Scenario
    session: str
    settings: Settings
    script: Script
    agent: Source
    caller: Source | None
    bots: HeldBots


async def hold(job: Job) -> Conversation:
    """Hold the conversation; raises `CallError` for what is not the agent's fault."""
    with _scripts(job):
        async with line_to(job.agent, job.session, role="agent") as line, _caller(job) as caller:
            plan = CallPlan(
                scenario=job.scenario,
                agent=AgentLink(line.url, line.process_exit),
                caller=caller,
                limits=_limits(job),
                single_connection=job.settings.single_connection,
            )
            return await run_call(plan)
