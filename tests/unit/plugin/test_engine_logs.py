"""Log records are filed with the call they belong to."""

from __future__ import annotations

import asyncio
import logging
from typing import cast

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


class Capture(logging.Handler):
    """What pytest's own capture is, in a run of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.caplog_handler = self.report_handler = self

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(record.getMessage())

    @property
    def pluginmanager(self) -> Capture:
        return self

    def get_plugin(self, name: str) -> Capture:
        assert name == "logging-plugin"
        return self


def test_pytest_captures_again_afterwards() -> None:
    root, capture = logging.getLogger(), Capture()
    root.addHandler(capture)
    before = root.handlers[:]
    try:
        with filing(cast(pytest.Config, capture)), filed_under(CallLog()):
            logger.warning("filed")
        with filed_under(CallLog()):
            logger.warning("seen")
        assert capture.seen == ["seen"]
        assert root.handlers == before
    finally:
        root.removeHandler(capture)


def test_a_long_log_keeps_its_end() -> None:
    log = CallLog()
    for number in range(MOST_RECORDS + 5):
        log.add(f"record {number}")
    lines = log.text.splitlines()
    assert lines[0] == "(5 earlier records dropped)"
    assert lines[1] == "record 5"
    assert lines[-1] == f"record {MOST_RECORDS + 4}"
    assert CallLog().text == ""
