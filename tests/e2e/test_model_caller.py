"""A language model as the caller, by the options: an endpoint that plays the caller's side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_voiceeval.bots.script_player import Script
from pytest_voiceeval.bots.scripted_model import serve_scripted_model
from pytest_voiceeval.plugin.engine import Engine
from pytest_voiceeval.scenario.registry import get_eval_scenario
from tests.integration.conftest import Run

ITEM = "eva_airline::cancellation_refund"
Results = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def endpoint() -> Iterator[str]:
    scenario = get_eval_scenario("eva_airline__cancellation_refund")
    assert scenario is not None
    assert scenario.reference_dialogue is not None
    engine = Engine()
    model = engine.hold(serve_scripted_model())
    model.play("caller", Script(scenario.reference_dialogue, role="user"))
    yield model.url("caller")
    engine.stop()


def test_a_model_calls_the_agent(run: Run, results: Results, endpoint: str) -> None:
    result = run(ITEM, "--caller-url", endpoint, "--caller-model", "scripted")
    result.assert_outcomes(passed=1)
    [line] = results()
    assert line["tokens"]["user"]["calls"] >= 8


def test_a_caller_without_its_key_is_not_the_agents_fault(run: Run, endpoint: str) -> None:
    options = ["--caller-url", endpoint, "--caller-model", "x", "--caller-api-key-name", "NO_KEY"]
    result = run(ITEM, *options)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["caller_failed: *", "*NO_KEY*"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--caller-url", "http://x/v1"], "--caller-url and --caller-model go together*"),
        (
            ["--caller-url", "ftp://x", "--caller-model", "m"],
            "the caller's model: 'ftp://x' is not its address*",
        ),
        (
            ["--caller-url", "http://x/v1", "--caller-model", "m", "--user-url", "ws://x"],
            "--caller-url lets a model call the agent*",
        ),
    ],
)
def test_wrong_caller_options_are_one_usage_error(
    run: Run, options: list[str], message: str
) -> None:
    result = run(ITEM, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*ERROR: {message}"])
