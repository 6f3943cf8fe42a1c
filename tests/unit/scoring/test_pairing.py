"""Perfect and largest pairings."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from pytest_voiceeval.scoring.pairing import can_pair_all, pair_most

TABLES = st.integers(0, 5).flatmap(
    lambda width: st.lists(
        st.lists(st.booleans(), min_size=width, max_size=width), min_size=0, max_size=5
    ).map(lambda rows: (rows, width))
)


def most_by_trying(rows: list[list[bool]], width: int) -> int:
    padded = [*range(width), *[None] * len(rows)]
    return max(
        sum(j is not None and rows[i][j] for i, j in enumerate(choice))
        for choice in permutations(padded, len(rows))
    )


@given(TABLES)
def test_pairings_are_as_large_as_possible(table):
    rows, width = table
    pairs = pair_most(len(rows), width, lambda i, j: rows[i][j])
    assert all(rows[i][j] for i, j in pairs.items())
    assert len(set(pairs.values())) == len(pairs)
    assert len(pairs) == most_by_trying(rows, width)
    assert can_pair_all(len(rows), width, lambda i, j: rows[i][j]) is (len(pairs) == len(rows))


def test_each_pair_is_asked_about_once():
    asked: list[tuple[int, int]] = []

    def accepts(i: int, j: int) -> bool:
        asked.append((i, j))
        return j < 2

    assert not can_pair_all(3, 4, accepts)
    assert len(asked) == len(set(asked))


def test_long_chains_need_no_recursion():
    """Every newcomer takes the place of the one before, down to the first."""
    count = 600

    def accepts(i: int, j: int) -> bool:
        return j in ((i, i + 1) if i < count else (0,))

    pairs = pair_most(count + 1, count + 1, accepts)
    assert pairs == {count: 0} | {i: i + 1 for i in range(count)}
