"""What to run as a bot: the stock bot, or a user's own command line."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_voiceeval.bots.endpoint import MANY_CALLS, BotCommandError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Role = Literal["agent", "user"]

PLACEHOLDERS = ("port", "model_url")
URLS = ("ws://127.0.0.1:{port}", "ws://127.0.0.1:{port}/ws")
"""Where a bot on `{port}` may listen: Pipecat's own servers at any path, FastAPI ones at `/ws`."""

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_FOREIGN_ENV = ("PYTEST_CURRENT_TEST",)


@dataclass(frozen=True)
class BotCommand:
    """A program that serves a bot.

    Attributes:
        argv: program and arguments; `{port}` stands for the port it is to listen on.
        role: the part the bot plays in a call.
        name: how messages name it, e.g. `agent bot`.
        log_path: file its output is appended to.
        env: variables added to the harness's own environment.
        ready: `line`: it prints the stock bot's JSON ready line; `handshake`: it is ready when
            a WebSocket handshake with it succeeds (a ready line is understood there, too).
        max_calls: calls it takes at once.
        cwd: its working directory, by default the harness's.
        urls: addresses to try the handshake at, with `{port}`.
        grace: seconds between SIGTERM and SIGKILL when it is ended.
        local_only: whether an address of its own that is not on this machine is refused.
    """

    argv: tuple[str, ...]
    role: Role
    name: str
    log_path: Path
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    ready: Literal["line", "handshake"] = "handshake"
    max_calls: int = 1
    cwd: Path | None = None
    urls: tuple[str, ...] = URLS
    grace: float = 5.0
    local_only: bool = False

    @property
    def program(self) -> str:
        """The command as messages show it: without its arguments, which may hold secrets."""
        return self.argv[0]

    def environment(self, port: int | None) -> dict[str, str]:
        """Give the variables of the child, `WEBSOCKET_PORT` among them if it has a port."""
        env = inherited_environment()
        if port is not None:
            env["WEBSOCKET_PORT"] = str(port)
        return env | dict(self.env)


def inherited_environment() -> dict[str, str]:
    """The variables of this process, as far as a bot may have them; loopback is past any proxy."""
    env = {key: value for key, value in os.environ.items() if key not in _FOREIGN_ENV}
    env["PYTHONUNBUFFERED"] = "1"
    return env | _past_any_proxy(env)


def _past_any_proxy(env: Mapping[str, str]) -> dict[str, str]:
    """Loopback, where the scripted model is, must not be looked for behind a proxy."""
    names = ("NO_PROXY", "no_proxy")
    return {name: ",".join(filter(None, (env.get(name), *LOOPBACK))) for name in names}


def parse_command(text: str, source: str = "bot command") -> list[str]:
    """Split a command line as a shell would, without running a shell.

    Args:
        text: e.g. `python my_bot.py --port {port} --llm {model_url}`.
        source: who gave it, for the error text, e.g. `--agent-cmd`.

    Raises:
        BotCommandError: it is empty, its quotes do not close, or it names a placeholder other
            than `{port}` and `{model_url}`.
    """
    try:
        argv = shlex.split(text)
    except ValueError as error:
        msg = f"{source}: cannot be split into words: {str(error).lower()}"
        raise BotCommandError(msg) from None
    if not argv or not argv[0]:
        msg = f"{source}: the command is empty; give a program and its arguments"
        raise BotCommandError(msg)
    _check_placeholders(argv, source)
    return argv


def _check_placeholders(argv: list[str], source: str) -> None:
    named = [name for word in argv for name in _PLACEHOLDER.findall(word)]
    unknown = [name for name in named if name not in PLACEHOLDERS]
    if unknown:
        msg = (
            f"{source}: unknown placeholder {{{unknown[0]}}}; known are {{port}} and {{model_url}} "
            "(no shell runs the command, so variables are not expanded)"
        )
        raise BotCommandError(msg)


def fill(words: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    """Put values in place of `{name}`; names without a value stay as they are."""
    return tuple(
        _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), word) for word in words
    )


def user_command(
    text: str,
    role: Role,
    *,
    log_path: Path,
    source: str = "bot command",
    model_url: str | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    max_calls: int = 1,
) -> BotCommand:
    """Make the bot of a user's command line (`--agent-cmd`, `--user-cmd`).

    Args:
        text: the command line, see `parse_command`.
        role: the part the bot plays.
        log_path: file for its output.
        source: who gave the command line, for error texts.
        model_url: what `{model_url}` stands for.
        env: variables to add.
        cwd: working directory; relative programs are looked for there.
        max_calls: calls it takes at once.

    Raises:
        BotCommandError: as `parse_command`; or the program is not found, or `{model_url}` is
            used and there is no such model.
    """
    argv = tuple(parse_command(text, source))
    if model_url is not None:
        argv = fill(argv, {"model_url": model_url})
    elif any("{model_url}" in word for word in argv):
        msg = f"{source}: there is no scripted model in this run for {{model_url}}"
        raise BotCommandError(msg)
    command = BotCommand(
        argv, role, f"{role} bot", log_path, env=env or {}, cwd=cwd, max_calls=max_calls
    )
    check_program(command)
    return command


def check_program(command: BotCommand) -> None:
    """Refuse a command whose program cannot be run.

    Raises:
        BotCommandError: names the program and where it was looked for.
    """
    if command.cwd is not None and not command.cwd.is_dir():
        msg = f"{command.name}: its working directory {command.cwd} does not exist"
        raise BotCommandError(msg)
    program = command.program
    path = command.env.get("PATH", os.environ.get("PATH"))
    if os.sep in program:
        found = shutil.which((command.cwd or Path.cwd()) / program)
        where = f"in {command.cwd or Path.cwd()}"
    else:
        found, where = shutil.which(program, path=path), "on PATH"
    if found is None:
        msg = f"{command.name}: program {program!r} is not found {where}, or is not executable"
        raise BotCommandError(msg)


def stock_bot_command(
    role: Role,
    *,
    llm_url: str,
    log_path: Path,
    model: str = "scripted",
    fault: str | None = None,
    env: Mapping[str, str] | None = None,
    max_calls: int | None = None,
    options: Sequence[str] = (),
) -> BotCommand:
    """Make the stock bot.

    Args:
        role: the part it plays.
        llm_url: base URL of its OpenAI-compatible model, may hold `{session}`.
        log_path: file for its output.
        model: the model's name.
        fault: a fault of the process, `crashes` or `garbage`.
        env: variables to add.
        max_calls: calls it takes at once; by default 16, or 1 if it crashes, so that a crash is
            the outcome of one call.
        options: more of its options, such as `--seed=7`.
    """
    if max_calls is None:
        max_calls = 1 if fault == "crashes" else MANY_CALLS
    argv = [sys.executable, "-m", "pytest_voiceeval.bots.stock", "--role", role]
    argv += ["--host", "127.0.0.1", "--port", "0", "--llm-url", llm_url, "--model", model]
    argv += [*options, *(["--fault", fault] if fault is not None else [])]
    name = f"stock {role} bot"
    # whatever the tests make of warnings, those of the bot's libraries are nobody's errors here
    env = {"PYTHONWARNINGS": "", **(env or {})}
    return BotCommand(tuple(argv), role, name, log_path, env=env, ready="line", max_calls=max_calls)
