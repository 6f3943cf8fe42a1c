"""How many items xdist hands out, and what a worker may look at."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_voiceeval.plugin.distributing import AheadScheduling, calls_of_a_worker


class Node:
    """A worker as the scheduler sees it."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.sent: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        assert not self.shutting_down
        self.sent += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def scheduler(workers: int, items: int, ahead: int) -> tuple[AheadScheduling, list[Node]]:
    options: dict[str, Any] = {"tx": [f"{workers}*popen"], "maxschedchunk": None, "px": []}
    config: Any = SimpleNamespace(
        getoption=options.get, getvalue=options.get, option=SimpleNamespace(**options), hook=None
    )
    made = AheadScheduling(config, None, ahead)
    nodes = [Node(f"gw{number}") for number in range(workers)]
    for node in nodes:
        made.add_node(node)
        made.add_node_collection(node, [f"item{number}" for number in range(items)])
    made.schedule()
    return made, nodes


@pytest.mark.parametrize(
    ("workers", "items", "ahead", "first"),
    [
        pytest.param(2, 100, 16, [17, 17], id="the current one and those ahead"),
        pytest.param(2, 100, 1, [2, 2], id="one at a time"),
        pytest.param(2, 20, 16, [10, 10], id="no more than a fair part"),
        pytest.param(3, 10, 16, [4, 4, 2], id="what is there"),
        pytest.param(4, 3, 16, [1, 1, 1, 0], id="fewer items than workers"),
        pytest.param(2, 0, 16, [0, 0], id="none"),
    ],
)
def test_what_workers_get_at_first(workers: int, items: int, ahead: int, first: list[int]) -> None:
    _, nodes = scheduler(workers, items, ahead)
    assert [len(node.sent) for node in nodes] == first
    # a worker that has everything is told so: it holds back its last item until then
    assert all(node.shutting_down for node in nodes) == (0 < sum(first) == items)


@pytest.mark.parametrize(("items", "ahead"), [(40, 4), (41, 16), (7, 1), (3, 16)])
def test_every_item_is_handed_out_once_and_in_time(items: int, ahead: int) -> None:
    made, nodes = scheduler(2, items, ahead)
    done: list[int] = []
    while not made.tests_finished or any(made.node2pending.values()):
        node = nodes[len(done) % 2] if made.node2pending[nodes[len(done) % 2]] else nodes[0]
        node = node if made.node2pending[node] else nodes[1]
        assert len(made.node2pending[node]) > 1 or node.shutting_down
        index = made.node2pending[node][0]
        done.append(index)
        made.mark_test_complete(node, index)
    assert sorted(done) == list(range(items))
    assert all(node.shutting_down for node in nodes)


def test_the_items_of_a_worker_that_died_are_handed_out_again() -> None:
    made, nodes = scheduler(2, 40, 4)
    had = list(made.node2pending[nodes[0]])
    assert made.remove_node(nodes[0]) == f"item{had[0]}"
    others = nodes[1]
    while made.node2pending[others]:
        made.mark_test_complete(others, made.node2pending[others][0])
    assert set(had[1:]) <= set(others.sent)


def settings(**given: Any) -> Any:
    known = {
        "voice_concurrency": None,
        "agent_url": (),
        "agent_cmd": None,
        "agent_fault": None,
    }
    return SimpleNamespace(**known | given)


@pytest.mark.parametrize(
    ("given", "calls"),
    [
        pytest.param({}, 16, id="stock bot"),
        pytest.param({"voice_concurrency": 50, "agent_cmd": "bot"}, 50, id="as asked"),
        pytest.param({"agent_cmd": "bot"}, 1, id="a command"),
        pytest.param({"agent_url": ("ws://h:1", "ws://h:2")}, 2, id="a pool"),
        pytest.param({"agent_url": ("ws://h/{session}",)}, 16, id="many sessions"),
        pytest.param({"agent_fault": "crashes"}, 1, id="a bot that crashes"),
    ],
)
def test_how_many_calls_a_worker_holds(given: dict[str, Any], calls: int) -> None:
    assert calls_of_a_worker(settings(**given)) == calls
