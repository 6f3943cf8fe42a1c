from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_voiceeval.bots.endpoint import BotCommandError
from pytest_voiceeval.bots.process import (
    BotCommand,
    parse_command,
    stock_bot_command,
    user_command,
)


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("python bot.py --port {port}", ["python", "bot.py", "--port", "{port}"]),
        ("'my bot' \"a b\" c\\ d", ["my bot", "a b", "c d"]),
        ("bot --config '{\"a\": 1}'", ["bot", "--config", '{"a": 1}']),
        ("bot; rm -rf / | $X", ["bot;", "rm", "-rf", "/", "|", "$X"]),
    ],
    ids=["plain", "quotes", "JSON is no placeholder", "shell signs are words"],
)
def test_splits_words_without_a_shell(text: str, argv: list[str]) -> None:
    assert parse_command(text) == argv


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the command is empty; give a program and its arguments"),
        ("   ", "the command is empty"),
        ("'' x", "the command is empty"),
        ("bot 'x", "cannot be split into words: no closing quotation"),
        ("bot {prot}", "unknown placeholder {prot}; known are {port} and {model_url}"),
        ("bot ${HOME}/x", "unknown placeholder {HOME}"),
    ],
)
def test_says_what_is_wrong_with_a_command_line(text: str, problem: str) -> None:
    with pytest.raises(BotCommandError) as caught:
        parse_command(text, "--agent-cmd")
    assert str(caught.value).startswith(f"--agent-cmd: {problem}")


def test_errors_do_not_show_arguments_which_may_be_secrets() -> None:
    with pytest.raises(BotCommandError) as caught:
        parse_command("bot --key s3cret {x}")
    assert "s3cret" not in str(caught.value)


def test_a_user_command_gets_the_models_url(tmp_path: Path) -> None:
    command = user_command(
        f"{sys.executable} bot.py {{model_url}} {{port}}",
        "agent",
        log_path=tmp_path / "log",
        model_url="http://127.0.0.1:9/s/v1",
    )
    assert command.argv == (sys.executable, "bot.py", "http://127.0.0.1:9/s/v1", "{port}")
    assert (command.name, command.ready, command.max_calls) == ("agent bot", "handshake", 1)


def test_a_models_url_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BotCommandError, match="--user-cmd: there is no scripted model in this run"):
        user_command("python {model_url}", "user", log_path=tmp_path, source="--user-cmd")


@pytest.mark.parametrize(
    ("program", "where"),
    [("no-such-bot-program", "on PATH"), ("./bot.sh", "in /"), ("/no/such/bot", "in /")],
)
def test_a_missing_program_is_named(tmp_path: Path, program: str, where: str) -> None:
    with pytest.raises(BotCommandError) as caught:
        user_command(program, "agent", log_path=tmp_path / "log")
    assert f"agent bot: program {program!r} is not found {where}" in str(caught.value)


def test_a_relative_program_is_looked_for_in_the_working_directory(tmp_path: Path) -> None:
    script = tmp_path / "bot.sh"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(BotCommandError, match="is not executable"):
        user_command("./bot.sh", "agent", log_path=tmp_path / "log", cwd=tmp_path)
    script.chmod(0o755)
    assert user_command("./bot.sh", "agent", log_path=tmp_path / "log", cwd=tmp_path).argv


def test_a_missing_working_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(BotCommandError, match=r"working directory .*/gone does not exist"):
        user_command(sys.executable, "agent", log_path=tmp_path / "log", cwd=tmp_path / "gone")


def test_the_stock_bots_command(tmp_path: Path) -> None:
    command = stock_bot_command("agent", llm_url="http://h/{session}/v1", log_path=tmp_path / "log")
    assert command.argv == (
        *(sys.executable, "-m", "pytest_voiceeval.bots.stock", "--role", "agent"),
        *("--host", "127.0.0.1", "--port", "0"),
        *("--llm-url", "http://h/{session}/v1", "--model", "scripted"),
    )
    assert (command.ready, command.max_calls) == ("line", 16)
    # with PYTHONWARNINGS=error for the tests, the bot's libraries would not even load
    assert command.env["PYTHONWARNINGS"] == ""
    faulty = stock_bot_command("user", llm_url="http://h/v1", log_path=tmp_path, fault="crashes")
    assert faulty.argv[-2:] == ("--fault", "crashes")


def test_a_childs_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVAL_DATA_ROOT", "/data")
    monkeypatch.setenv("VOICEEVAL_PACKS", "/packs")
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "x (call)")
    monkeypatch.delenv("WEBSOCKET_PORT", raising=False)
    command = BotCommand(("x",), "agent", "agent bot", tmp_path, env={"VOICEEVAL_PACKS": "/mine"})
    env = command.environment(4711)
    assert env["EVAL_DATA_ROOT"] == "/data"
    assert env["VOICEEVAL_PACKS"] == "/mine"
    assert env["WEBSOCKET_PORT"] == "4711"
    assert env["PYTHONUNBUFFERED"] == "1"
    assert "PYTEST_CURRENT_TEST" not in env
    assert "WEBSOCKET_PORT" not in command.environment(None)


def test_values_of_the_environment_are_not_in_the_commands_text(tmp_path: Path) -> None:
    command = BotCommand(("x",), "agent", "agent bot", tmp_path, env={"API_KEY": "s3cret"})
    assert "s3cret" not in repr(command)
