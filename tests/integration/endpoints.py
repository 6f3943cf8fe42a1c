"""Model endpoints on a thread of the test's own, for runs of pytest in another process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from pytest_voiceeval.bots.script_player import Script
from pytest_voiceeval.bots.scripted_model import ScriptedModel, serve_scripted_model
from pytest_voiceeval.plugin.engine import Engine
from pytest_voiceeval.scenario.registry import get_eval_scenario
from tests.unit.call_llm.provider import Provider, serving

ITEM = "eva_airline::cancellation_refund"

Serve = Callable[..., Provider]


@pytest.fixture
def hold() -> Iterator[Callable[[AbstractAsyncContextManager[Any]], Any]]:
    """Keep something open on a loop of its own until the test is over."""
    engine = Engine()
    yield engine.hold
    engine.stop()


@pytest.fixture
def serve(hold: Callable[[AbstractAsyncContextManager[Any]], Any]) -> Serve:
    """An endpoint that gives these answers, the last one again and again."""

    def serve(*answers: Any) -> Provider:
        provider: Provider = hold(serving(Provider(*answers)))
        return provider

    return serve


@pytest.fixture
def players(hold: Callable[[AbstractAsyncContextManager[Any]], Any]) -> dict[str, str]:
    """Endpoints of models that play the agent and the caller of any packaged scenario of ours."""
    model: ScriptedModel = hold(serve_scripted_model())
    scenario = get_eval_scenario(ITEM.replace("::", "__"))
    assert scenario is not None
    assert scenario.reference_dialogue is not None
    for role in ("agent", "user"):
        model.play(role, Script(scenario.reference_dialogue, role=role))
    return {role: model.url(role) for role in ("agent", "user")}
