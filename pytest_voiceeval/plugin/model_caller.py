"""The caller that a language model plays, as the options describe it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_voiceeval.bots.script_player import Reply
    from pytest_voiceeval.bots.scripted_model import ScriptedModel
    from pytest_voiceeval.call.caller_model import CallerModel
    from pytest_voiceeval.call.voiced_caller import VoicedCaller
    from pytest_voiceeval.plugin.options import Settings


def caller_model_of(settings: Settings, shared: Path | None = None) -> CallerModel | None:
    """The model of `--caller-url`, None without that option.

    Args:
        settings: the run's options.
        shared: a folder that all workers see, for what they share of a rate cap.

    Raises:
        ValueError: an option's value cannot be used; the text says which and why.
    """
    if settings.caller_url is None or settings.caller_model is None:
        return None
    from pytest_voiceeval.call.caller_model import CallerModel

    return CallerModel(
        url=settings.caller_url,
        model=settings.caller_model,
        api_key_env=settings.caller_api_key_name,
        temperature=settings.caller_temperature,
        seed=settings.caller_seed,
        max_tokens=settings.caller_max_tokens,
        rpm=settings.caller_rpm,
        rpm_dir=shared,
        offline=settings.models.offline,
    )


@contextmanager
def speaking(endpoint: ScriptedModel, session: str, caller: VoicedCaller) -> Iterator[None]:
    """Let a caller answer what its bot asks a model of this process.

    Args:
        endpoint: Where the bot asks.
        session: The session in its address.
        caller: Answers.
    """
    from pytest_voiceeval.bots.completions import ApiError
    from pytest_voiceeval.call.errors import CallError

    async def mind(messages: list[dict[str, Any]]) -> Reply:
        try:
            return _as_reply(await caller.think(messages), messages)
        except CallError as error:
            # a status after which nobody asks again; the call ends by the error itself
            raise ApiError(400, error.code, str(error)) from None

    endpoint.attend(session, mind)
    try:
        yield
    finally:
        endpoint.forget(session)


def _as_reply(said: Any, messages: list[dict[str, Any]]) -> Reply:
    """What a caller does, as a model answers it."""
    from pytest_voiceeval.bots.script_player import Reply, position_of
    from pytest_voiceeval.call.caller import HangUp, Say
    from pytest_voiceeval.scenario.dialogue import ToolCall

    at = position_of(messages)
    match said:
        case Say(text=text):
            return Reply(at.turn, at.step, text)
        case HangUp(last_words=words):
            return Reply(at.turn, at.step, words or "", (ToolCall("end_conversation", {}),))
    return Reply(at.turn, at.step)
