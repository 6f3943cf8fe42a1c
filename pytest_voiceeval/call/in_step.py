"""Keeping both sides' databases in step during a call, for a scenario that asks for it.

In a text call this is done between the turns, so that each side begins its turn with what the other
one did. (The reference harness does it with a replay of its own, and waits for no answer.)
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.caller_state import BotState, KeepsState, SideState
from pytest_voiceeval.call.errors import AgentStateFailed, ScenarioInvalid, SyncFailed
from pytest_voiceeval.scenario.sync import SyncError, deltas_of, keeps_in_step
from pytest_voiceeval.wire.errors import ConnectionLost, SendTimeout, WireError

if TYPE_CHECKING:
    from pytest_voiceeval.call.minutes import Minutes
    from pytest_voiceeval.call.peer import Peer
    from pytest_voiceeval.call.plan import CallPlan

WHO = {"agent": "agent", "user": "caller"}

POLL = 0.1
"""Seconds between two looks for recorded actions in a call that has no turns of its own."""


class InStep:
    """Keeps them in step.

    Args:
        plan: Of a call whose scenario asks for it.
        agent: The agent.
        minutes: Takes down what was passed on.

    Raises:
        AgentStateFailed: The user's code tells the agent's state, and can tell it nothing.
        SyncFailed: The caller has no state.
    """

    def __init__(self, plan: CallPlan, agent: Peer, minutes: Minutes) -> None:
        self._scenario = plan.scenario
        self._minutes = minutes
        self._agent = agent
        if plan.state is not None:
            raise AgentStateFailed(
                f"{plan.state.name} reads the agent's state, but scenario "
                f"{self._scenario.name!r} has a sync_state, which also changes it during the call: "
                "that takes an agent that knows 'apply_sync_delta'"
            )
        caller = plan.caller.state if isinstance(plan.caller, KeepsState) else None
        if caller is None:
            raise SyncFailed(
                f"scenario {self._scenario.name!r} has a sync_state, but its caller has no state"
            )
        self._sides: dict[str, SideState] = {"agent": BotState(agent), "user": caller}

    async def step(self) -> None:
        """Let each side see what it must see of the other.

        Raises:
            SyncFailed: A bot does not take part.
            ScenarioInvalid: The scenario's `sync_state` failed.
        """
        if self._agent.lost is not None:
            return
        try:
            found = {side: await self._database(side) for side in self._sides}
            deltas = await asyncio.to_thread(
                deltas_of, self._scenario, found["agent"], found["user"]
            )
            for side, delta in deltas.items():
                await self._pass_on(side, delta)
        except SyncError as error:
            raise ScenarioInvalid(f"scenario {error}") from error
        except (ConnectionLost, SendTimeout) as error:
            # the talk will tell what that means, if it goes on
            self._minutes.warnings.append(f"while the databases were put in step: {error}")

    async def _database(self, side: str) -> dict[str, Any] | None:
        try:
            return await self._sides[side].database()
        except (ConnectionLost, SendTimeout):
            raise
        except WireError as error:
            raise self._failed(side, f"does not tell its database: {error}") from error

    async def _pass_on(self, side: str, delta: dict[str, Any]) -> None:
        try:
            errors = await self._sides[side].apply(self._scenario.domain, delta)
        except (ConnectionLost, SendTimeout):
            raise
        except WireError as error:
            raise self._failed(side, f"does not take 'apply_sync_delta': {error}") from error
        if errors:
            raise self._failed(side, f"could not take in {list(delta)}: {'; '.join(errors)}")
        self._minutes.note_sync(side, delta)

    def _failed(self, side: str, how: str) -> SyncFailed:
        return SyncFailed(
            f"the {WHO[side]} {how}; scenario {self._scenario.name!r} has a sync_state, which "
            "needs it"
        )


def in_step(plan: CallPlan, agent: Peer, minutes: Minutes) -> InStep | None:
    """What keeps the databases of a call in step; None where the scenario does not ask for it.

    Raises:
        CallError: as `InStep`.
    """
    return InStep(plan, agent, minutes) if keeps_in_step(plan.scenario) else None
