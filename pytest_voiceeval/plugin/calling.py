"""The two ends of one call: lease the bots, give their scripts, free everything."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_voiceeval.bots.script_player import Script as ModelScript
from pytest_voiceeval.call.bot_caller import BotCaller
from pytest_voiceeval.call.caller import Caller, ScriptedCaller
from pytest_voiceeval.call.errors import CallerFailed, NothingToSay
from pytest_voiceeval.call.limits import CallLimits
from pytest_voiceeval.call.plan import AgentLink, CallPlan
from pytest_voiceeval.plugin.embedding import embedded, why_real
from pytest_voiceeval.plugin.lines import line_to
from pytest_voiceeval.plugin.model_caller import caller_model_of, speaking
from pytest_voiceeval.plugin.sounding import sound_plan

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from pytest_voiceeval.bots.command import Role
    from pytest_voiceeval.call.caller_model import CallerModel
    from pytest_voiceeval.call.pace import Pace
    from pytest_voiceeval.call.state_probe import StateProbe
    from pytest_voiceeval.embedded.process import EmbeddedPlan
    from pytest_voiceeval.plugin.agent_rate import AgentPace
    from pytest_voiceeval.plugin.cost import Till
    from pytest_voiceeval.plugin.dialogues import Script
    from pytest_voiceeval.plugin.held import HeldBots
    from pytest_voiceeval.plugin.lines import Line, Source
    from pytest_voiceeval.plugin.options import Settings
    from pytest_voiceeval.plugin.probing import AgentState
    from pytest_voiceeval.scenario.model import Scenario

SPOKEN_GOODBYE = 30.0
"""Seconds that an agent may speak on after it has ended the call."""
SCRIPTED_SILENCE = 5.0
"""Seconds without a sign after which a scripted agent counts as silent: it answers at once."""


@dataclass(frozen=True, slots=True)
class Job:
    """Everything one call needs, chosen before the engine is asked to hold it.

    Attributes:
        nodeid: The item that asks for it.
        held_back: Why it could not run ahead of its item, None if it could.
        include_db: The final database is read whatever its hash, for code that looks at it.
        state: How the agent's state is learnt, None to ask the agent.
        till: Tells what the call costs, and whether the run can afford it.
    """

    scenario: Scenario
    session: str
    settings: Settings
    agent: Source
    caller: Source | None
    bots: HeldBots
    include_db: bool
    nodeid: str
    till: Till
    held_back: str | None = None
    state: AgentState | None = None

    @property
    def limits(self) -> CallLimits:
        """The call's deadlines."""
        scripted = self.bots.scripted_session(self.agent, self.session) is not None
        silence = SCRIPTED_SILENCE if scripted else CallLimits.turn_silence
        model = self.caller_model
        return CallLimits(
            max_duration=self.settings.duration,
            turn_silence=silence,
            exit_words=SPOKEN_GOODBYE if self.settings.audio.on else CallLimits.exit_words,
            caller=model.reply_limit if model else CallLimits.caller,
        )

    def session_of(self, role: Role) -> str:
        """The id under which a bot knows this call: stock bots with a voice have a script each."""
        apart = role == "user" and self.settings.audio.on
        return f"{self.session}-user" if apart else self.session

    @property
    def caller_model(self) -> CallerModel | None:
        """The language model that calls, by itself or by the voice of a bot of ours."""
        if self.caller is not None and not self.bots.is_stock_caller(self.caller):
            return None
        return caller_model_of(self.settings, self.bots.shared_folder)


@asynccontextmanager
async def connected(
    job: Job, script: Script, folder: Path
) -> AsyncIterator[CallPlan | EmbeddedPlan]:
    """Lease the bots of a call and give its plan; what goes wrong before it is a `CallError`."""
    _check_lines(job, script)
    if why_real(job) is None:
        async with embedded(job, script, folder) as plan:
            yield plan
        return
    async with (
        _paced(job) as pace,
        _line(job, job.agent, "agent") as line,
        _turn(job, line) as used,
        _caller(job, script, folder, pace) as caller,
    ):
        with _plays(job, script, "agent"), _plays(job, script, "user"):
            yield CallPlan(
                scenario=job.scenario,
                agent=AgentLink(line.url, line.process_exit),
                caller=caller,
                limits=job.limits,
                single_connection=job.settings.single_connection,
                call_dir=_told(folder, line),
                include_db=job.include_db,
                sound=sound_plan(job, folder),
                state=_probe(job, used=used),
                pace=pace,
            )


@asynccontextmanager
async def _paced(job: Job) -> AsyncIterator[AgentPace | None]:
    """The call's turns under the rate limit of the agent's model, once it may begin."""
    rpm = job.settings.models.agent_rpm
    if rpm is None or job.bots.model_of(job.agent) is None:
        yield None
        return
    from pytest_voiceeval.plugin.agent_rate import AgentPace, RateAccount

    pace = AgentPace(RateAccount(job.bots.shared_folder / "agent-rate.json", rpm), job.session)
    await pace.open()
    try:
        yield pace
    finally:
        pace.close()


def _probe(job: Job, *, used: bool) -> StateProbe | None:
    state = job.state
    return None if state is None else state.for_call(job.scenario, job.session, used=used)


def _line(job: Job, source: Source, role: Role) -> AbstractAsyncContextManager[Line]:
    session = job.session_of(role)
    return line_to(source, session, role=role, offline=job.settings.models.offline)


@asynccontextmanager
async def _turn(job: Job, line: Line) -> AsyncIterator[bool]:
    """Let calls whose agent cannot tell them apart use its state one at a time.

    The value is whether an earlier one of the run has used it.
    """
    if job.state is None or line.keeps_apart:
        yield False
        return
    async with job.bots.turns.one() as used:
        yield used


def _check_lines(job: Job, script: Script) -> None:
    """Refuse a call in which somebody would have nothing to say, before any bot is started."""
    model = job.bots.model_of(job.agent)
    if model is not None:
        model.require_key()
    if script.agent is None and _session(job, "agent") is not None:
        raise NothingToSay(
            f"scenario {job.scenario.name!r} has no reference dialogue for the scripted model to "
            "play: name an agent with --agent-url or --agent-cmd, or give --script FILE"
        )
    if job.settings.audio.on:
        _check_voices(job)
    built_in = job.caller is None and job.caller_model is None
    scripted_caller = built_in or _session(job, "user") is not None
    if script.caller is None and scripted_caller:
        raise NothingToSay(
            f"scenario {job.scenario.name!r} has no reference dialogue for the built-in "
            "caller: give --script FILE, a model with --caller-url and --caller-model, or a bot "
            "with --user-url or --user-cmd"
        )


def _check_voices(job: Job) -> None:
    """Refuse a call with sound in which the two could not understand each other."""
    from pytest_voiceeval.bots.stock_config import CONFIG_VARIABLE

    own = "name the caller's bot with --user-cmd or --user-url"
    if job.caller is None:
        raise CallerFailed(
            f"with --modality audio the caller is a bot, but caller_bot gave None: {own}"
        )
    if not job.bots.is_stock_caller(job.caller):
        return
    voice, ours = job.settings.audio.caller_voice, job.bots.is_stock(job.agent)
    if voice is not None and ours and not os.environ.get(CONFIG_VARIABLE):
        raise CallerFailed(
            f"--caller-voice {voice.name}: the stock agent understands tones only; leave it out, "
            f"or give both of them a voice with the environment variable {CONFIG_VARIABLE}"
        )
    if voice is None and not ours:
        raise CallerFailed(
            "the built-in caller speaks in tones that only the stock agent understands; for an "
            f"agent of your own give it a voice with --caller-voice, or {own}"
        )


@asynccontextmanager
async def _caller(
    job: Job, script: Script, folder: Path, pace: Pace | None
) -> AsyncIterator[Caller]:
    if job.caller is None:
        yield _built_in(job, script)
        return
    async with _line(job, job.caller, "user") as line:
        if job.caller_model is not None:
            with _voiced(job, job.caller_model, line, folder, pace) as voiced:
                yield voiced
            return
        yield BotCaller(
            line.url,
            job.scenario,
            job.limits,
            single_connection=job.settings.single_connection,
            process_exit=line.process_exit,
            call_dir=_told(folder, line),
            audio=job.settings.audio.on,
        )


@contextmanager
def _voiced(
    job: Job, model: CallerModel, line: Line, folder: Path, pace: Pace | None
) -> Iterator[Caller]:
    """The model's caller behind a bot of ours, which hears and speaks for it."""
    from pytest_voiceeval.call.llm_caller import LLMCaller
    from pytest_voiceeval.call.voiced_caller import VoicedCaller

    caller = VoicedCaller(
        line.url,
        job.scenario,
        job.limits,
        mind=LLMCaller(job.scenario, model),
        process_exit=line.process_exit,
        call_dir=_told(folder, line),
        pace=pace,
    )
    with speaking(job.bots.model, job.session_of("user"), caller):
        yield caller


def _built_in(job: Job, script: Script) -> Caller:
    """The caller that lives in this process: a model's, if the options name one, else a script."""
    from pytest_voiceeval.call.caller_state import HeldState

    model, state = job.caller_model, HeldState(job.scenario)
    if model is None:
        return ScriptedCaller(script.caller or (), state)
    from pytest_voiceeval.call.llm_caller import LLMCaller

    return LLMCaller(job.scenario, model, state=state)


def _told(folder: Path, line: Line) -> str | None:
    """The call's folder, for a bot of ours: any other may run on another machine."""
    return None if line.process_exit is None else str(folder)


def _session(job: Job, role: Role) -> str | None:
    """The scripted model's session for one side, None where that bot was not given the model."""
    source = job.agent if role == "agent" else job.caller
    return None if source is None else job.bots.scripted_session(source, job.session_of(role))


@contextmanager
def _plays(job: Job, script: Script, role: Role) -> Iterator[None]:
    """Let the scripted model play one side of this call, where that bot was given it."""
    session = _session(job, role)
    if session is None:
        yield
        return
    dialogue = script.agent if role == "agent" else script.caller
    hang = script.hang_at_turn if role == "agent" else None
    job.bots.model.play(session, ModelScript(dialogue or (), role=role, hang_at_turn=hang))
    try:
        yield
    finally:
        job.bots.model.forget(session)
