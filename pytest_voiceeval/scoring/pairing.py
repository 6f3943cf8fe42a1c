"""Pairing two lists so that as many elements as possible find a partner."""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def can_pair_all(left: int, right: int, accepts: Callable[[int, int], bool]) -> bool:
    """Say whether every left element can have a right one of its own.

    Args:
        left: How many elements there are on the left.
        right: How many on the right.
        accepts: Whether left element i goes with right element j; asked at most once for a pair.
    """
    if left > right:
        return False
    pairing = _Pairing(right, accepts)
    return all(pairing.add(i) for i in range(left))


def pair_most(left: int, right: int, accepts: Callable[[int, int], bool]) -> dict[int, int]:
    """Give a largest pairing, as right positions by left positions. Arguments as above."""
    pairing = _Pairing(right, accepts)
    for i in range(left):
        pairing.add(i)
    return pairing.right_of


class _Pairing:
    """A bipartite matching that grows by augmenting paths."""

    def __init__(self, right: int, accepts: Callable[[int, int], bool]) -> None:
        self.right_of: dict[int, int] = {}
        self._left_of: dict[int, int] = {}
        self._right = right
        self._accepts = accepts
        self._asked: dict[tuple[int, int], bool] = {}

    def add(self, start: int) -> bool:
        """Find a partner for one more left element, moving others to new partners if needed."""
        reached_from: dict[int, int] = {}
        waiting = deque([start])
        while waiting:
            i = waiting.popleft()
            for j in self._candidates(i):
                if j in reached_from or not self._goes_with(i, j):
                    continue
                reached_from[j] = i
                if j not in self._left_of:
                    self._move(start, j, reached_from)
                    return True
                waiting.append(self._left_of[j])
        return False

    def _candidates(self, i: int) -> Iterable[int]:
        """All right elements, the one at the same position first: it is the likely partner."""
        return chain((i,), range(self._right)) if i < self._right else range(self._right)

    def _goes_with(self, i: int, j: int) -> bool:
        if (i, j) not in self._asked:
            self._asked[i, j] = self._accepts(i, j)
        return self._asked[i, j]

    def _move(self, start: int, j: int | None, reached_from: dict[int, int]) -> None:
        """Walk the path back to its start; each left element on it gives up its old partner."""
        while j is not None:
            i = reached_from[j]
            given_up = self.right_of.get(i) if i != start else None
            self.right_of[i], self._left_of[j] = j, i
            j = given_up
