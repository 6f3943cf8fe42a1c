"""Log records are filed with the call they belong to."""

from __future__ import annotations

import asyncio
import logging

import pytest

from pytest_voiceeval.plugin.calllog import MOST_RECORDS, CallLog, filed_under, filing

logger = logging.getLogger("bot")


async def test_records_follow_tasks_and_threads(
    pytestconfig: pytest.Config, caplog: pytest.LogCaptureFixture
) -> None:
    logs = {name: CallLog() for name in ("one", "two")}

    async def call(name: str) -> None:
        with filed_under(logs[name]):
            logger.warning("%s begins", name)
            await asyncio.sleep(0.01)
            await asyncio.to_thread(logger.warning, "%s in a thread", name)
            await asyncio.create_task(asyncio.sleep(0))
            logger.error("%s ends", name)

    with filing(pytestconfig):
        logger.warning("nobody's")
        await asyncio.gather(*map(call, logs))
    for name, log in logs.items():
        messages = [line.split(maxsplit=2)[2] for line in log.text.splitlines()]
        assert messages == [f"{name} begins", f"{name} in a thread", f"{name} ends"]
    assert [record.getMessage() for record in caplog.records] == ["nobody's"]


def test_pytest_captures_again_afterwards(
    pytestconfig: pytest.Config, caplog: pytest.LogCaptureFixture
) -> None:
    before = logging.getLogger().handlers[:]
    with filing(pytestconfig), filed_under(CallLog()):
        pass
    with filed_under(CallLog()):
        logger.warning("seen")
    assert [record.getMessage() for record in caplog.records] == ["seen"]
    assert logging.getLogger().handlers == before


def test_a_long_log_keeps_its_end() -> None:
    log = CallLog()
    for number in range(MOST_RECORDS + 5):
        log.add(f"record {number}")
    lines = log.text.splitlines()
    assert lines[0] == "(5 earlier records dropped)"
    assert lines[1] == "record 5"
    assert lines[-1] == f"record {MOST_RECORDS + 4}"
    assert CallLog().text == ""
