"""What one call needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_voiceeval.call.limits import CallLimits

if TYPE_CHECKING:
    from pytest_voiceeval.call.audio.plan import SoundPlan
    from pytest_voiceeval.call.caller import Caller
    from pytest_voiceeval.call.pace import Pace
    from pytest_voiceeval.call.result import ExitProbe
    from pytest_voiceeval.call.state_probe import StateProbe
    from pytest_voiceeval.scenario.model import Scenario


@dataclass(frozen=True)
class AgentLink:
    """The agent of one call.

    Attributes:
        url: Its address, with any ``{session}`` already filled in.
        process_exit: Tells how its process ended; None for an agent we did not start.
    """

    url: str
    process_exit: ExitProbe | None = None

    def __post_init__(self) -> None:
        if "{session}" in self.url:
            raise ValueError(
                "the agent's URL still holds '{session}': put this call's own id there"
            )


@dataclass(frozen=True)
class CallPlan:
    """Everything one call needs.

    Attributes:
        scenario: What it is about.
        agent: The bot under test.
        caller: Who talks to it.
        limits: Longest waits.
        single_connection: Set up and talk on one connection, for bots that keep nothing across two.
        call_dir: Folder of the call's files, told to the agent; None tells it nothing.
        include_db: Read the agent's final database even if its hash is the expected one.
        state: Sets and learns the agent's state in the agent's stead. Such an agent has prompt and
            tools of its own, so it gets no set-up, only the talk, on one connection.
        pace: Gives the agent its turns; None lets it be spoken to at any time.
        sound: How its sound is carried and kept; None for a call in text. A call with sound needs
            a bot as its caller.
    """

    scenario: Scenario
    agent: AgentLink
    caller: Caller
    limits: CallLimits = field(default_factory=CallLimits)
    single_connection: bool = False
    call_dir: str | None = None
    include_db: bool = False
    state: StateProbe | None = None
    sound: SoundPlan | None = None
    pace: Pace | None = None

    @property
    def one_connection(self) -> bool:
        """Whether nothing is said on a connection before the one for the talk."""
        return self.single_connection or self.state is not None

    @property
    def max_duration(self) -> float:
        """Longest conversation, seconds."""
        return self.limits.duration_for(self.scenario.max_duration)
