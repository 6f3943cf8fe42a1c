"""The caller's half of the scenario's state: its database, its tools, and what they did.

A caller's bot keeps its own; of a caller in this process it is kept here.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pytest_voiceeval.call.caller import CallerSide
from pytest_voiceeval.call.errors import ScenarioInvalid
from pytest_voiceeval.call.result import SideRecord, ToolCallSeen
from pytest_voiceeval.scenario.replay import caller_tools, initial_state, make_call
from pytest_voiceeval.scenario.sync import apply_sync_delta
from pytest_voiceeval.scoring.db_hash import get_dict_hash

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_voiceeval.call.peer import Peer
    from pytest_voiceeval.scenario.model import Scenario
    from pytest_voiceeval.scenario.turns import ToolCall

SUMMARY = "get_scenario_summary"
SYNC = "apply_sync_delta"


class SideState(Protocol):
    """One side's database during a call, wherever it is kept."""

    async def database(self) -> dict[str, Any] | None:
        """What it is now; None if the side has none, or an empty one."""

    async def apply(self, domain: str, delta: Mapping[str, Any]) -> list[str]:
        """Take in a change of the other side's; the errors, none if it was taken in."""


@runtime_checkable
class KeepsState(Protocol):
    """A caller with a half of the state."""

    @property
    def state(self) -> SideState | None:
        """That half; None where nobody gave it one."""


class BotState:
    """The state that a bot keeps, asked for over the wire.

    Its methods raise what :meth:`Peer.request` raises.
    """

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def database(self) -> dict[str, Any] | None:
        """What its summary holds."""
        reply = await self._peer.request(SUMMARY, {"include_db": True})
        database = reply.get("db") if isinstance(reply, dict) else None
        return database if isinstance(database, dict) else None

    async def apply(self, domain: str, delta: Mapping[str, Any]) -> list[str]:
        """Send it as `apply_sync_delta`."""
        reply = await self._peer.request(SYNC, {"domain": domain, "delta": dict(delta)})
        if not isinstance(reply, dict) or reply.get("success") is not False:
            return []
        errors = reply.get("errors")
        return [str(each) for each in errors] if errors and isinstance(errors, list) else ["failed"]


class HeldState:
    """The state of a caller that lives in this process, with its tools.

    Args:
        scenario: Gives the caller its database and its tools.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._state: dict[str, Any] = {}
        self._tools: Mapping[str, Any] = {}
        self._calls: list[ToolCallSeen] = []

    async def open(self) -> None:
        """Set it up as a bot would be, off the loop.

        Raises:
            ScenarioInvalid: The scenario cannot give the caller its state or its tools.
        """
        try:
            await asyncio.to_thread(self._set_up)
        except Exception as error:  # scenarios are foreign code
            raise ScenarioInvalid(
                f"scenario {self._scenario.name!r} cannot set up its user side: "
                f"{type(error).__name__}: {error}"
            ) from error

    def _set_up(self) -> None:
        self._state = initial_state(self._scenario, "user")
        self._tools = caller_tools(self._scenario, self._state)

    async def make(self, call: ToolCall, turn: int) -> None:
        """Make one call of the caller's, off the loop; whatever comes of it is kept."""
        before = len(self._records)
        step = await asyncio.to_thread(make_call, call, self._tools, self._state)
        record = self._records[-1] if len(self._records) > before else None
        seen = ToolCallSeen(
            turn, call.name, dict(call.arguments), dict(step.result), record, side="user"
        )
        self._calls.append(seen)

    async def database(self) -> dict[str, Any] | None:
        """What it is now."""
        return self._state.get("db")

    async def apply(self, domain: str, delta: Mapping[str, Any]) -> list[str]:
        """Take it in with the domain's applier."""
        if self._state.get("db") is None:
            return ["the caller has no database"]
        try:
            await asyncio.to_thread(apply_sync_delta, domain, delta, self._state["db"])
        except Exception as error:  # noqa: BLE001 - an applier may raise anything
            return [f"{type(error).__name__}: {error}"]
        return []

    def side(self) -> CallerSide | None:
        """What there is to report; None for a caller without a database that called nothing."""
        database = self._state.get("db") or None
        if database is None and not self._calls:
            return None
        # a copy: what was read out does not go on changing
        copied = json.loads(json.dumps(database))
        record = SideRecord(
            actions=tuple(self._records),
            db_hash=None if copied is None else get_dict_hash(copied),
            db=copied,
        )
        return CallerSide(record, tuple(self._calls))

    @property
    def _records(self) -> list[dict[str, Any]]:
        records: list[dict[str, Any]] = self._state.get("actions", [])
        return records
