"""Why a call says nothing about the agent: each of these is a pytest ERROR, never a FAILED test.

What the agent itself did wrong is no exception: it is an end reason of the conversation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_voiceeval.call.judgement import Judgement
    from pytest_voiceeval.call.result import Conversation


class CallError(Exception):
    """A call that could not be held, or not be read.

    Attributes:
        code: Short machine-readable cause, one a class.
        conversation: Whatever was measured until then, None if nothing was.
    """

    code = "call_error"

    def __init__(self, text: str, conversation: Conversation | None = None) -> None:
        super().__init__(text)
        self.conversation = conversation

    def __reduce__(self) -> tuple[type[CallError], tuple[object, ...]]:
        """Survive pickling between processes, measurements included."""
        return type(self), (str(self), self.conversation)


class AgentUnreachable(CallError):
    """No connection to the agent, or no answer to the handshake."""

    code = "agent_unreachable"


class NothingToSay(CallError):
    """A scripted side has no lines for this scenario."""

    code = "nothing_to_say"


class SetupFailed(CallError):
    """A bot refused, or did not answer, what it needs to know before the call."""

    code = "setup_failed"


class ProtocolFailed(CallError):
    """The agent broke the wire protocol: frames or messages that cannot be read."""

    code = "protocol_failed"


class CallerFailed(CallError):
    """The simulated caller did not do its part; the agent is not to blame."""

    code = "caller_failed"


class BotKilled(CallError):
    """Somebody else ended a bot's process by a signal during the call."""

    code = "bot_killed"


class StateUnreadable(CallError):
    """The agent answered that it cannot tell its final state, or sent one that is not JSON."""

    code = "state_unreadable"


class AgentStateFailed(CallError):
    """The user's `agent_state` raised, took too long, or gave something else than a state."""

    code = "agent_state_failed"


class OwnVerdict(CallError):
    """Code of the user's decided the test by itself, as `pytest.fail` and `pytest.skip` do.

    Attributes:
        raised: What it raised.
        outcome: What becomes of the call: `failed` or `skipped`.
    """

    code = "own_verdict"

    def __init__(
        self,
        text: str,
        conversation: Conversation | None = None,
        raised: BaseException | None = None,
        outcome: str = "failed",
    ) -> None:
        super().__init__(text, conversation)
        self.raised = raised
        self.outcome = outcome

    def __reduce__(self) -> tuple[type[OwnVerdict], tuple[object, ...]]:
        """Survive pickling between processes, measurements included."""
        return type(self), (str(self), self.conversation, self.raised, self.outcome)


class SyncFailed(CallError):
    """A side does not take part in keeping both databases in step, as the scenario asks."""

    code = "sync_failed"


class ScenarioInvalid(CallError):
    """The scenario itself is at fault, for example an expected database that cannot be hashed."""

    code = "scenario_invalid"


class ResultsNotWritten(CallError):
    """What was measured has no place: the folder of the results cannot be written to."""

    code = "results_not_written"


class MeasurementInvalid(CallError):
    """The harness was too slow to measure: what it saw is no evidence about the agent."""

    code = "measurement_invalid"


class JudgeUnusable(CallError):
    """The LLM judge gave no verdict that can be used, and its verdict was to decide.

    Attributes:
        judgement: What came of asking it.
        signals: The verdicts that need no judge, by name.
    """

    code = "judge_unusable"

    def __init__(
        self,
        text: str,
        conversation: Conversation | None = None,
        judgement: Judgement | None = None,
        signals: Mapping[str, bool | None] | None = None,
    ) -> None:
        super().__init__(text, conversation)
        self.judgement = judgement
        self.signals = dict(signals or {})

    def __reduce__(self) -> tuple[type[JudgeUnusable], tuple[object, ...]]:
        """Survive pickling between processes, measurements included."""
        return type(self), (str(self), self.conversation, self.judgement, self.signals)
