"""The bots and the scripted model this process keeps in its engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_voiceeval.bots.command import BotCommand, Role
    from pytest_voiceeval.bots.scripted_model import ScriptedModel
    from pytest_voiceeval.bots.slot import BotSlot
    from pytest_voiceeval.plugin.engine import Engine
    from pytest_voiceeval.plugin.lines import Source
    from pytest_voiceeval.plugin.options import Settings
    from pytest_voiceeval.plugin.output import RunOutput

PROCESS_FAULTS = frozenset({"crashes", "garbage"})


class HeldBots:
    """Starts what the options name, once, when it is first asked for."""

    def __init__(self, engine: Engine, settings: Settings, output: RunOutput) -> None:
        self._engine = engine
        self._settings = settings
        self._output = output
        self._model: ScriptedModel | None = None
        self._sources: dict[str, Source] = {}

    @property
    def model(self) -> ScriptedModel:
        """The scripted model, serving in the engine from now on."""
        if self._model is None:
            from pytest_voiceeval.bots.scripted_model import serve_scripted_model

            self._model = self._engine.hold(serve_scripted_model())
        return self._model

    def agent(self) -> Any:
        """What the default `agent_bot` fixture returns."""
        settings = self._settings
        if settings.agent_url:
            from pytest_voiceeval.bots.endpoint import parse_bot_urls

            return parse_bot_urls(settings.agent_url, "--agent-url")
        if settings.agent_cmd is not None:
            return self._slot(self._user_command(settings.agent_cmd, "agent"))
        return self._slot(self._stock_agent())

    def caller(self) -> Any:
        """What the default `caller_bot` fixture returns; None is the built-in caller."""
        settings = self._settings
        if settings.user_url:
            from pytest_voiceeval.bots.endpoint import parse_bot_urls

            return parse_bot_urls(settings.user_url, "--user-url")
        if settings.user_cmd is not None:
            return self._slot(self._user_command(settings.user_cmd, "user"))
        return None

    def source(self, value: Any, fixture: str) -> Source:
        """What calls lease from, made once per bots: a pool only shares what it alone hands out."""
        from pytest_voiceeval.bots.slot import BotSlot
        from pytest_voiceeval.plugin.lines import source_of

        if isinstance(value, BotSlot):
            return value
        key = f"{fixture} {value!r}"
        if key not in self._sources:
            self._sources[key] = source_of(value, fixture, self._output.lock_folder)
        return self._sources[key]

    def uses_scripted_model(self, role: Role) -> bool:
        """Whether the bot of this side was given the scripted model."""
        command = self._settings.agent_cmd if role == "agent" else self._settings.user_cmd
        if command is not None:
            return "{model_url}" in command
        return role == "agent" and not self._settings.names_an_agent

    def model_session(self, role: Role, call_session: str) -> str:
        """The session under which the scripted model knows this side of a call.

        The stock bot has a URL per call; a bot of the user's keeps the one it was started with.
        """
        command = self._settings.agent_cmd if role == "agent" else self._settings.user_cmd
        return call_session if command is None else f"{role}{self._output.worker}"

    def _slot(self, command: BotCommand) -> BotSlot:
        from pytest_voiceeval.bots.slot import BotSlot

        return self._engine.hold(BotSlot(command))

    def _stock_agent(self) -> BotCommand:
        from pytest_voiceeval.bots.command import stock_bot_command

        fault = self._settings.agent_fault
        return stock_bot_command(
            "agent",
            llm_url=self.model.url("{session}"),
            log_path=self._output.bot_log("agent"),
            fault=fault if fault in PROCESS_FAULTS else None,
            env=_pack_environment(),
        )

    def _user_command(self, text: str, role: Role) -> BotCommand:
        from pytest_voiceeval.bots.command import user_command

        session = self.model_session(role, "")
        return user_command(
            text,
            role,
            log_path=self._output.bot_log(role),
            source=f"--{role}-cmd",
            model_url=self.model.url(session) if "{model_url}" in text else None,
            env=_pack_environment(),
        )


def _pack_environment() -> dict[str, str]:
    """What a bot process needs to find the user's own packs."""
    import os

    from pytest_voiceeval.packs import PACKS_VARIABLE, user_folders

    folders = [str(folder) for folder in user_folders()]
    return {PACKS_VARIABLE: os.pathsep.join(folders)} if folders else {}
