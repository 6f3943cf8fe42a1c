"""Options of whether a language model judges, which one, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.plugin.option import Option

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DEFAULT_KEY_NAME = "JUDGE_API_KEY"

OPTIONS: tuple[Option, ...] = (
    Option(
        "--judge",
        "bool",
        "Let a language model judge every call. --judge-url on the command line and -m judge turn "
        "it on, too.",
        default=False,
    ),
    Option(
        "--judge-url",
        "string",
        "Chat completions of the judge, an OpenAI-compatible API such as http://HOST/v1.",
        metavar="URL",
    ),
    Option("--judge-model", "string", "The model of --judge-url.", metavar="NAME"),
    Option(
        "--judge-api-key-name",
        "string",
        "Environment variable that holds the key for --judge-url (default: JUDGE_API_KEY, if set).",
        metavar="VARIABLE",
    ),
    Option(
        "--judge-threshold",
        "float",
        "Score from which judge_passed holds (default: 0.9).",
        metavar="X",
        default=0.9,
    ),
    Option(
        "--judge-timeout",
        "float",
        "Most seconds of one request to the judge (default: 120).",
        metavar="SECONDS",
        default=120.0,
    ),
    Option(
        "--judge-max-tokens",
        "int",
        "Most tokens of one answer of the judge, with its thinking (default: the endpoint's).",
        metavar="N",
    ),
    Option(
        "--judge-thinking-token-budget",
        "int",
        "Sent as thinking_token_budget (default: not sent).",
        metavar="N",
    ),
    Option(
        "--judge-temperature",
        "float",
        "Sampling temperature of the judge (default: left to the endpoint).",
        metavar="X",
    ),
    Option(
        "--judge-top-p",
        "float",
        "Nucleus sampling of the judge (default: left to the endpoint).",
        metavar="X",
    ),
    Option(
        "--judge-seed",
        "int",
        "Seed of the judge (default: left to the endpoint).",
        metavar="N",
    ),
    Option(
        "--judge-include-conversation",
        "bool",
        "Show the judge the transcript, too (default: only if the agent's context is unknown).",
        default=False,
    ),
    Option(
        "--judge-compact-context",
        "bool",
        "Shorten the context histories that the judge is shown, and say so.",
        default=False,
    ),
    Option(
        "--judge-context-message-limit",
        "int",
        "Messages kept of a history by --judge-compact-context (default: 40).",
        metavar="N",
    ),
    Option(
        "--judge-context-system-string-limit",
        "int",
        "Characters kept of a system message by --judge-compact-context (default: 2500).",
        metavar="N",
    ),
    Option(
        "--judge-context-string-limit",
        "int",
        "Characters kept of any other text by --judge-compact-context (default: 6000).",
        metavar="N",
    ),
    Option(
        "--judge-concurrency",
        "int",
        "Calls that are judged at once, in each process (default: 8).",
        metavar="N",
        default=8,
    ),
)

_NUMBERS = (
    *("threshold", "timeout", "thinking_token_budget", "max_tokens", "temperature", "top_p"),
    *("seed", "concurrency", "context_message_limit", "context_system_string_limit"),
    "context_string_limit",
)
_WORDS = ("url", "model", "api_key_name")


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """What the options of this module come to; None leaves a number to the endpoint.

    Attributes:
        on: Whether calls are judged, see `is_on`.
        url: Where the judge is, None if no option says so.
        model: Its model.
        api_key_name: The variable of its key, None if no option names one.
        threshold: Score from which a call passes.
        timeout: Seconds for one request.
        thinking_token_budget: Sent as it is.
        max_tokens: Of one answer.
        temperature: Of sampling.
        top_p: Of sampling.
        seed: Of sampling.
        include_conversation: Whether the transcript is shown beside a context history.
        compact_context: Whether the histories are shortened.
        context_message_limit: How far, in messages.
        context_system_string_limit: How far, in characters of a system message.
        context_string_limit: How far, in characters of any other text.
        concurrency: Calls judged at once.
    """

    on: bool = False
    url: str | None = None
    model: str | None = None
    api_key_name: str | None = None
    threshold: float = 0.9
    timeout: float = 120.0
    thinking_token_budget: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    include_conversation: bool = False
    compact_context: bool = False
    context_message_limit: int | None = None
    context_system_string_limit: int | None = None
    context_string_limit: int | None = None
    concurrency: int = 8


def is_on(config: pytest.Config, values: Mapping[str, Any]) -> bool:
    """Whether this run is judged.

    By `--judge`, here or in the ini file, by `--judge-url` on the command line, or by `-m judge`.
    An address in the ini file only says where the judge is.
    """
    if values["--judge"] or config.getoption("voiceeval_judge_url") is not None:
        return True
    expression = getattr(config.option, "markexpr", "")
    if not expression:
        return False
    from pytest_voiceeval.plugin.judge_marks import asks_for_judge

    return asks_for_judge(expression)


def read(values: Mapping[str, Any], base: Path) -> JudgeSettings:  # noqa: ARG001 - as its siblings
    """Return the settings of `values` by flag; relative paths are below `base`.

    Raises:
        pytest.UsageError: A value cannot be used; the text names the option.
    """
    from pytest_voiceeval.judge.numbers import validate_judge_numeric_options

    names = [option.flag.removeprefix("--judge-").replace("-", "_") for option in OPTIONS[1:]]
    given = {name: values[f"--judge-{name.replace('_', '-')}"] for name in names}
    try:
        validate_judge_numeric_options(**{f"judge_{name}": given[name] for name in _NUMBERS})
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    for name in _WORDS:
        if given[name] is not None and not given[name].strip():
            flag = f"--judge-{name.replace('_', '-')}"
            raise pytest.UsageError(f"{flag} is empty: give a value, or leave it out")
    return JudgeSettings(on=values["--judge"], **given)
