"""The caller that a language model plays, as the options describe it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_voiceeval.call.caller_model import CallerModel
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
