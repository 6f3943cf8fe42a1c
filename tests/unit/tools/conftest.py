"""What the tests of the tools share: stand-ins for a bot, and a registry to play with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_voiceeval.tools import registry


@dataclass
class Call:
    """One function call as Pipecat hands it to a tool; `log` tells what happened in order."""

    arguments: Any = None
    log: list[Any] = field(default_factory=list)

    async def result_callback(self, result: Any) -> None:
        self.log.append(("result", result))

    @property
    def results(self) -> list[Any]:
        return [value for kind, value in self.log if kind == "result"]

    @property
    def pushed(self) -> list[Any]:
        return [value for kind, value in self.log if kind == "push"]


@dataclass
class Rtvi:
    """An RTVI processor that writes into the log of a call, or fails."""

    log: list[Any]
    error: Exception | None = None

    async def send_server_message(self, data: Any) -> None:
        if self.error is not None:
            raise self.error
        self.log.append(("push", data))


@pytest.fixture
def make_call() -> type[Call]:
    return Call


@pytest.fixture
def make_rtvi() -> type[Rtvi]:
    return Rtvi


@pytest.fixture
def clean_registry() -> Iterator[dict[str, dict[str, Any]]]:
    """The registry as it is, put back afterwards."""
    tools = registry.ALL_SCHEMA_TOOLS_FOR_EVAL
    before = {domain: dict(classes) for domain, classes in tools.items()}
    yield tools
    tools.clear()
    tools.update(before)
