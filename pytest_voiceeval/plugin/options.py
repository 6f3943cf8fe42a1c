"""Command-line options, their ini keys, and the settings they resolve to.

Precedence, for every option: command line, marker, fixture, ini, default. Markers and
fixtures are applied by `runtime.settings_for`; this module covers the rest.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.plugin import audio_options, editions, judge_options, model_options
from pytest_voiceeval.plugin.option import Option

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_voiceeval.plugin.audio_options import AudioSettings
    from pytest_voiceeval.plugin.judge_options import JudgeSettings
    from pytest_voiceeval.plugin.model_agent import AgentModel
    from pytest_voiceeval.plugin.model_options import ModelSettings

GROUP = "voiceeval"
FAULTS = (
    "wrong-field",
    "missing-call",
    "extra-write",
    "never-exits",
    "hangs",
    "crashes",
    "do-nothing",
    "garbage",
)


OPTIONS: tuple[Option, ...] = (
    Option(
        "--domain",
        "linelist",
        "Run every scenario of this domain (repeatable). `voiceeval list` shows them.",
        metavar="NAME",
        extra={"action": "append"},
    ),
    Option(
        "--scenarios",
        "linelist",
        "Run these scenarios, e.g. eva_airline::1_1_3 or eva_airline__1_1_3.",
        metavar="NAME",
        extra={"action": "extend", "nargs": "+"},
    ),
    *editions.OPTIONS,
    Option(
        "--agent-url",
        "linelist",
        "Connect to a running agent (ws:// or wss://; repeatable: several are a pool). "
        "{session} in the URL marks a bot that serves many calls at once.",
        metavar="URL",
        extra={"action": "append"},
    ),
    Option(
        "--agent-cmd",
        "string",
        "Start the agent with this command, one per worker. {port} and WEBSOCKET_PORT hold the "
        "port to listen on, {model_url} the URL of the scripted model.",
        metavar="CMD",
    ),
    Option(
        "--user-url",
        "linelist",
        "Connect to a running caller bot instead of the built-in caller (repeatable).",
        metavar="URL",
        extra={"action": "append"},
    ),
    Option(
        "--user-cmd",
        "string",
        "Start a caller bot with this command; the placeholders of --agent-cmd apply.",
        metavar="CMD",
    ),
    Option(
        "--caller-url",
        "string",
        "Let a language model call the agent: base URL of an OpenAI-compatible API.",
        metavar="URL",
    ),
    Option("--caller-model", "string", "The model of --caller-url.", metavar="NAME"),
    Option(
        "--caller-api-key-name",
        "string",
        "Environment variable that holds the key for --caller-url (default: no key is sent).",
        metavar="VARIABLE",
    ),
    Option(
        "--caller-temperature",
        "float",
        "Sampling temperature of the caller's model (default: left to the endpoint).",
        metavar="X",
    ),
    Option(
        "--caller-seed",
        "int",
        "Seed of the caller's model (default: left to the endpoint).",
        metavar="N",
    ),
    Option(
        "--caller-max-tokens",
        "int",
        "Most tokens of one answer of the caller's model (default: left to the endpoint).",
        metavar="N",
    ),
    Option(
        "--caller-rpm",
        "int",
        "Most requests to --caller-url in any minute, over all workers together.",
        metavar="N",
    ),
    Option(
        "--agent-fault",
        "string",
        "Make the stock agent commit this fault, to see what a red run looks like.",
        metavar="FAULT",
        extra={"choices": FAULTS},
    ),
    Option(
        "--script",
        "string",
        "JSON file of tool calls per record; the stock agent makes them between plain lines.",
        metavar="FILE",
    ),
    Option(
        "--single-connection",
        "bool",
        "Set up and talk on one connection, for bots that forget between connections.",
        default=False,
    ),
    Option(
        "--duration",
        "float",
        "End each call after this many seconds (default: the scenario's own limit).",
        metavar="SECONDS",
    ),
    Option(
        "--min-agent-turns",
        "int",
        "Fail a call with fewer agent turns as stalled; 0 turns this off (default: 3).",
        metavar="N",
        default=3,
    ),
    Option(
        "--strict-match",
        "bool",
        "Actions beyond the reference answer fail is_action_match.",
        default=False,
    ),
    Option(
        "--voice-concurrency",
        "int",
        "Hold up to N calls at once in each process (default: as many as the bots take; 1 for a "
        "bot of one client, 16 for one that serves many calls).",
        metavar="N",
    ),
    Option(
        "--voice-output",
        "string",
        "Folder for the results of the run (default: eval_results/eval_<timestamp>).",
        metavar="DIR",
    ),
    *model_options.OPTIONS,
    *audio_options.OPTIONS,
    *judge_options.OPTIONS,
)


NAMING_A_BOT = (
    "voiceeval_agent_url",
    "voiceeval_agent_cmd",
    "voiceeval_agent_model",
    "voiceeval_agent_fault",
    "voiceeval_user_url",
    "voiceeval_user_cmd",
    "voiceeval_caller_url",
)
"""Options that say which bot to call; on the command line they beat the bot fixtures."""


_ALTERNATIVES = (
    (
        ("--agent-url",),
        ("--agent-cmd",),
        ("--agent-fault",),
        tuple(option.flag for option in model_options.OPTIONS if "--agent-" in option.flag),
    ),
    (
        ("--user-url",),
        ("--user-cmd",),
        tuple(option.flag for option in OPTIONS if "--caller-" in option.flag),
    ),
)
"""Ways to say who talks, one list a side: one on the command line replaces another's ini keys."""


@dataclass(frozen=True, slots=True, repr=False)
class Settings:
    """What one run was asked to do. Paths are absolute, durations in seconds."""

    domain: tuple[str, ...]
    scenarios: tuple[str, ...]
    edition: str | None
    agent_url: tuple[str, ...]
    agent_cmd: str | None
    user_url: tuple[str, ...]
    user_cmd: str | None
    caller_url: str | None
    caller_model: str | None
    caller_api_key_name: str | None
    caller_temperature: float | None
    caller_seed: int | None
    caller_max_tokens: int | None
    caller_rpm: int | None
    agent_fault: str | None
    script: Path | None
    single_connection: bool
    duration: float | None
    min_agent_turns: int
    strict_match: bool
    voice_concurrency: int | None
    voice_output: Path | None
    models: ModelSettings
    audio: AudioSettings
    judge: JudgeSettings

    def __repr__(self) -> str:
        """Without the secrets that addresses and commands may hold: tracebacks show variables."""
        from pytest_voiceeval.report.redact import redact_value

        return f"Settings({redact_value(asdict(self))!r})"

    @property
    def agent_model(self) -> AgentModel | None:
        """The language model that the stock agent is, None for the scripted one."""
        return self.models.agent


def add_options(parser: pytest.Parser) -> None:
    """Register every option and its ini key in the group `voiceeval`."""
    group = parser.getgroup(GROUP, "voice agent evaluation (voiceeval)")
    for option in OPTIONS:
        arguments = {"dest": option.dest, "default": None, **_argument(option)}
        try:
            group.addoption(option.flag, **arguments)
        except argparse.ArgumentError:  # another plugin has it: ours goes by its long name
            group.addoption("--" + option.dest.replace("_", "-"), **arguments)
        # argparse metavars and % signs have no place in an ini help text
        parser.addini(option.dest, f"Ini key of {option.flag}.", type=option.kind, default=None)


def _argument(option: Option) -> dict[str, Any]:
    if option.kind == "bool":
        return {"action": "store_true", "help": option.help}
    argument: dict[str, Any] = {"help": option.help, "metavar": option.metavar, **option.extra}
    if option.kind in {"int", "float"}:
        argument["type"] = {"int": int, "float": float}[option.kind]
    return argument


def read_settings(config: pytest.Config) -> Settings:
    """Resolve command line, ini and defaults; raise `pytest.UsageError` on a bad value."""
    values = {option.flag: _value(config, option) for option in OPTIONS}
    values |= dict.fromkeys(_beaten(config))
    values["--judge"] = judge_options.is_on(config, values)
    _check(values)
    base = config.invocation_params.dir
    return Settings(
        domain=tuple(values["--domain"] or ()),
        scenarios=tuple(values["--scenarios"] or ()),
        edition=values["--edition"],
        agent_url=tuple(values["--agent-url"] or ()),
        agent_cmd=values["--agent-cmd"],
        user_url=tuple(values["--user-url"] or ()),
        user_cmd=values["--user-cmd"],
        caller_url=values["--caller-url"],
        caller_model=values["--caller-model"],
        caller_api_key_name=values["--caller-api-key-name"],
        caller_temperature=values["--caller-temperature"],
        caller_seed=values["--caller-seed"],
        caller_max_tokens=values["--caller-max-tokens"],
        caller_rpm=values["--caller-rpm"],
        agent_fault=values["--agent-fault"],
        script=_path(base, values["--script"]),
        single_connection=values["--single-connection"],
        duration=values["--duration"],
        min_agent_turns=values["--min-agent-turns"],
        strict_match=values["--strict-match"],
        voice_concurrency=values["--voice-concurrency"],
        voice_output=_path(base, values["--voice-output"]),
        models=model_options.read(values, base),
        audio=audio_options.read(values, base),
        judge=judge_options.read(values, base),
    )


def _beaten(config: pytest.Config) -> set[str]:
    """Flags whose ini keys do not count, because the command line names somebody else."""
    given = {option.flag for option in OPTIONS if config.getoption(option.dest) is not None}
    return {
        flag
        for ways in _ALTERNATIVES
        for way in ways
        if any(not given.isdisjoint(other) for other in ways if other is not way)
        for flag in way
        if flag not in given
    }


def _value(config: pytest.Config, option: Option) -> Any:
    given = config.getoption(option.dest)
    if given is not None:
        return given
    try:
        from_ini = config.getini(option.dest)
    except (TypeError, ValueError, pytest.UsageError) as error:  # by version of pytest
        raise pytest.UsageError(f"ini key {option.dest}: {error}") from error
    if from_ini in (None, "", []):
        return option.default
    choices = option.extra.get("choices")
    if choices and from_ini not in choices:
        raise pytest.UsageError(
            f"ini key {option.dest}: {from_ini!r} is not one of {', '.join(choices)}"
        )
    return from_ini


def _path(base: Path, text: str | None) -> Path | None:
    return None if text is None else (base / text).absolute()


def problem_of_limits(duration: Any, min_agent_turns: Any) -> str | None:
    """What is wrong with the limits of a call, by option or by marker; None if nothing is."""
    # the comparison is written so that NaN fails it
    if duration is not None and not (_is_number(duration) and 0 < duration < float("inf")):
        return f"duration must be a positive number of seconds, not {duration}"
    if not _is_number(min_agent_turns) or min_agent_turns < 0:
        return f"min-agent-turns must be 0 or more, not {min_agent_turns}"
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check(values: dict[str, Any]) -> None:
    _check_who_talks(values)
    problem = problem_of_limits(values["--duration"], values["--min-agent-turns"])
    if problem:
        raise pytest.UsageError("--" + problem)
    concurrency = values["--voice-concurrency"]
    if concurrency is not None and concurrency < 1:
        raise pytest.UsageError(f"--voice-concurrency must be 1 or more, not {concurrency}")
    if values["--voice-output"] is not None and not values["--voice-output"].strip():
        raise pytest.UsageError("--voice-output is empty: name the folder for the results")
    script = values["--script"]
    if script is not None and not str(script).strip():
        raise pytest.UsageError("--script is empty: give the JSON file of calls")


def _check_who_talks(values: dict[str, Any]) -> None:
    for side in ("agent", "user"):
        if values[f"--{side}-url"] and values[f"--{side}-cmd"] is not None:
            raise pytest.UsageError(
                f"--{side}-url connects to a running bot and --{side}-cmd starts one: give one"
            )
        if values[f"--{side}-cmd"] is not None and not values[f"--{side}-cmd"].strip():
            raise pytest.UsageError(f"--{side}-cmd is empty: give the command that starts the bot")
    if (values["--caller-url"] is None) != (values["--caller-model"] is None):
        raise pytest.UsageError("--caller-url and --caller-model go together: give both")
    if values["--caller-url"] is not None and (values["--user-url"] or values["--user-cmd"]):
        raise pytest.UsageError(
            "--caller-url lets a model call the agent, --user-url and --user-cmd a bot: give one"
        )
    named = bool(values["--agent-url"] or values["--agent-cmd"])
    if values["--agent-fault"] and named:
        raise pytest.UsageError(
            "--agent-fault drives the stock agent: drop --agent-url / --agent-cmd"
        )
