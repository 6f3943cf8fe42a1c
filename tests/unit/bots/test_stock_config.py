"""How a stock bot is configured: command line, file, environment; and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.bots.stock_config import (
    PROMPTS,
    BotConfig,
    ConfigError,
    ModelConfig,
    parse_config,
)

URL = "http://127.0.0.1:8000/v1"
MINIMAL = ["--role", "agent", "--llm-url", URL]


def parse(options: list[str], environ: dict[str, str] | None = None) -> BotConfig:
    return parse_config(options, environ or {})


@pytest.fixture
def config_file(tmp_path: Path) -> Any:
    def write(text: str) -> dict[str, str]:
        file = tmp_path / "bot.yaml"
        file.write_text(text)
        return {"SERVER_CONFIG_PATH": str(file)}

    return write


def test_defaults() -> None:
    assert parse(MINIMAL) == BotConfig(ModelConfig(URL), system_prompt=PROMPTS["agent"])


def test_command_line() -> None:
    options = "--role user --host ::1 --port 8766 --llm-url https://x/{session}/v1 --model m"
    options += " --temperature 0.5 --top-p 0.9 --seed 3 --max-tokens 100 --session-ttl 5"
    options += " --max-sessions 2 --log-level debug --fault garbage"
    model = ModelConfig(
        "https://x/{session}/v1", "m", temperature=0.5, top_p=0.9, seed=3, max_tokens=100
    )
    assert parse(options.split()) == BotConfig(
        model,
        "user",
        "::1",
        8766,
        system_prompt=PROMPTS["user"],
        session_ttl=5.0,
        max_sessions=2,
        log_level="DEBUG",
        fault="garbage",
    )


def test_file(config_file: Any, tmp_path: Path) -> None:
    environ = config_file(
        """
        server: {log_level: WARNING, log_file: bot.log, talk_first: true, use_model_registry: no}
        stt: {type: nemo}
        llm:
          type: vllm
          base_url: http://x/v1
          model: big
          api_key: secret
          temperature: 1
          top_p: 0.5
          max_new_tokens: 500
          system_prompt: hello
          system_prompt_suffix: /no_think
          system_role: developer
          enable_tool_calling: false
          function_call_timeout_secs: 3
        """
    )
    model = ModelConfig("http://x/v1", "big", "secret", 1.0, 0.5, None, 500, 3.0, tools=False)
    assert parse(["--role", "user"], environ) == BotConfig(
        model,
        "user",
        system_prompt="hello",
        system_role="developer",
        system_prompt_suffix="/no_think",
        talk_first=True,
        log_level="WARNING",
        log_file=Path("bot.log"),
    )


def test_command_line_overrules_the_file(config_file: Any) -> None:
    environ = config_file(
        "llm: {base_url: 'http://y/v1', model: y, api_key: y, temperature: 1.0}\n"
        "server: {log_level: ERROR}"
    )
    options = ["--model", "x", "--temperature", "0", "--log-level", "INFO", "--api-key-name", "K"]
    config = parse([*MINIMAL, *options], environ | {"K": "key"})
    assert config.model == ModelConfig(URL, "x", "key", temperature=0.0)
    assert config.log_level == "INFO"


@pytest.mark.parametrize(
    ("options", "environ", "port"),
    [
        ([], {}, 0),
        ([], {"WEBSOCKET_PORT": "8765"}, 8765),
        (["--port", "1"], {"WEBSOCKET_PORT": "2"}, 1),
    ],
    ids=["any", "environment", "option-wins"],
)
def test_port(options: list[str], environ: dict[str, str], port: int) -> None:
    assert parse([*MINIMAL, *options], environ).port == port


@pytest.mark.parametrize(
    ("options", "environ", "error"),
    [
        (["--role", "agent"], {}, "http(s) URL, got ''; pass --llm-url URL or set llm.base_url"),
        (["--role", "agent", "--llm-url", "localhost:1"], {}, "http(s) URL, got 'localhost:1'"),
        (
            MINIMAL,
            {"WEBSOCKET_PORT": "http"},
            "WEBSOCKET_PORT must be a port, 0 to 65535, got 'http'",
        ),
        (MINIMAL, {"WEBSOCKET_PORT": "99999"}, "WEBSOCKET_PORT must be a port"),
        (
            [*MINIMAL, "--api-key-name", "KEY"],
            {},
            "--api-key-name: the environment variable KEY is not set or empty",
        ),
        (
            MINIMAL,
            {"SERVER_CONFIG_PATH": "/nowhere/bot.yaml"},
            "SERVER_CONFIG_PATH: /nowhere/bot.yaml",
        ),
    ],
    ids=["no-model", "model-url", "port-text", "port-range", "no-key", "no-file"],
)
def test_refusals(options: list[str], environ: dict[str, str], error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(options, environ)
    assert error in str(caught.value)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[1]", "expected sections such as `llm:`, got list"),
        ("llm: hello", "`llm` must be a section of keys"),
        ("llm: {temperature: hot}", "llm.temperature must be a number, got str 'hot'"),
        ("llm: {max_new_tokens: 1.5}", "llm.max_new_tokens must be a whole number, got float 1.5"),
        (
            "llm: {enable_tool_calling: 1}",
            "llm.enable_tool_calling must be true or false, got int 1",
        ),
        ("server: {talk_first: 'no'}", "server.talk_first must be true or false, got str 'no'"),
        ("llm: {system_prompt: 3}", "llm.system_prompt must be a text, got int 3"),
        ("server: {log_level: loud}", "log level 'loud' is none of TRACE, DEBUG"),
        ("llm: {a: 1", "SERVER_CONFIG_PATH: "),
    ],
    ids=["list", "section", "number", "whole", "bool", "yes-no", "text", "level", "yaml"],
)
def test_unusable_file(config_file: Any, text: str, error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(MINIMAL, config_file(text))
    assert error in str(caught.value)


def test_key_stays_out_of_messages_and_reprs(config_file: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(MINIMAL, config_file("llm: {api_key: [s3cret]}"))
    assert "llm.api_key must be a text, got list" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    config = parse([*MINIMAL, "--api-key-name", "K"], {"K": "s3cret"})
    assert config.model.api_key == "s3cret"
    assert "s3cret" not in repr(config)


@pytest.mark.parametrize(
    "option",
    [
        ["--temperature", "nan"],
        ["--top-p", "2"],
        ["--port", "-1"],
        ["--max-tokens", "0"],
        ["--role", "x"],
    ],
    ids=lambda option: option[0],
)
def test_command_line_out_of_range(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse([*MINIMAL, *option])
    assert caught.value.code == 2
    assert option[0] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "session", "expected"),
    [
        ("http://x/v1", "s", "http://x/v1"),
        ("http://x/{session}/v1", "s-1", "http://x/s-1/v1"),
        ("http://x/{session}/v1", "a/../b c", "http://x/a%2F..%2Fb%20c/v1"),
    ],
)
def test_url_for_a_session(url: str, session: str, expected: str) -> None:
    assert ModelConfig(url).url_for(session) == expected
