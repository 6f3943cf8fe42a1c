"""Whose fault it is when the endpoint of the agent's model fails."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_voiceeval.call.result import Conversation, EndReason, Utterance, WireEvent
from pytest_voiceeval.plugin.model_agent import (
    AgentModel,
    AgentModelFailed,
    lost_runs,
    refuse_outage,
    refused_runs,
)

MODEL = AgentModel("https://api.example/v1?key=planted-1234", "m")
HELLO = Utterance("agent", "Hello.", 0.1, 0.5, 1)


def told(status: int | None, at: float = 1.0, **more: Any) -> WireEvent:
    """What the stock bot says of its endpoint."""
    endpoint = {"status": status, "spent": False}
    data = {"error": f"answered {status}", "fatal": True, "model_endpoint": endpoint, **more}
    return WireEvent(at, "agent", "error", data)


def call(*events: WireEvent, said: tuple[Utterance, ...] = (), **more: Any) -> Conversation:
    reason = more.pop("end_reason", EndReason.AGENT_ERROR)
    return Conversation("d__s", "d", end_reason=reason, transcript=said, events=events, **more)


@pytest.mark.parametrize("status", [None, 400, 401, 403, 404, 429, 500, 503])
def test_an_agent_that_was_never_answered_did_not_fail(status: int | None) -> None:
    with pytest.raises(AgentModelFailed, match=f"^the agent's model \\('m'\\): answered {status}"):
        refuse_outage(call(told(status)), MODEL)


@pytest.mark.parametrize("status", [None, 401, 402, 403, 404, 408, 429, 502, 503, 504, 529])
def test_key_address_and_rate_say_nothing_at_any_time(status: int | None) -> None:
    with pytest.raises(AgentModelFailed):
        refuse_outage(call(told(status), said=(HELLO,)), MODEL)


@pytest.mark.parametrize("status", [400, 413, 422, 500])
def test_other_errors_in_mid_call_are_the_agents(status: int) -> None:
    refuse_outage(call(told(status), said=(HELLO,)), MODEL)


@pytest.mark.parametrize(
    ("status", "way_out"),
    [
        (None, "check --agent-llm-url, and whether the server runs"),
        (401, "check the key in the environment variable of --agent-api-key-name"),
        (404, "check --agent-llm-url .* and --agent-model"),
        (429, "--voice-concurrency"),
        (307, "give the final address"),
    ],
)
def test_the_way_out_is_named(status: int | None, way_out: str) -> None:
    with pytest.raises(AgentModelFailed, match=way_out):
        refuse_outage(call(told(status)), MODEL)


@pytest.mark.parametrize(
    ("endpoint", "way_out"),
    [
        ({"status": None, "spent": True}, "answered None$"),
        ({"status": 429, "spent": False, "no_credit": True}, "; the account has no credit$"),
    ],
    ids=["broke off", "no credit"],
)
def test_no_way_out_that_leads_nowhere(endpoint: dict[str, Any], way_out: str) -> None:
    fault = told(endpoint["status"], model_endpoint=endpoint)
    with pytest.raises(AgentModelFailed, match=way_out):
        refuse_outage(call(fault), MODEL)


@pytest.mark.parametrize(
    "conversation",
    [
        pytest.param(call(), id="no error told"),
        pytest.param(call(told(401), end_reason=EndReason.EXIT), id="the agent ended the call"),
        pytest.param(call(WireEvent(1.0, "agent", "error", {"error": "?"})), id="another error"),
        pytest.param(call(WireEvent(1.0, "agent", "error", "model_endpoint")), id="a text"),
        pytest.param(call(told(401, model_endpoint=401)), id="another shape"),
        pytest.param(call(WireEvent(1.0, "user", "error", told(401).data)), id="the caller's bot"),
        pytest.param(call(told(429, at=0.2), said=(HELLO,)), id="it has answered since"),
    ],
)
def test_what_is_no_outage(conversation: Conversation) -> None:
    refuse_outage(conversation, MODEL)


def test_silence_while_the_endpoint_asks_to_wait() -> None:
    waiting = told(429, fatal=False)
    with pytest.raises(AgentModelFailed, match="answered 429"):
        refuse_outage(call(waiting, said=(HELLO,), end_reason=EndReason.AGENT_SILENT), MODEL)


def test_an_agent_that_is_no_model_of_ours_cannot_excuse_itself() -> None:
    refuse_outage(call(told(401)), None)


def test_refused_requests_are_counted() -> None:
    spent = {"status": None, "spent": True}
    events = (told(429, fatal=False), told(429), told(None, model_endpoint=spent))
    assert refused_runs(call(*events)) == 1


def test_answers_that_were_lost_are_counted() -> None:
    spent = {"status": None, "spent": True}
    again = told(None, model_endpoint=spent, fatal=False)
    assert lost_runs(call(again, told(429, fatal=False), told(None, model_endpoint=spent))) == 1


def test_the_key_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    model = AgentModel("http://x/v1", "m", "VOICEEVAL_TEST_KEY")
    monkeypatch.setenv("VOICEEVAL_TEST_KEY", " ")
    with pytest.raises(AgentModelFailed, match=r"VOICEEVAL_TEST_KEY, .* is not set or empty"):
        model.require_key()
    monkeypatch.setenv("VOICEEVAL_TEST_KEY", "sk-\u00e9")
    with pytest.raises(AgentModelFailed, match="holds a line break or another character"):
        model.require_key()
    monkeypatch.setenv("VOICEEVAL_TEST_KEY", "k")
    model.require_key()


def test_its_address_shows_no_key() -> None:
    assert repr(MODEL) == "AgentModel('m' at https://api.example/v1?key=***)"
