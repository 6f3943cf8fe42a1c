"""The fixtures users see; each may be overridden in a root conftest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.plugin.keys import CURRENT

if TYPE_CHECKING:
    from pytest_voiceeval.call.result import CallResult
    from pytest_voiceeval.plugin.judge_fixture import Judge
    from pytest_voiceeval.plugin.runtime import Runtime
    from pytest_voiceeval.scenario.model import Scenario


def _runtime(config: pytest.Config) -> Runtime:
    from pytest_voiceeval.plugin.runtime import runtime_of

    return runtime_of(config)


@pytest.fixture(scope="session")
def agent_bot(pytestconfig: pytest.Config) -> Any:
    """The agent under test: a URL, a list of URLs or `Bot(url, max_calls)`.

    The default connects to `--agent-url`, or starts `--agent-cmd`, or starts the stock bot
    with the scripted model. Override it in the root conftest to start your own.
    """
    return _runtime(pytestconfig).default_agent()


@pytest.fixture(scope="session")
def caller_bot(pytestconfig: pytest.Config) -> Any:
    """The caller's bot, shaped like `agent_bot`, or None for the built-in caller."""
    return _runtime(pytestconfig).default_caller()


@pytest.fixture(scope="session")
def agent_state() -> Any:
    """How to learn the final state of an agent that keeps it to itself; None asks the agent.

    Override it in the root conftest for an agent with tools of its own. It returns a callable
    `(scenario, session_id) -> dict`, whose answer is compared with the expected database. If it
    has a method `prepare(scenario, session_id)`, that is called before the agent is. Either may be
    async.
    """
    return None


@pytest.fixture
def voice_scenario(request: pytest.FixtureRequest) -> Scenario:
    """The scenario of this item: the packaged one, the marker's, or each selected one."""
    from pytest_voiceeval.plugin.runtime import scenario_for

    return scenario_for(request)


@pytest.fixture
def call(
    request: pytest.FixtureRequest,
    voice_scenario: Scenario,
    agent_bot: Any,
    caller_bot: Any,
    agent_state: Any,
) -> CallResult:
    """Hold the conversation of `voice_scenario` and return what happened.

    What the agent did wrong is in the result, for the test to assert on; anything else that goes
    wrong is an error of this fixture that names its cause.
    """
    config = request.config
    given = (agent_bot, caller_bot, agent_state)
    result = _runtime(config).call(request.node, voice_scenario, given)
    config.stash[CURRENT] = result  # for `assert call.db == ...`
    return result


@pytest.fixture
def judge(request: pytest.FixtureRequest) -> Judge:
    """The LLM judge, for calls and texts of your own tests; skips the test if the judge is off.

    `judge(call, "The agent never promises a refund.")` gives its verdict: `passed`, `score`,
    `reason` and `assertions`. A judge that cannot be used is an error, not a failure.
    """
    from pytest_voiceeval.plugin.judge_fixture import judge_for
    from pytest_voiceeval.plugin.judge_marks import ask_of

    return judge_for(_runtime(request.config), ask_of(request.node))
