"""How far ahead xdist hands out items; imported by its controller only."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from xdist.scheduler import LoadScheduling  # type: ignore[import-untyped]

from pytest_voiceeval.plugin.options import read_settings

if TYPE_CHECKING:
    import pytest

    from pytest_voiceeval.plugin.options import Settings


class AheadScheduling(LoadScheduling):  # type: ignore[misc]
    """Like xdist's own for `--dist load`, but hands out what the calls that run ahead can use.

    xdist's own keeps a worker short of items, all the more towards the end of a run.

    Args:
        config: The controller's.
        log: xdist's.
        ahead: Calls that a worker holds at once.
    """

    def __init__(self, config: pytest.Config, log: Any, ahead: int) -> None:
        super().__init__(config, log)
        self.maxschedchunk = 2  # at first; more is handed out here
        self._ahead = ahead

    def schedule(self) -> None:
        """Hand out the first items, or more of them to workers that came later."""
        super().schedule()
        for node in self.nodes:
            self._supply(node)
        if self.collection and not self.pending:
            # a worker runs its last item once it knows that no other follows
            for node in self.nodes:
                node.shutdown()

    def check_schedule(self, node: Any, duration: float = 0) -> None:  # noqa: ARG002
        """Hand out more to a worker that has finished an item."""
        if node.shutting_down:
            return
        if self.pending:
            self._supply(node)
        else:
            node.shutdown()

    def _supply(self, node: Any) -> None:
        self._send_tests(node, max(0, self._wanted() - len(self.node2pending[node])))

    def _wanted(self) -> int:
        """The current item and those ahead, but no more than a fair part; xdist needs two."""
        fair = math.ceil(len(self.collection or ()) / len(self.node2pending))
        return max(2, min(self._ahead + 1, fair))


def make_scheduler(config: pytest.Config, log: Any) -> AheadScheduling | None:
    """The scheduler of a run that holds calls; None where xdist's own is to be used.

    Args:
        config: The controller's.
        log: xdist's.
    """
    if config.getvalue("dist") != "load" or config.getvalue("maxschedchunk") is not None:
        return None
    return AheadScheduling(config, log, calls_of_a_worker(read_settings(config)))


def calls_of_a_worker(settings: Settings) -> int:
    """How many calls a worker may hold at once, as far as the controller can know.

    A conftest that brings its own bots is known to the workers only: many are assumed.
    """
    from pytest_voiceeval.bots.endpoint import MANY_CALLS, parse_bot_urls

    if settings.voice_concurrency is not None:
        return settings.voice_concurrency
    if settings.agent_url:
        return sum(bot.max_calls for bot in parse_bot_urls(settings.agent_url, "--agent-url"))
    return 1 if settings.agent_cmd or settings.agent_fault == "crashes" else MANY_CALLS
