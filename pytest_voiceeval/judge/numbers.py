"""Numbers that say how to judge, checked before anything is sent."""

from __future__ import annotations

import math
from typing import Any


def validate_judge_numeric_options(  # noqa: PLR0917 - the signature is the reference's
    judge_threshold: float | None = None,
    judge_timeout: float | None = None,
    judge_thinking_token_budget: int | None = None,
    judge_context_message_limit: int | None = None,
    judge_context_system_string_limit: int | None = None,
    judge_context_string_limit: int | None = None,
    judge_max_tokens: int | None = None,
    judge_top_p: float | None = None,
    judge_temperature: float | None = None,
    judge_seed: int | None = None,
    judge_concurrency: int | None = None,
) -> None:
    """Refuse numbers that cannot be used; None is never refused.

    The last three are ours; the reference harness does not look at temperature and seed.

    Raises:
        ValueError: One is out of its range; the text names the option, such as `--judge-timeout`.
    """
    given = {"--" + name.replace("_", "-"): value for name, value in locals().items()}
    _unit_interval("--judge-threshold", given["--judge-threshold"])
    _unit_interval("--judge-top-p", given["--judge-top-p"])
    positive_seconds("--judge-timeout", given["--judge-timeout"])
    for name in (
        "--judge-thinking-token-budget",
        "--judge-context-message-limit",
        "--judge-context-system-string-limit",
        "--judge-context-string-limit",
        "--judge-max-tokens",
        "--judge-concurrency",
    ):
        positive_int(name, given[name])
    temperature = given["--judge-temperature"]
    if temperature is not None and not (_is_finite(temperature) and temperature >= 0):
        raise ValueError(f"--judge-temperature must be 0 or more, got {temperature!r}")
    seed = given["--judge-seed"]
    if seed is not None and not _is_int(seed):
        raise ValueError(f"--judge-seed must be a whole number, got {seed!r}")


def positive_int(name: str, value: Any) -> None:
    """Refuse what is no whole number above 0.

    Raises:
        ValueError: It is not; the text names it.
    """
    if value is not None and not (_is_int(value) and value > 0):
        raise ValueError(f"{name} must be a whole number above 0, got {value!r}")


def positive_seconds(name: str, value: Any) -> None:
    """Refuse what is no finite number of seconds above 0.

    Raises:
        ValueError: It is not; the text names it.
    """
    if value is not None and not (_is_finite(value) and value > 0):
        raise ValueError(f"{name} must be a finite number of seconds above 0, got {value!r}")


def _unit_interval(name: str, value: Any) -> None:
    if value is not None and not (_is_finite(value) and 0 <= value <= 1):
        raise ValueError(f"{name} must be a number from 0 to 1, got {value!r}")


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    return _is_int(value) or (isinstance(value, float) and math.isfinite(value))
