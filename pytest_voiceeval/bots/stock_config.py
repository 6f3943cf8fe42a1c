"""How a stock bot is set up: command line first, then the file of `SERVER_CONFIG_PATH`."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

from pytest_voiceeval.bots.speech.config import SpeechConfig, SpeechError, read_speech
from pytest_voiceeval.data.artifacts import load_yaml
from pytest_voiceeval.wire.secret import Secret, problem_of_key, secrets_in_query
from pytest_voiceeval.wire.urls import is_loopback, mask_url

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

T = TypeVar("T")

CONFIG_VARIABLE = "SERVER_CONFIG_PATH"
PORT_VARIABLE = "WEBSOCKET_PORT"
ROLES = ("agent", "user")
FAULTS = ("crashes", "garbage")
MODALITIES = ("text", "audio")
LOG_LEVELS = ("TRACE", "DEBUG", "INFO", "WARNING", "ERROR")
NO_KEY = "not-needed"
"""What an endpoint without authentication is given. Never OPENAI_API_KEY by itself: the key must
not travel to whatever address `--llm-url` names."""

PROMPTS = {
    "agent": "You answer the phone for a company. Be brief and friendly.",
    "user": "You are calling a company on the phone. Be brief and friendly.",
}
"""What the bot is before a harness tells it."""


class ConfigError(Exception):
    """The bot cannot be set up like this; the text names the option or key at fault."""


@dataclass(frozen=True)
class ModelConfig:
    """Where the model is and how it is asked. None leaves a parameter to the endpoint.

    Attributes:
        url: Base URL of an OpenAI-compatible API; `{session}` stands for the session's id.
        name: The model's name.
        api_key: Sent as bearer token.
        temperature: Sampling temperature, 0 to 2.
        top_p: Nucleus sampling, 0 to 1.
        seed: Random seed.
        max_tokens: Most tokens of a reply.
        call_timeout: Seconds after which a function call is given up.
        tools: Whether the model may call tools.
        offline: Whether a model beyond this machine is refused, and no proxy is used.
    """

    url: str = field(repr=False)
    name: str = "default"
    api_key: str = field(default=NO_KEY, repr=False)
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    call_timeout: float = 10.0
    tools: bool = True
    offline: bool = False

    def url_for(self, session: str) -> str:
        """The base URL for one session, without a query."""
        base = self.url.partition("?")[0].rstrip("/").removesuffix("/chat/completions")
        return base.replace("{session}", quote(session, safe=""))

    @property
    def query(self) -> dict[str, str]:
        """Parameters of the URL, which go with every request."""
        return dict(parse_qsl(urlsplit(self.url).query))

    @property
    def shown_url(self) -> str:
        """The address as a message may show it."""
        return mask_url(self.url)

    @property
    def secrets(self) -> list[Secret]:
        """What no message may show: the key, and the values in the URL's query."""
        key = [] if self.api_key == NO_KEY else [Secret(self.api_key)]
        return [*key, *secrets_in_query(self.url)]


@dataclass(frozen=True)
class BotConfig:
    """A stock bot.

    Attributes:
        model: Its model.
        role: `agent` or `user`.
        host: Address it listens on.
        port: Port; 0 lets the system choose.
        system_prompt: What the context starts with, until `update_system_prompt`.
        system_role: Role of the prompt's message.
        system_prompt_suffix: For `update_system_prompt` with `add_suffix`.
        talk_first: Whether it speaks as soon as a client is ready.
        session_ttl: Seconds a session without a client is kept.
        max_sessions: Most sessions kept at once.
        log_level: Lowest level that is logged.
        log_file: File for the log, beside stderr.
        fault: None, or how it misbehaves: `crashes`, `garbage`.
        speech: How it hears and speaks; None for text only.
    """

    model: ModelConfig
    role: str = "agent"
    host: str = "127.0.0.1"
    port: int = 0
    system_prompt: str = PROMPTS["agent"]
    system_role: str = "system"
    system_prompt_suffix: str = ""
    talk_first: bool = False
    session_ttl: float = 900.0
    max_sessions: int = 1000
    log_level: str = "INFO"
    log_file: Path | None = None
    fault: str | None = None
    speech: SpeechConfig | None = None

    @property
    def secrets(self) -> list[Secret]:
        """What no message may show: keys of the model and of the voice."""
        return [*self.model.secrets, *(self.speech.secrets if self.speech else ())]


def parse_config(argv: Sequence[str], environ: Mapping[str, str] = os.environ) -> BotConfig:
    """Read the command line and the configuration file.

    Args:
        argv: Arguments without the program's name.
        environ: Environment variables.

    Raises:
        ConfigError: Something is missing or of the wrong type; the file cannot be used.
        SystemExit: argparse refused the command line (2), or `--help` (0).
    """
    options = _parser().parse_args(argv)
    file = _ConfigFile.read(environ.get(CONFIG_VARIABLE))
    return BotConfig(
        model=_model(options, file, environ),
        role=options.role,
        host=options.host,
        port=options.port if options.port is not None else _port(environ.get(PORT_VARIABLE, "0")),
        system_prompt=file.get("llm.system_prompt", str, PROMPTS[options.role]),
        system_role=file.get("llm.system_role", str, "system"),
        system_prompt_suffix=file.get("llm.system_prompt_suffix", str, ""),
        talk_first=file.get("server.talk_first", bool, default=False),
        session_ttl=options.session_ttl,
        max_sessions=options.max_sessions,
        log_level=_log_level(options.log_level or file.get("server.log_level", str, "INFO")),
        log_file=_path(file.get("server.log_file", str, "")),
        fault=options.fault,
        speech=_speech(file, environ) if options.modality == "audio" else None,
    )


def _speech(file: _ConfigFile, environ: Mapping[str, str]) -> SpeechConfig:
    """How the bot hears and speaks; its services are tried, so that a wrong one ends it here."""
    try:
        speech = read_speech(file, file.sections, environ)
        for service in (speech.stt, speech.tts):
            service.check()
    except SpeechError as error:
        raise ConfigError(f"{file.path or CONFIG_VARIABLE}: {error}") from error
    return speech


def _model(
    options: argparse.Namespace, file: _ConfigFile, environ: Mapping[str, str]
) -> ModelConfig:
    url = options.llm_url or file.get("llm.base_url", str, "")
    if not url.startswith(("http://", "https://")):
        raise ConfigError(
            f"the model's address must be an http(s) URL, got {mask_url(url)!r}; pass --llm-url "
            f"URL or set llm.base_url in the file of {CONFIG_VARIABLE}"
        )
    if options.offline and not is_loopback(url):
        raise ConfigError(f"--offline: the model at {mask_url(url)} is not on this machine")
    return ModelConfig(
        url=url,
        name=options.model or file.get("llm.model", str, "default"),
        api_key=_api_key(options.api_key_name, file, environ),
        temperature=_first(options.temperature, file.get("llm.temperature", float, None)),
        top_p=_first(options.top_p, file.get("llm.top_p", float, None)),
        seed=options.seed,
        max_tokens=_first(options.max_tokens, file.get("llm.max_new_tokens", int, None)),
        call_timeout=file.get("llm.function_call_timeout_secs", float, 10.0),
        tools=file.get("llm.enable_tool_calling", bool, default=True),
        offline=options.offline,
    )


def _api_key(name: str | None, file: _ConfigFile, environ: Mapping[str, str]) -> str:
    if name is None:
        return file.get("llm.api_key", str, "") or NO_KEY
    problem = problem_of_key(environ.get(name))
    if problem:
        raise ConfigError(f"--api-key-name: the environment variable {name} {problem}")
    return environ[name].strip()


def _first(*values: T | None) -> T | None:
    return next((value for value in values if value is not None), None)


def _path(text: str) -> Path | None:
    return Path(text) if text else None


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError:
        port = -1
    if not 0 <= port <= 65535:
        raise ConfigError(f"{PORT_VARIABLE} must be a port, 0 to 65535, got {text!r}")
    return port


def _log_level(name: str) -> str:
    if name.upper() not in LOG_LEVELS:
        raise ConfigError(f"log level {name!r} is none of {', '.join(LOG_LEVELS)}")
    return name.upper()


@dataclass(frozen=True)
class _ConfigFile:
    """The sections of a configuration file; keys it has that we do not know are ignored."""

    path: str
    sections: Mapping[str, Any]

    @classmethod
    def read(cls, path: str | None) -> _ConfigFile:
        if not path:
            return cls("", {})
        try:
            content = load_yaml(path)
        except (OSError, ValueError) as error:
            raise ConfigError(f"{CONFIG_VARIABLE}: {error}") from error
        if not isinstance(content, dict):
            kind = type(content).__name__
            raise ConfigError(f"{path}: expected sections such as `llm:`, got {kind}")
        return cls(path, content)

    def get(self, key: str, kind: type, default: Any = None) -> Any:
        """The value at `section.name`; null and absent are the default."""
        section, name = key.split(".")
        values = self.sections.get(section) or {}
        if not isinstance(values, dict):
            raise ConfigError(f"{self.path}: `{section}` must be a section of keys")
        value = values.get(name)
        if value is None:
            return default
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is not kind:
            got = f"{type(value).__name__} {value!r}"
            shown = type(value).__name__ if "key" in name else got  # a key stays out of messages
            raise ConfigError(f"{self.path}: {key} must be {_WORDS[kind]}, got {shown}")
        return value


_WORDS: Mapping[type, str] = {
    str: "a text",
    float: "a number",
    int: "a whole number",
    bool: "true or false",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="voiceeval bot",
        description="Serve a Pipecat bot over WebSocket, at /ws/SESSION and /ws.",
        epilog=f"{PORT_VARIABLE} is the default of --port; {CONFIG_VARIABLE} names a YAML file "
        "with sections `llm`, `server`, `stt`, `tts`, `vad`, `turn_taking`, `transport`, which the "
        "command line overrules.",
    )
    add = parser.add_argument
    add("--role", choices=ROLES, required=True, help="the part the bot plays")
    add("--modality", choices=MODALITIES, default="text", help="what it answers in (%(default)s)")
    add("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    add("--port", type=_checked(int, 0, 65535), help="port to listen on (0: any)")
    add("--llm-url", metavar="URL", help="OpenAI-compatible API; may hold {session}")
    add("--model", metavar="NAME", help="name of the model")
    add("--api-key-name", metavar="VARIABLE", help="environment variable that holds the API key")
    add("--temperature", type=_checked(float, 0, 2))
    add("--top-p", type=_checked(float, 0, 1))
    add("--seed", type=int)
    add("--max-tokens", type=_checked(int, 1, 10**9))
    add("--session-ttl", type=_checked(float, 0, 10**9), default=900.0, metavar="SECONDS")
    add("--max-sessions", type=_checked(int, 1, 10**9), default=1000, metavar="N")
    add("--offline", action="store_true", help="refuse a model beyond this machine")
    add("--log-level", choices=LOG_LEVELS, type=str.upper)
    add("--fault", choices=FAULTS, help="misbehave on purpose, to test a harness")
    return parser


def _checked(kind: Callable[[str], Any], low: float, high: float) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        value = kind(text)
        if not low <= value <= high:  # also refuses NaN
            raise argparse.ArgumentTypeError(f"{text} is not between {low} and {high}")
        return value

    parse.__name__ = kind.__name__  # argparse names it in "invalid float value"
    return parse
