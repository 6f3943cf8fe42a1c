"""Runs the calls of coming items ahead of the one being reported.

pytest runs one item at a time and a call is mostly waiting. So when an item's turn begins, and
whenever a call ends while pytest waits for another, the calls of the next eligible items are
started, until as many are under way as the bots can take.
"""

from __future__ import annotations

import operator
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.plugin.calllog import filing
from pytest_voiceeval.plugin.eligibility import Eligible
from pytest_voiceeval.plugin.keys import RESULT, RUNTIME
from pytest_voiceeval.plugin.scheduling import Upcoming

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_voiceeval.plugin.engine import Work
    from pytest_voiceeval.plugin.measuring import Measured
    from pytest_voiceeval.plugin.runtime import Runtime
    from pytest_voiceeval.scenario.model import Scenario

HORIZON = 200
"""Items that are looked at for calls to run ahead: unrelated tests may stand between them."""
RECHECK = 0.5
"""Seconds between two looks at what xdist assigned or took away while a call is waited for."""
ROOM = 5
"""Times as many calls as run at once may be ahead of their reports: one long call in front does
not stop the others, and results in memory stay few. With `-x` it is 1."""
CANCEL_DEADLINE = 20.0
"""Seconds that cancelled calls have to free their bots."""


@dataclass(slots=True)
class Flight:
    """A call that was started for an item.

    Attributes:
        work: The call in the engine.
        scenario: What it is about.
        given: What `agent_bot`, `caller_bot` and `agent_state` were.
        taken: The item has asked for it.
    """

    work: Work[Measured]
    scenario: Scenario
    given: tuple[Any, Any, Any]
    taken: bool = False

    def serves(self, scenario: Scenario, given: tuple[Any, Any, Any]) -> bool:
        """Whether it is the call that an item with these fixture values asks for."""
        return self.scenario is scenario and all(map(operator.is_, self.given, given))


class LookAhead:
    """A pytest plugin, registered by runs that hold calls."""

    def __init__(self) -> None:
        self.eligible = Eligible()
        self._flights: dict[pytest.Item, Flight] = {}
        self._ending: list[Work[Measured]] = []
        self._room = ROOM
        self._current: tuple[pytest.Item, pytest.Item | None] | None = None
        self._upcoming: Upcoming | None = None

    # -- hooks

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """File the log records of calls with their calls; leave no call behind."""
        self._upcoming = Upcoming(session)
        option = session.config.option
        stops_early = bool(option.maxfail or getattr(option, "stepwise", False))
        self._room = 1 if stops_early else ROOM
        with filing(session.config):
            try:
                return (yield)
            finally:
                # also after Ctrl-C, while their records are still filed
                self.land()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        """Remember what session fixtures returned."""
        value = yield
        self.eligible.fixtures.came_up(fixturedef, request, value)
        return value

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        """Forget them once they are torn down."""
        self.eligible.fixtures.went_down(fixturedef)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Start what can be started before the item's own set-up."""
        self._current = (item, nextitem)
        runtime = item.config.stash.get(RUNTIME, None)
        if runtime is not None:
            self._fill(runtime)
        try:
            return (yield)
        finally:
            self._drop(item)
            # a long run is not to keep the databases and transcripts of all its calls
            if RESULT in item.stash:
                del item.stash[RESULT]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """End the calls of a session that stops, before its bots are torn down."""
        if nextitem is None or item.session.shouldfail or item.session.shouldstop:
            self.land()

    # -- for the runtime

    def scenario_of(self, item: pytest.Item) -> Scenario | None:
        """The scenario of the call that was started ahead for an item."""
        flight = self._flights.get(item)
        return None if flight is None or flight.taken else flight.scenario

    def call(
        self, item: pytest.Item, runtime: Runtime, scenario: Scenario, given: tuple[Any, Any, Any]
    ) -> Measured:
        """Wait for the call of an item, which is started now unless it runs already."""
        flight = self._claim(item, runtime, scenario, given)
        try:
            while not flight.work.over:
                self._fill(runtime)
                self._wait(RECHECK)
            self._fill(runtime)
            return flight.work.future.result()
        except BaseException:
            self._cancel(flight)
            raise

    def land(self) -> None:
        """Cancel every call that no item has asked for, and see that it frees its bots."""
        for item, flight in list(self._flights.items()):
            if not flight.taken:
                self._drop(item)
        wait([work.future for work in self._ending], CANCEL_DEADLINE)
        self._ending.clear()

    # -- starting

    def _claim(
        self, item: pytest.Item, runtime: Runtime, scenario: Scenario, given: tuple[Any, Any, Any]
    ) -> Flight:
        """The call that was started ahead if it is the one that is asked for, else a fresh one.

        A second request, by a rerun of the item, always gets a fresh one.
        """
        flight = self._flights.get(item)
        if flight is None or flight.taken or not flight.serves(scenario, given):
            self._drop(item)
            most = runtime.concurrency(given)
            while len(self._under_way()) >= most:
                self._wait(None)
            held_back = self.eligible.why_not(item) if most > 1 else None
            flight = self._start(item, runtime, scenario, given, held_back)
        flight.taken = True
        return flight

    def _fill(self, runtime: Runtime) -> None:
        """Start calls ahead until no more can run."""
        if self._current is None or self._upcoming is None:
            return
        item, nextitem = self._current
        coming = [item, *islice(self._upcoming.after(item, nextitem), HORIZON)]
        if self._upcoming.may_shrink:
            self._drop_stolen(coming)
        for candidate in coming:
            if self.eligible.is_border(candidate) or not self._start_ahead(candidate, runtime):
                return

    def _start_ahead(self, item: pytest.Item, runtime: Runtime) -> bool:
        """Start the call of an item if it may; False when none can be started any more."""
        if item in self._flights or self.eligible.why_not(item) is not None:
            return True
        given = self.eligible.given(item)
        try:
            most = runtime.concurrency(given)
            if most == 1 or not self._has_room(most):
                return False
            self._start(item, runtime, runtime.scenario(item), given)
        except (Exception, pytest.fail.Exception):  # noqa: BLE001 - its own turn will tell
            self._flights.pop(item, None)
        return True

    def _start(
        self,
        item: pytest.Item,
        runtime: Runtime,
        scenario: Scenario,
        given: tuple[Any, Any, Any],
        held_back: str | None = None,
    ) -> Flight:
        work = runtime.start(item, scenario, given, held_back)
        flight = self._flights[item] = Flight(work, scenario, given)
        return flight

    def _has_room(self, most: int) -> bool:
        return len(self._under_way()) < most and self._unreported() < most * self._room

    # -- what is under way

    def _under_way(self) -> list[Flight]:
        return [flight for flight in self._flights.values() if not flight.work.over]

    def _unreported(self) -> int:
        return sum(not flight.taken for flight in self._flights.values())

    def _wait(self, seconds: float | None) -> None:
        """Wait until one of the calls under way is over."""
        futures = [flight.work.future for flight in self._under_way()]
        wait(futures, seconds, return_when=FIRST_COMPLETED)

    # -- ending

    def _drop(self, item: pytest.Item) -> None:
        """Forget an item's call; one that still runs is cancelled."""
        flight = self._flights.pop(item, None)
        if flight is not None:
            self._cancel(flight)

    def _cancel(self, flight: Flight) -> None:
        if not flight.work.over:
            flight.work.cancel()
            self._ending.append(flight.work)

    def _drop_stolen(self, coming: list[pytest.Item]) -> None:
        """Cancel calls of items that xdist took away: another worker holds them."""
        kept = set(coming)
        for item in list(self._flights):
            if item not in kept:
                self._drop(item)
