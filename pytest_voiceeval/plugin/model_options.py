"""Options of which language models speak, what they may cost, and what may be reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.plugin.option import Option

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_voiceeval.plugin.model_agent import AgentModel

OPTIONS: tuple[Option, ...] = (
    Option(
        "--agent-model",
        "string",
        "Let the stock agent be this language model, with the scenario's tools; goes with "
        "--agent-llm-url.",
        metavar="NAME",
    ),
    Option(
        "--agent-llm-url",
        "string",
        "Base URL of the OpenAI-compatible API of --agent-model.",
        metavar="URL",
    ),
    Option(
        "--agent-api-key-name",
        "string",
        "Environment variable that holds the key for --agent-llm-url (default: no key is sent).",
        metavar="VARIABLE",
    ),
    Option(
        "--agent-temperature",
        "float",
        "Sampling temperature of the agent's model (default: left to the endpoint).",
        metavar="X",
    ),
    Option(
        "--agent-seed",
        "int",
        "Seed of the agent's model (default: left to the endpoint).",
        metavar="N",
    ),
    Option(
        "--agent-max-tokens",
        "int",
        "Most tokens of one answer of the agent's model (default: left to the endpoint).",
        metavar="N",
    ),
    Option(
        "--agent-rpm",
        "int",
        "Most requests to --agent-llm-url in any minute, over all workers together.",
        metavar="N",
    ),
    Option(
        "--price-table",
        "linelist",
        "TOML file of model prices, looked at before the shipped table (repeatable).",
        metavar="FILE",
        extra={"action": "append"},
    ),
    Option(
        "--max-cost",
        "float",
        "Start no call that could make the run's models cost more than this, in US dollars.",
        metavar="DOLLARS",
    ),
    Option(
        "--voice-offline",
        "bool",
        "Refuse any connection beyond this machine: bots, models, judge.",
        default=False,
    ),
)

_RANGES: Mapping[str, tuple[float, float]] = {
    "--agent-temperature": (0, 2),
    "--agent-max-tokens": (1, 10**9),
    "--agent-rpm": (1, 10**6),
    "--caller-temperature": (0, 2),
    "--caller-max-tokens": (1, 10**9),
    "--caller-rpm": (1, 10**6),
}
_URLS = ("--agent-url", "--user-url", "--caller-url", "--agent-llm-url", "--judge-url")


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What the options of this module come to.

    Attributes:
        agent: The model that the stock agent is, None for the scripted one.
        agent_rpm: Most requests to it in any minute, None for no limit.
        price_tables: The user's own, absolute.
        max_cost: Dollars that the run's models may cost, None for no limit.
        offline: Whether nothing beyond this machine may be connected to.
    """

    agent: AgentModel | None = None
    agent_rpm: int | None = None
    price_tables: tuple[Path, ...] = ()
    max_cost: float | None = None
    offline: bool = False


def read(values: Mapping[str, Any], base: Path) -> ModelSettings:
    """Return the settings of `values` by flag; relative paths are below `base`.

    Raises:
        pytest.UsageError: A value cannot be used; the text names the option.
    """
    _check_ranges(values)
    settings = ModelSettings(
        agent=_agent(values),
        agent_rpm=values["--agent-rpm"],
        price_tables=tuple((base / name).absolute() for name in values["--price-table"] or ()),
        max_cost=values["--max-cost"],
        offline=values["--voice-offline"],
    )
    if settings.offline:
        _refuse_distant(values)
    if settings.max_cost is not None or settings.price_tables:
        _check_prices(settings, values)
    return settings


def _agent(values: Mapping[str, Any]) -> AgentModel | None:
    model, url = values["--agent-model"], values["--agent-llm-url"]
    if model is None and url is None:
        _refuse_alone(values)
        return None
    if model is None or url is None:
        raise pytest.UsageError("--agent-model and --agent-llm-url go together: give both")
    _refuse_two_agents(values)
    _check_agent(values)
    from pytest_voiceeval.plugin.model_agent import AgentModel

    return AgentModel(
        url=url,
        model=model,
        api_key_env=values["--agent-api-key-name"],
        temperature=values["--agent-temperature"],
        seed=values["--agent-seed"],
        max_tokens=values["--agent-max-tokens"],
    )


def _check_ranges(values: Mapping[str, Any]) -> None:
    for flag, (low, high) in _RANGES.items():
        value = values[flag]
        if value is not None and not low <= value <= high:  # NaN fails it
            raise pytest.UsageError(f"{flag} must be between {low} and {high}, not {value}")


def _refuse_alone(values: Mapping[str, Any]) -> None:
    alone = {"--agent-model", "--agent-llm-url"}
    for flag in (option.flag for option in OPTIONS if "--agent-" in option.flag):
        if flag not in alone and values[flag] is not None:
            raise pytest.UsageError(f"{flag} is about a model: give --agent-model, too")


def _refuse_two_agents(values: Mapping[str, Any]) -> None:
    others = {
        "--agent-url": "connects to an agent that runs",
        "--agent-cmd": "starts an agent of yours",
        "--agent-fault": "makes the scripted agent fail",
        "--script": "tells the scripted agent what to do",
    }
    for flag, what in others.items():
        if values[flag]:
            raise pytest.UsageError(
                f"--agent-model lets a language model be the agent and {flag} {what}: give one"
            )


def _check_agent(values: Mapping[str, Any]) -> None:
    from pytest_voiceeval.wire.urls import mask_url, problem_of_http_url

    url = values["--agent-llm-url"]
    problem = problem_of_http_url(url)
    if problem:
        raise pytest.UsageError(
            f"--agent-llm-url: {mask_url(url)!r} is no address of a model: {problem}; "
            "expected http://HOST:PORT/v1 or https://HOST/v1"
        )
    if not values["--agent-model"].strip():
        raise pytest.UsageError("--agent-model is empty: give the name of the model")
    if values["--agent-rpm"] is not None and _calls_by_itself(values):
        raise pytest.UsageError(
            "--agent-rpm lets the caller wait before it speaks, which in a call with sound only "
            "the caller of --caller-url can: give that, or leave --agent-rpm out and limit "
            "--voice-concurrency"
        )


def _calls_by_itself(values: Mapping[str, Any]) -> bool:
    """Whether the caller is a bot that speaks whenever it likes."""
    return values.get("--modality") == "audio" and values.get("--caller-url") is None


def _refuse_distant(values: Mapping[str, Any]) -> None:
    from pytest_voiceeval.plugin.offline import problem_offline

    for flag in _URLS:
        given = values.get(flag)
        for url in (given if isinstance(given, list | tuple) else [given]) if given else ():
            problem = problem_offline(url, flag)
            if problem:
                raise pytest.UsageError(problem)


def _check_prices(settings: ModelSettings, values: Mapping[str, Any]) -> None:
    """Refuse tables that cannot be used, and a limit that nobody could keep."""
    from pytest_voiceeval.call.prices import PriceError, load_price_table
    from pytest_voiceeval.wire.urls import mask_url

    limit = settings.max_cost
    if limit is not None and not 0 < limit < float("inf"):  # NaN fails it
        raise pytest.UsageError(f"--max-cost must be a positive number of dollars, not {limit:g}")
    try:
        table = load_price_table(*settings.price_tables)
    except PriceError as error:
        raise pytest.UsageError(f"--price-table: {error}") from None
    for side in ("agent", "caller"):
        model = values[f"--{side}-model"]
        url = values["--agent-llm-url" if side == "agent" else "--caller-url"]
        if limit is not None and model and url and table.find(model, url) is None:
            raise pytest.UsageError(
                f"--max-cost: there is no price of {model!r} at {mask_url(url)} (--{side}-model); "
                "add it to a file and give that with --price-table FILE"
            )
