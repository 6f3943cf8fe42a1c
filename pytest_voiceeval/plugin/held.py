"""The bots and the scripted model this process keeps in its engine."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.bots.endpoint import MANY_CALLS, SESSION_FIELD, Bot
from pytest_voiceeval.plugin.probing import Turns

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_voiceeval.bots.command import BotCommand, Role
    from pytest_voiceeval.bots.scripted_model import ScriptedModel
    from pytest_voiceeval.bots.slot import BotSlot
    from pytest_voiceeval.embedded.process import Pairs
    from pytest_voiceeval.plugin.engine import Engine
    from pytest_voiceeval.plugin.lines import Own, Source
    from pytest_voiceeval.plugin.model_agent import AgentModel
    from pytest_voiceeval.plugin.options import Settings
    from pytest_voiceeval.plugin.output import RunOutput

CALL_DIR_VARIABLE = "VOICEEVAL_CALL_DIR"
"""Tells a bot the folder that holds the folders of all calls."""

SPOKEN_CALLS = 4
"""Calls with sound that a pair of stock bots holds at once: speech takes more of the machine."""

PROCESS_FAULTS = frozenset({"crashes", "garbage"})


class HeldBots:
    """Starts what the options name, once, when it is first asked for.

    Attributes:
        turns: For calls that share the state of an agent.
        pairs: Hold calls of the built-in bots on a virtual clock; None if no call may be one.
    """

    def __init__(self, engine: Engine, settings: Settings, output: RunOutput) -> None:
        self._engine = engine
        self._settings = settings
        self._output = output
        self._model: ScriptedModel | None = None
        self._sources: dict[str, Source] = {}
        self.turns = Turns(self.shared_folder)
        # bots that were given the scripted model, with the session they always use, if any
        self._scripted: dict[Source, str | None] = {}
        self._modelled: dict[Source, AgentModel] = {}
        self._voice: BotSlot | None = None
        self.pairs: Pairs | None = None

    @property
    def model(self) -> ScriptedModel:
        """The scripted model, serving in the engine from now on."""
        if self._model is None:
            from pytest_voiceeval.bots.scripted_model import serve_scripted_model

            self._model = self._engine.hold(serve_scripted_model())
        return self._model

    @property
    def shared_folder(self) -> Path:
        """A folder that all workers of this run see."""
        return self._output.folder / ".shared"

    def agent(self) -> Any:
        """What the default `agent_bot` fixture returns."""
        settings = self._settings
        if settings.agent_url:
            from pytest_voiceeval.bots.endpoint import parse_bot_urls

            return self._roomy(parse_bot_urls(settings.agent_url, "--agent-url"))
        if settings.agent_cmd is not None:
            return self._commanded(settings.agent_cmd, "agent")
        model = settings.agent_model
        bots = self._several(self._stock_agent() if model is None else self._model_agent(model))
        if model is None:
            self._scripted[bots] = None
        else:
            self._modelled[bots] = model
        return bots

    def caller(self) -> Any:
        """What the default `caller_bot` fixture returns; None is the built-in caller."""
        settings = self._settings
        if settings.user_url:
            from pytest_voiceeval.bots.endpoint import parse_bot_urls

            return self._roomy(parse_bot_urls(settings.user_url, "--user-url"))
        if settings.user_cmd is not None:
            return self._commanded(settings.user_cmd, "user")
        return self._stock_caller() if settings.audio.on else None

    def source(self, value: Any, fixture: str) -> Source:
        """What calls lease from, made once per bots: a pool only shares what it alone hands out."""
        from pytest_voiceeval.plugin.lines import Own, source_of

        if isinstance(value, Own):
            return value
        key = f"{fixture} {value!r}"
        if key not in self._sources:
            self._sources[key] = source_of(value, fixture, self._output.lock_folder)
        return self._sources[key]

    def scripted_session(self, source: Source, call_session: str) -> str | None:
        """The session under which the scripted model knows a bot in a call; None if it does not.

        The stock bot has a URL per call; a bot of the user's keeps the one it was started with.
        """
        return self._scripted[source] or call_session if source in self._scripted else None

    def is_stock(self, source: Source) -> bool:
        """Whether it is the stock agent, whichever model plays it: all of its state is ours."""
        from pytest_voiceeval.plugin.lines import Own

        return isinstance(source, Own) and self._settings.agent_cmd is None

    def is_stock_caller(self, source: Source) -> bool:
        """Whether it is the caller of ours that speaks through a stock bot."""
        return source is self._voice

    def model_of(self, source: Source) -> AgentModel | None:
        """The language model of the user's that a bot of ours was given, if any."""
        return self._modelled.get(source)

    @property
    def _many(self) -> int:
        """Calls of a stock bot: `--voice-concurrency` may ask for more."""
        usual = SPOKEN_CALLS if self._settings.audio.on else MANY_CALLS
        return max(usual, self._settings.voice_concurrency or 0)

    @property
    def _wanted(self) -> int:
        """Calls that are to be held at once."""
        return self._settings.voice_concurrency or SPOKEN_CALLS

    @property
    def _callers_voice(self) -> dict[str, str]:
        """What tells the built-in caller's bot how to speak and hear."""
        from pytest_voiceeval.bots.stock_config import CONFIG_VARIABLE

        voice = self._settings.audio.caller_voice
        return {} if voice is None else {CONFIG_VARIABLE: str(voice)}

    @property
    def _everywhere(self) -> tuple[str, ...]:
        """Options of every stock bot of this run."""
        offline = ("--offline",) if self._settings.models.offline else ()
        voice = ("--modality", "audio") if self._settings.audio.on else ()
        return (*offline, *voice)

    def _roomy(self, bots: list[Bot]) -> list[Bot]:
        """Bots of URLs, which cannot say how many calls they take."""
        many = max(MANY_CALLS, self._settings.voice_concurrency or 0)
        return [Bot(bot.url, many) if SESSION_FIELD in bot.url else bot for bot in bots]

    def _slot(self, command: BotCommand) -> BotSlot:
        from pytest_voiceeval.bots.slot import BotSlot

        return self._engine.hold(BotSlot(self._local(command)))

    def _several(self, command: BotCommand) -> Own:
        """As many bots as there are cores to use; the workers of a run have one each."""
        from pytest_voiceeval.bots.team import BotTeam, team_size

        if self._output.worker or self._settings.audio.on:
            return self._slot(command)
        return self._engine.hold(BotTeam(self._local(command), team_size()))

    def _local(self, command: BotCommand) -> BotCommand:
        return replace(command, local_only=self._settings.models.offline)

    def _stock_agent(self) -> BotCommand:
        """The stock bot with the scripted model."""
        from pytest_voiceeval.bots.command import stock_bot_command

        fault = self._settings.agent_fault
        return stock_bot_command(
            "agent",
            llm_url=self.model.url("{session}"),
            log_path=self._output.bot_log("agent"),
            fault=fault if fault in PROCESS_FAULTS else None,
            env=_environment(self._output),
            max_calls=1 if fault == "crashes" else self._many,
            options=self._everywhere,
        )

    def _stock_caller(self) -> BotSlot:
        """The stock bot as the caller: the voice of a script, or of the model of the options."""
        from pytest_voiceeval.bots.command import stock_bot_command

        if self._voice is None:
            command = stock_bot_command(
                "user",
                llm_url=self.model.url("{session}"),
                log_path=self._output.bot_log("user"),
                env={**_environment(self._output), **self._callers_voice},
                max_calls=self._many,
                options=self._everywhere,
            )
            self._voice = self._slot(command)
            if self._settings.caller_url is None:
                self._scripted[self._voice] = None
            if self._settings.audio.clock == "virtual":
                self.pairs = self._engine.hold(self._make_pairs())
        return self._voice

    def _make_pairs(self) -> Pairs:
        """As many processes as there are cores to use; the workers of a run have one each."""
        from pytest_voiceeval.bots.team import team_size
        from pytest_voiceeval.embedded.process import Pairs

        most = 1 if self._output.worker else min(team_size(), self._wanted)
        output = self._output
        return Pairs(
            most,
            lambda number: output.bot_log("pair" if number == 1 else f"pair-{number}"),
            _environment(output),
        )

    def _model_agent(self, model: AgentModel) -> BotCommand:
        """The stock bot with a model of the user's."""
        from pytest_voiceeval.bots.command import stock_bot_command

        return stock_bot_command(
            "agent",
            llm_url=model.url,
            model=model.model,
            log_path=self._output.bot_log("agent"),
            env=_environment(self._output),
            max_calls=self._many,
            options=(*model.bot_options, *self._everywhere),
        )

    def _commanded(self, text: str, role: Role) -> BotSlot:
        """A bot the user's command line starts, with a model of ours if it asks for one."""
        from pytest_voiceeval.bots.command import user_command

        session = f"{role}{self._output.worker}" if "{model_url}" in text else None
        slot = self._slot(
            user_command(
                text,
                role,
                log_path=self._output.bot_log(role),
                source=f"--{role}-cmd",
                model_url=None if session is None else self.model.url(session),
                env=_environment(self._output),
            )
        )
        if session is not None:
            self._scripted[slot] = session
        return slot


def _environment(output: RunOutput) -> dict[str, str]:
    """What a bot process needs to find the user's own packs, and the folder of all calls."""
    from pytest_voiceeval.packs import PACKS_VARIABLE, user_folders

    folders = [str(folder) for folder in user_folders()]
    packs = {PACKS_VARIABLE: os.pathsep.join(folders)} if folders else {}
    return {**packs, CALL_DIR_VARIABLE: str(output.folder)}
