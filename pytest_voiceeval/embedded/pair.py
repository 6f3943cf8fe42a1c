"""One call of the pair: both stock bots, their model and the bridge in one virtual loop."""

from __future__ import annotations

import asyncio
import os
import pickle
import random
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.bots.scripted_model import serve_scripted_model
from pytest_voiceeval.bots.stock_config import (
    CONFIG_VARIABLE,
    PORT_VARIABLE,
    BotConfig,
    parse_config,
)
from pytest_voiceeval.bots.stock_server import serving
from pytest_voiceeval.call.audio.recording import RECORDING
from pytest_voiceeval.call.audio.report import VirtualClock
from pytest_voiceeval.call.audio.session import run_audio_call
from pytest_voiceeval.call.bot_caller import BotCaller
from pytest_voiceeval.call.errors import CallError
from pytest_voiceeval.call.plan import AgentLink, CallPlan
from pytest_voiceeval.embedded.clock import START, Clock
from pytest_voiceeval.embedded.event_log import EVENT_LOG, EventLog
from pytest_voiceeval.embedded.loop import VirtualLoop
from pytest_voiceeval.embedded.network import HOST, Listener
from pytest_voiceeval.packs import list_packs, load_pack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pytest_voiceeval.bots.command import Role
    from pytest_voiceeval.call.audio.plan import SoundPlan
    from pytest_voiceeval.call.result import Conversation, Side
    from pytest_voiceeval.embedded.job import EmbeddedJob
    from pytest_voiceeval.wire.backlog import Event

PORTS: dict[Role, int] = {"agent": 1, "user": 2}
MODEL_PORT = 3
_UNHEARD = frozenset({CONFIG_VARIABLE, PORT_VARIABLE})
"""Variables for bots that are processes of their own."""


def hold(job: EmbeddedJob, clock: Clock) -> Conversation:
    """Hold a call from its beginning to its end, in a loop of its own.

    Args:
        job: The call.
        clock: The process's clock; every call begins at the same time of it.

    Raises:
        CallError: As `run_audio_call`; its conversation tells of the clock as well.
    """
    if any(pack.domain == job.domain for pack in list_packs()):
        load_pack(job.domain)
    clock.now = START
    random.seed(0)
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock)) as runner:
        return runner.run(_logged(job, clock))


async def _logged(job: EmbeddedJob, clock: Clock) -> Conversation:
    folder = job.sound.folder
    if folder is None:
        raise ValueError("the pair needs a folder for its log")
    log = EventLog(folder / EVENT_LOG, START)
    began: float | None = None

    def witness(side: Side, event: Event) -> None:
        nonlocal began
        began = began or clock.real()
        log.take(side, event)

    error: CallError | None = None
    conversation: Conversation | None = None
    try:
        conversation = await _call(job, replace(job.sound, witness=witness))
    except CallError as failed:
        error, conversation = failed, failed.conversation
    finally:
        # what both bots were sent is in the recording, noise included
        wav = folder / RECORDING
        if wav.exists():
            log.note(asyncio.get_running_loop().time(), "bridge", "recording", wav.read_bytes())
        hash_ = log.close()
    if conversation is not None and conversation.sound is not None:
        took = VirtualClock(hash_, round(clock.real() - (began or clock.real()), 3))
        sound = replace(conversation.sound, virtual=took)
        conversation = replace(conversation, sound=sound)
    if error is not None:
        error.conversation = conversation
        raise error
    assert conversation is not None  # noqa: S101 - there is an error or a conversation
    return conversation


async def _call(job: EmbeddedJob, sound: SoundPlan) -> Conversation:
    scenario = pickle.loads(job.scenario)  # noqa: S301 - from the process that started this one
    async with serve_scripted_model(Listener(MODEL_PORT)) as model:
        model.play("agent", job.agent)
        model.play("user", job.user)
        url = model.url("{session}")
        async with _bot("agent", url, job.bot_fault) as agent, _bot("user", url) as user:
            caller = BotCaller(
                user,
                scenario,
                job.limits,
                single_connection=job.single_connection,
                call_dir=job.call_dir,
                audio=True,
            )
            return await run_audio_call(
                CallPlan(
                    scenario=scenario,
                    agent=AgentLink(agent),
                    caller=caller,
                    limits=job.limits,
                    single_connection=job.single_connection,
                    call_dir=job.call_dir,
                    include_db=job.include_db,
                    sound=sound,
                )
            )


@asynccontextmanager
async def _bot(role: Role, model_url: str, fault: str | None = None) -> AsyncIterator[str]:
    async with serving(bot_config(role, model_url, fault), Listener(PORTS[role])):
        yield f"ws://{HOST}:{PORTS[role]}/ws/{role}"


def bot_config(role: Role, model_url: str, fault: str | None = None) -> BotConfig:
    """A stock bot as the command line would have it."""
    options: list[Any] = ["--role", role, "--modality", "audio", "--llm-url", model_url]
    options += ["--model", "scripted", *(["--fault", fault] if fault else [])]
    return parse_config(options, {k: v for k, v in os.environ.items() if k not in _UNHEARD})
