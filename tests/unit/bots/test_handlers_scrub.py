"""What a model context looks like when it is sent: no media, plain JSON values."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_voiceeval.bots.handlers_scrub import sanitize_context_for_transport


@dataclass
class SpecificMessage:
    llm: str
    message: Any


@pytest.mark.parametrize(
    ("value", "scrubbed"),
    [
        ({"audio": b"\0"}, {"audio": "<audio>"}),
        ({"image": bytearray(b"\0")}, {"image": "<image>"}),
        ({"data": b"raw", "n": 5}, {"data": "<binary>", "n": 5}),
        (
            {"input_audio": {"data": "QUJD", "format": "wav"}},
            {"input_audio": {"data": "<audio>", "format": "wav"}},
        ),
        ({"image_url": {"url": "data:image/png;base64,iV"}}, {"image_url": {"url": "<image>"}}),
        ({"image_url": {"url": "https://x/y.png", "detail": "auto"}}, None),
        ({"role": "tool", "data": {"rows": [1, 2, 3]}}, None),
        ({"role": "tool", "data": "plain"}, None),
        (
            {"file": {"filename": "r.pdf", "file_id": "f9", "file_data": "Cg"}},
            {"file": {"filename": "r.pdf", "file_id": "f9", "file_data": "<file>"}},
        ),
        (
            {"audio": {"id": "a1", "data": "Dg", "transcript": "hello"}},
            {"audio": {"id": "a1", "data": "<audio>", "transcript": "hello"}},
        ),
        ({"image": {"b64_json": "iV"}}, {"image": {"b64_json": "<image>"}}),
        ({"content": "data: the fare is 10, and data:that"}, None),
        ([("a", b"\0")], [["a", "<binary>"]]),
        ({1: SpecificMessage("x", b"\0")}, {"1": {"llm": "x", "message": "<binary>"}}),
    ],
)
def test_media_is_scrubbed(value: Any, scrubbed: Any) -> None:
    before = copy.deepcopy(value)
    assert sanitize_context_for_transport(value) == (before if scrubbed is None else scrubbed)
    assert value == before
