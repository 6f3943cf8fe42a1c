"""What models send is read exactly, or not at all."""

from __future__ import annotations

import pytest

from pytest_voiceeval.judge.faults import JudgeFault
from pytest_voiceeval.judge.reply import read_verdict
from tests.unit.judge.replies import READ, REFUSED


def test_the_table_is_large_and_every_name_is_its_own() -> None:
    assert len(READ) + len(REFUSED) >= 120
    assert not set(READ) & set(REFUSED)


@pytest.mark.parametrize("name", READ)
def test_a_verdict_is_read(name: str) -> None:
    text, score, reason = READ[name]
    reading = read_verdict(text)
    assert reading.score == score
    if reason is not None:
        assert reading.reason == reason


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_verdict_is_refused(name: str) -> None:
    text, code = REFUSED[name]
    with pytest.raises(JudgeFault) as fault:
        read_verdict(text)
    assert fault.value.code == code
    assert 10 < len(str(fault.value)) < 400
