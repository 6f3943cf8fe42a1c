"""The stock bot: `python -m pytest_voiceeval.bots.stock --role agent --llm-url URL`.

A Pipecat bot that talks to any OpenAI-compatible model, plays the agent or the caller, and serves
many conversations at once. When it listens it prints one JSON line on stdout, nothing else:

    {"event": "ready", "url": "ws://127.0.0.1:PORT/ws/{session}", "port": PORT, "pid": PID,
     "role": "agent"}

Each session id in the URL is a conversation of its own. It keeps context, tools and state over
any number of connections, one at a time, and is forgotten 15 minutes after the last one.
The log goes to stderr. SIGTERM ends the bot with exit code 0.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

from loguru import logger

from pytest_voiceeval.bots.stock_config import BotConfig, ConfigError, parse_config

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_voiceeval.wire.secret import Secret

LOG_FORMAT = "{time:HH:mm:ss.SSS} {level: <7} {name}: {message}"
"""Short, because the last lines end up in failure texts."""

USAGE_ERROR = 2
"""Exit code for a configuration that cannot be used."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the bot until it is told to end.

    Args:
        argv: Command line without the program's name; None means that of the process.

    Returns:
        The exit code: 0 after SIGTERM or SIGINT; 2 for a configuration that cannot be used, with
        one line on stderr that says why.
    """
    one_thread_for_numbers()
    try:
        config = parse_config(sys.argv[1:] if argv is None else argv)
        start_log(config)
        # Takes 0.6 s, and logs: after the checks, and with the log set up.
        from pytest_voiceeval.bots import stock_server

        sock = stock_server.open_socket(config.host, config.port)
    except ConfigError as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"cannot use {config.host} port {config.port} or the log file: {error}")
    spare_the_collector()
    asyncio.run(stock_server.serve(config, sock))
    return 0


def one_thread_for_numbers() -> None:
    """Keep numpy from sharing out each of our small sums; before it is imported.

    Its threads wait for work by spinning, which takes a third of the time of a bot with a voice.
    """
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")


def spare_the_collector() -> None:
    """Collect garbage less often, and no longer look through what was imported.

    A pipeline makes and drops objects by the thousand; looking for cycles among them takes a tenth
    of the bot's time.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def _refuse(why: str) -> int:
    print(f"voiceeval bot: error: {why}", file=sys.stderr)
    return USAGE_ERROR


class _ToLoguru(logging.Handler):
    """Records of the standard library's loggers go where Pipecat's go."""

    def emit(self, record: logging.LogRecord) -> None:
        origin: Any = {"name": record.name, "function": record.funcName, "line": record.lineno}
        # Python's warnings are for developers: one about the system prompt in the context, which
        # Pipecat takes there until 2.0, comes with every bot.
        level = "DEBUG" if record.name == "py.warnings" else record.levelname
        bound = logger.patch(lambda entry: entry.update(origin))
        bound.opt(exception=record.exc_info).log(level, "{}", record.getMessage())


class _Redacting:
    """A stream without the secrets that an endpoint repeats in what it says of a request."""

    def __init__(self, stream: TextIO, secrets: Sequence[Secret]) -> None:
        self._stream = stream
        self._secrets = secrets

    def write(self, text: str) -> None:
        for secret in self._secrets:
            text = secret.redact(text)
        self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()


def start_log(config: BotConfig) -> None:
    """Log to stderr and to the file of the configuration, without secrets."""
    logger.remove()
    files = [] if config.log_file is None else [config.log_file.open("a", encoding="utf-8")]
    for stream in (sys.stderr, *files):
        # Diagnosis would print the values of variables, keys and databases among them.
        logger.add(
            _Redacting(stream, config.secrets),
            level=config.log_level,
            format=LOG_FORMAT,
            diagnose=False,
            backtrace=False,
        )
    logging.basicConfig(handlers=[_ToLoguru()], level=logging.WARNING, force=True)
    logging.getLogger("pytest_voiceeval").setLevel(logging.INFO)
    logging.captureWarnings(capture=True)


if __name__ == "__main__":
    sys.exit(main())
