"""`--voice-offline`: what is on this machine is used, anything else refused, whoever names it."""

from __future__ import annotations

import sys

import pytest

from tests.integration.conftest import Run
from tests.integration.endpoints import ITEM


def test_options_are_looked_at_before_anything_starts(run: Run) -> None:
    distant = ["--caller-url", "https://api.example.org/v1", "--caller-model", "m"]
    result = run(ITEM, "--voice-offline", *distant)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*ERROR: --voice-offline: --caller-url names https://api.exam*"])


def test_a_fixture_cannot_lead_elsewhere(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def agent_bot():
            return "ws://192.0.2.1:8765"
        """
    )
    result = run(ITEM, "--voice-offline")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["agent_unreachable: --voice-offline: the bot of the agent names*"])


def test_a_bot_that_was_started_cannot_either(pytester: pytest.Pytester, run: Run) -> None:
    bot = pytester.makepyfile(
        bot="""
        import json, time
        print(json.dumps({"event": "ready", "url": "ws://192.0.2.1:8765"}), flush=True)
        time.sleep(60)
        """
    )
    result = run(ITEM, "--voice-offline", "--agent-cmd", f"{sys.executable} {bot}")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*ws://192.0.2.1:8765, beyond this machine"])
