"""What the models of a run cost, and the limit that no call is started beyond.

All workers share one account, a file. A call is started only if what was spent, and the dearest
call so far once for each that is under way and once for this one, stays within the limit. Until one
call has told what it costs, the next waits for it.
"""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from pytest_voiceeval.call.errors import CallError
from pytest_voiceeval.call.prices import Cost, load_price_table, show_cost, total
from pytest_voiceeval.plugin.model_agent import lost_runs, refused_runs
from pytest_voiceeval.report.files import locked

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from pytest_voiceeval.call.prices import PriceTable
    from pytest_voiceeval.call.result import Conversation, SideRecord
    from pytest_voiceeval.plugin.calling import Job
    from pytest_voiceeval.plugin.options import Settings

POLL = 0.1
"""Seconds between two looks at whether a call may start."""

CENT = 1e-9
"""Dollars that a sum of floats may be off."""


class CostLimit(CallError):
    """A call was not started, because it could have passed `--max-cost`."""

    code = "cost_limit"


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who speaks for a side of a call.

    Attributes:
        kind: A `script` costs nothing, a `bot` of the user's tells nobody what it costs.
        model: Name of the model.
        url: Where it is.
    """

    kind: Literal["script", "model", "bot"]
    model: str = ""
    url: str = ""


def speakers_of(job: Job) -> dict[str, Speaker]:
    """Who speaks in a call, by side."""
    return {"agent": _agent_of(job), "user": _caller_of(job)}


def _agent_of(job: Job) -> Speaker:
    model = job.bots.model_of(job.agent)
    if model is not None:
        return Speaker("model", model.model, model.url)
    scripted = job.bots.scripted_session(job.agent, job.session) is not None
    return Speaker("script" if scripted else "bot")


def _caller_of(job: Job) -> Speaker:
    model = job.caller_model
    if model is not None:
        return Speaker("model", model.model, model.url)
    if job.caller is None or job.bots.scripted_session(job.caller, job.session) is not None:
        return Speaker("script")
    return Speaker("bot")


class Till:
    """Prices calls, and keeps the run below its limit.

    Args:
        settings: The run's options.
        file: The account that all processes of the run share; used with a limit only.
    """

    def __init__(self, settings: Settings, file: Path) -> None:
        self._settings = settings
        self._file = file
        self._table: PriceTable | None = None

    @property
    def table(self) -> PriceTable:
        """The prices: the user's own, then the shipped ones."""
        if self._table is None:
            self._table = load_price_table(*self._settings.models.price_tables)
        return self._table

    def bill(self, job: Job) -> Bill:
        """The bill of a call that is about to begin."""
        speakers = speakers_of(job)
        limit = self._settings.models.max_cost
        asked = [*speakers.values(), self._judge()]
        if limit is None or not any(self._costs(speaker) for speaker in asked):
            return Bill(self, speakers, None)
        return Bill(self, speakers, Account(self._file, limit))

    def _judge(self) -> Speaker:
        """Who judges the calls, as it speaks after them."""
        judge = self._settings.judge
        return Speaker("model" if judge.on else "script", judge.model or "", judge.url or "")

    def _costs(self, speaker: Speaker) -> bool:
        """Whether a speaker is known to cost anything."""
        price = self.table.find(speaker.model, speaker.url) if speaker.kind == "model" else None
        return price is not None and (price.input > 0 or price.output > 0)

    def cost(self, side: str, speaker: Speaker, record: SideRecord | None) -> Cost:
        """What one side of a call cost.

        Args:
            side: Which one.
            speaker: Who spoke for it.
            record: What it reported, None if it never came to ask its model.
        """
        if speaker.kind != "model":
            return Cost({side: 0.0 if speaker.kind == "script" else None}, {})
        models = {side: speaker.model}
        if record is None or (record.tokens is None and not record.uncounted_runs):
            return Cost({side: 0.0}, models)
        price = self.table.find(speaker.model, speaker.url)
        if price is None or record.tokens is None or record.uncounted_runs:
            return Cost({side: None}, models)
        return Cost({side: price.cost(record.tokens)}, models, price.date)


class Bill:
    """What one call costs, from its start to its end.

    Args:
        till: Knows the prices.
        speakers: Who speaks in it, by side.
        account: Where it is counted, None without a limit.
    """

    def __init__(self, till: Till, speakers: dict[str, Speaker], account: Account | None) -> None:
        self._till = till
        self._speakers = speakers
        self._account = account
        self._open = False
        self._due: float | None = 0.0

    async def open(self) -> None:
        """Wait until the call may start.

        Raises:
            CostLimit: It may not.
        """
        if self._account is None:
            return
        # not in a thread: a place that was taken for a call cut off meanwhile would never be freed
        while not self._account.open():  # noqa: ASYNC110 - other processes are waited for
            await asyncio.sleep(POLL)
        self._open = True

    def begin(self) -> None:
        """From now on models are asked: what that costs is unknown until it is priced."""
        self._due = None

    def price(self, conversation: Conversation) -> Conversation:
        """The conversation with what it cost, and a note if the agent's part is unknown.

        One that has its price already, and may have been judged since, keeps it.
        """
        if conversation.cost is not None:
            self.due(conversation.cost)
            return conversation
        uncounted = conversation.agent.uncounted_runs
        uncounted -= min(refused_runs(conversation), uncounted)
        uncounted += lost_runs(conversation)
        agent = replace(conversation.agent, uncounted_runs=uncounted)
        records = {"agent": agent, "user": conversation.user}
        cost = Cost({}, {})
        for side, speaker in self._speakers.items():
            cost = cost.plus(self._till.cost(side, speaker, records[side]))
        self.due(cost)
        notes = (*conversation.warnings, *self._uncounted(agent))
        return replace(conversation, agent=agent, cost=cost, warnings=tuple(dict.fromkeys(notes)))

    def due(self, cost: Cost) -> None:
        """Count this as the whole cost of the call; what a bot of the user's costs nobody knows."""
        bots = {side for side, speaker in self._speakers.items() if speaker.kind == "bot"}
        self._due = total(cost.sides[side] for side in cost.sides.keys() - bots)

    def _uncounted(self, agent: SideRecord) -> tuple[str, ...]:
        missing = agent.uncounted_runs
        if self._speakers["agent"].kind != "model" or not missing:
            return ()
        runs = agent.model_runs + missing if agent.tokens else missing
        note = f"{missing} of {runs} answers of its model came without token counts"
        return (f"the agent's cost is unknown: {note}",)

    def close(self) -> None:
        """The call is over, or was never started."""
        if self._open and self._account is not None:
            self._open = False
            self._account.close(self._due)


class Account:
    """What all processes of a run have spent, and which calls are under way.

    Args:
        file: Where it is kept.
        limit: Dollars.
    """

    def __init__(self, file: Path, limit: float) -> None:
        self._file = file
        self._limit = limit

    def open(self) -> bool:
        """Count one more call as under way; False while others must end first.

        Raises:
            CostLimit: There is no room for another call.
        """
        with self._locked() as file:
            state = _State.read(file)
            if not state.admits(self._limit):
                return False
            state.calls[str(os.getpid())] = state.calls.get(str(os.getpid()), 0) + 1
            state.write(file)
            return True

    def close(self, dollars: float | None) -> None:
        """One call less is under way; it cost this much."""
        with self._locked() as file:
            state = _State.read(file)
            pid = str(os.getpid())
            state.calls[pid] = max(0, state.calls.get(pid, 0) - 1)
            if dollars is None:
                # the dearest so far is the best guess there is
                state.unknown += 1
                state.spent += state.dearest
            else:
                state.spent += dollars
                state.dearest = max(state.dearest, dollars)
            state.write(file)

    def _locked(self) -> Any:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        return locked(self._file)


@dataclass(slots=True)
class _State:
    """The content of the account.

    Attributes:
        spent: Dollars.
        dearest: Dollars of the dearest call so far, 0 if none has cost anything yet.
        unknown: Calls whose cost is unknown.
        calls: Calls under way, by process.
    """

    spent: float
    dearest: float
    unknown: int
    calls: dict[str, int]

    @classmethod
    def read(cls, file: BinaryIO) -> _State:
        """What was written last, without the calls of processes that are gone."""
        try:
            state = cls(**json.loads(file.read() or b"{}"))
        except (TypeError, ValueError):
            state = cls(0.0, 0.0, 0, {})
        state.calls = {pid: n for pid, n in state.calls.items() if n and is_alive(int(pid))}
        return state

    def write(self, file: BinaryIO) -> None:
        """Replace what is in the file."""
        file.truncate(0)
        known = {"spent": self.spent, "dearest": self.dearest, "unknown": self.unknown}
        file.write(json.dumps({**known, "calls": self.calls}).encode())
        file.flush()

    def admits(self, limit: float) -> bool:
        """Whether one more call may start now; False while others must end first."""
        under_way = sum(self.calls.values())
        if self.dearest == 0:
            if self.unknown:
                raise CostLimit(
                    f"not started: {self.unknown} call(s) of this run did not tell what they "
                    f"cost, so --max-cost {limit:g} cannot be kept"
                )
            return under_way == 0
        if self.spent + (under_way + 1) * self.dearest <= limit + CENT:
            return True
        if under_way:
            return False
        raise CostLimit(
            f"not started: the calls so far cost {show_cost(self.spent)} and the dearest of them "
            f"{show_cost(self.dearest)}, so another could pass --max-cost {limit:g}"
        )


def is_alive(pid: int) -> bool:
    """Whether there is a process of this number."""
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False
