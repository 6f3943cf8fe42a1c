"""RTVI envelopes: written, read, and refused with a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voiceeval.wire.errors import EnvelopeError, ForeignLabel
from pytest_voiceeval.wire.rtvi import (
    KNOWN_TYPES,
    Envelope,
    client_message,
    client_ready,
    dump,
    parse,
    preview,
    send_text,
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.builds(Envelope, st.text(min_size=1), json_values, st.none() | st.text()))
def test_every_envelope_comes_back(envelope: Envelope) -> None:
    assert parse(dump(envelope)) == envelope


def test_what_is_none_is_left_out() -> None:
    assert dump(Envelope("bot-ready")) == '{"label":"rtvi-ai","type":"bot-ready"}'
    assert json.loads(dump(Envelope("x", 0, ""))) == {
        "label": "rtvi-ai",
        "type": "x",
        "id": "",
        "data": 0,
    }


def test_text_is_ascii_on_the_wire() -> None:
    text = dump(Envelope("x", "é日\ud800"))
    assert text.isascii()
    assert parse(text).data == "é日\ud800"


@pytest.mark.parametrize(
    ("text", "envelope"),
    [
        pytest.param('{"label":"rtvi-ai","type":"t"}', Envelope("t"), id="least"),
        pytest.param(
            '{"label":"rtvi-ai","type":"t","id":7,"more":1}',
            Envelope("t", None, "7"),
            id="number-id",
        ),
        pytest.param(
            '{"label":"rtvi-ai","type":"t","data":[1e999]}', Envelope("t", [float("inf")]), id="inf"
        ),
    ],
)
def test_read(text: str, envelope: Envelope) -> None:
    assert parse(text) == envelope


def test_nan_is_read_for_scoring_to_judge() -> None:
    value = parse('{"label":"rtvi-ai","type":"t","data":NaN}').data
    assert value != value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("", "message is not JSON", id="empty"),
        pytest.param("{'label': 1}", "message is not JSON", id="python"),
        pytest.param("[" * 100_000, "message is not JSON (nested too deeply): '[[[[", id="deep"),
        pytest.param("9" * 5000, "message is not JSON", id="huge-number"),
        pytest.param("[]", "message is not a JSON object: '[]'", id="list"),
        pytest.param('{"label":"rtvi-ai"}', "RTVI message without a type", id="no-type"),
        pytest.param(
            '{"label":"rtvi-ai","type":""}', "RTVI message without a type", id="empty-type"
        ),
        pytest.param('{"label":"rtvi-ai","type":3}', "RTVI message without a type", id="type-3"),
        pytest.param(
            '{"label":"rtvi-ai","type":"t","id":true}',
            "id of an RTVI 't' message is True, expected text",
            id="id-true",
        ),
    ],
)
def test_malformed(text: str, told: str) -> None:
    with pytest.raises(EnvelopeError) as caught:
        parse(text)
    assert not isinstance(caught.value, ForeignLabel)
    assert told in str(caught.value)


@pytest.mark.parametrize("text", ['{"label":"other","type":"t"}', '{"type":"t"}', "{}"])
def test_foreign_label(text: str) -> None:
    with pytest.raises(ForeignLabel, match=r"message is labelled .* not 'rtvi-ai'"):
        parse(text)


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object()], ids=["nan", "set", "object"])
def test_not_json(value: Any) -> None:
    with pytest.raises(EnvelopeError, match="'server-message' cannot be written as JSON"):
        dump(Envelope("server-message", value))


def test_client_ready() -> None:
    envelope = client_ready()
    assert envelope.type == "client-ready"
    assert envelope.data["version"] == "1.1.0"
    assert set(envelope.data["about"]) == {"library", "library_version"}
    assert client_ready("2.2.0").data["version"] == "2.2.0"


@pytest.mark.parametrize(
    ("kind", "side", "prefix"),
    [
        ("update_system_prompt", "agent", "update_prompt_"),
        ("apply_initialization", "agent", "apply_init_agent_"),
        ("apply_initialization", "user", "apply_init_user_"),
        ("apply_initialization", "", "apply_init_"),
        ("apply_sync_delta", "user", "apply_sync_delta_user_"),
        ("get_scenario_summary", "agent", "get_scenario_summary_"),
        ("get_context_history", "user", "get_context_history_"),
        ("reset", "agent", "reset_"),
        ("configure_output", "agent", "configure_output_"),
    ],
)
def test_client_message(kind: str, side: str, prefix: str) -> None:
    first, second = client_message(kind, {"a": 1}, side), client_message(kind, None, side)
    assert str(first.id).startswith(prefix)
    assert "_" not in str(first.id).removeprefix(prefix)
    assert first.id != second.id
    assert (first.type, first.data) == ("client-message", {"t": kind, "d": {"a": 1}})
    assert second.data == {"t": kind, "d": {}}


def test_send_text() -> None:
    envelope = send_text("Hello", audio_response=True, run_immediately=False)
    assert str(envelope.id).startswith("send_text_")
    assert envelope.type == "send-text"
    assert envelope.data == {
        "content": "Hello",
        "options": {"run_immediately": False, "audio_response": True},
    }


def test_preview_is_short_and_on_one_line() -> None:
    assert preview("a\nb") == "'a\\nb'"
    assert preview("x" * 81) == f"'{'x' * 80}'…"


def test_known_types_hold_what_the_harness_reads() -> None:
    needed = {"server-message", "bot-output", "bot-tts-text", "metrics", "error", "bot-ready"}
    assert needed <= KNOWN_TYPES
