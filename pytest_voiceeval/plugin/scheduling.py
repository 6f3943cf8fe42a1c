"""What a process is going to run next, without and with xdist.

Under xdist a worker may look ahead only in what it was assigned: every worker collects everything.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


class Upcoming:
    """Tells the items that this process runs after the current one, in their order."""

    def __init__(self, session: pytest.Session) -> None:
        self._items = session.items
        self._places = {item: place for place, item in enumerate(session.items)}
        self._is_worker = hasattr(session.config, "workerinput")
        self._queue = _worker_queue(session.config) if self._is_worker else None

    @property
    def may_shrink(self) -> bool:
        """Whether items may be taken away again, for another worker."""
        return self._is_worker

    def after(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[pytest.Item]:
        """The items after `item`; none where a worker does not tell what it was assigned."""
        if not self._is_worker:
            place = self._places.get(item, len(self._items))
            return islice(self._items, place + 1, None)
        assigned = [] if nextitem is None else [nextitem]
        return iter(assigned + self._assigned())

    def _assigned(self) -> list[pytest.Item]:
        if self._queue is None:
            return []
        with self._queue.lock() as indices:
            # the last entry may be the mark for the end
            return [self._items[index] for index in indices if isinstance(index, int)]


def _worker_queue(config: pytest.Config) -> Any:
    """The queue of xdist's worker; it has no public name, so None if it is not as expected."""
    for plugin in config.pluginmanager.get_plugins():
        queue = getattr(plugin, "torun", None)
        if callable(getattr(queue, "lock", None)):
            return queue
    return None
