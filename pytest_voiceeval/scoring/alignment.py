"""Which element of one list is which element of another.

Elements are recognised by an identity field if the lists have one (``id``, ``journey_id``,
``flight_number``, ``code``, ``name``, …), else by their content. What stays over on both sides may
still be one element that was edited; the rest was removed or added.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pytest_voiceeval.scoring.edits import Pairs, find_edited
from pytest_voiceeval.scoring.normalize import canonical_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TABLE_LIMIT: Final = 1_000_000
"""Cells of the table for the longest common subsequence; larger lists use unique items only."""

# (exact name, ending), the likeliest first
_IDENTITY_NAMES: Final = (
    ("id", ""),
    ("", "_id"),
    ("number", "_number"),
    ("code", "_code"),
    ("name", ""),
)


@dataclass(frozen=True)
class Alignment:
    """Positions in two lists.

    Attributes:
        pairs: (expected position, actual position) of elements in both, perhaps edited.
        removed: Expected positions without partner.
        added: Actual positions without partner.
        field: The identity field used, if any.
    """

    pairs: Pairs
    removed: list[int]
    added: list[int]
    field: str | None = None


def align(expected: list[Any], actual: list[Any], *, ordered: bool) -> Alignment:
    """Align two canonical lists.

    Args:
        expected: One list.
        actual: The other.
        ordered: Whether order counts. Then pairs never cross: an element that moved is removed
            in one place and added in another.
    """
    field = identity_field(expected, actual)
    numbers: dict[Any, int] = {}
    left, right = (_number(_keys(items, field), numbers) for items in (expected, actual))
    pairs = common_subsequence(left, right) if ordered else _multiset(left, right)
    for removed, added in list(_gaps(pairs, len(left), len(right), ordered=ordered)):
        edits = find_edited(
            {i: expected[i] for i in removed},
            {j: actual[j] for j in added},
            identified=field is not None,
            ordered=ordered,
        )
        pairs += edits
    return _alignment(sorted(pairs), len(left), len(right), field)


def identity_field(expected: list[Any], actual: list[Any]) -> str | None:
    """Find the field that names the elements: the one that most of them share across the lists.

    A candidate is in every element of both lists, holds text or whole numbers, and is unique
    within each list.
    """
    items = [*expected, *actual]
    if not items or not all(isinstance(item, dict) for item in items):
        return None
    fields = [field for field in items[0] if _rank(field) and _is_unique(field, expected, actual)]
    return min(fields, key=lambda field: _preference(field, expected, actual), default=None)


def common_subsequence(left: Sequence[Any], right: Sequence[Any]) -> Pairs:
    """Longest common subsequence, as positions; for very long lists of their unique items only."""
    start, end = _common_ends(left, right)
    inner_left, inner_right = left[start : len(left) - end], right[start : len(right) - end]
    if len(inner_left) * len(inner_right) <= TABLE_LIMIT:
        inner = _by_table(inner_left, inner_right)
    else:
        inner = _by_unique_items(inner_left, inner_right)
    pairs = [(index, index) for index in range(start)]
    pairs += [(start + i, start + j) for i, j in inner]
    pairs += [(len(left) - back, len(right) - back) for back in range(end, 0, -1)]
    return pairs


def _keys(items: list[Any], field: str | None) -> list[Any]:
    return [canonical_text(item) if field is None else item[field] for item in items]


def _number(keys: list[Any], numbers: dict[Any, int]) -> list[int]:
    """Stand small numbers in for keys, which may be long texts."""
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def _rank(field: str) -> int:
    """How likely a field names its element: 1 is best, 0 is not at all."""
    for rank, (exact, ending) in enumerate(_IDENTITY_NAMES, start=1):
        if field == exact or (ending and field.endswith(ending)):
            return rank
    return 0


def _is_unique(field: str, expected: list[Any], actual: list[Any]) -> bool:
    for items in (expected, actual):
        values = [item.get(field) for item in items]
        if not all(type(value) in (str, int) for value in values) or len(set(values)) < len(items):
            return False
    return True


def _preference(field: str, expected: list[Any], actual: list[Any]) -> tuple[int, int, str]:
    shared = {item[field] for item in expected} & {item[field] for item in actual}
    return -len(shared), _rank(field), field


def _multiset(left: Sequence[Any], right: Sequence[Any]) -> Pairs:
    places: dict[Any, list[int]] = {}
    for index in reversed(range(len(right))):
        places.setdefault(right[index], []).append(index)
    return [(index, places[key].pop()) for index, key in enumerate(left) if places.get(key)]


def _common_ends(left: Sequence[Any], right: Sequence[Any]) -> tuple[int, int]:
    shorter = min(len(left), len(right))
    start = 0
    while start < shorter and left[start] == right[start]:
        start += 1
    end = 0
    while end < shorter - start and left[-1 - end] == right[-1 - end]:
        end += 1
    return start, end


def _by_table(left: Sequence[Any], right: Sequence[Any]) -> Pairs:
    """The textbook table: length of the best continuation from every pair of positions."""
    rows = [[0] * (len(right) + 1)]
    for item in reversed(left):
        below = rows[-1]
        row = [0] * (len(right) + 1)
        for j in range(len(right) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if item == right[j] else max(below[j], row[j + 1])
        rows.append(row)
    rows.reverse()
    pairs: Pairs = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] == right[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif rows[i + 1][j] >= rows[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _by_unique_items(left: Sequence[Any], right: Sequence[Any]) -> Pairs:
    """Longest rising run of the items that are unique on both sides."""
    once_left, once_right = Counter(left), Counter(right)
    place = {key: j for j, key in enumerate(right) if once_right[key] == 1}
    tails: list[int] = []  # the smallest last place of a run of each length
    ends: list[int] = []  # and which link of the chain it is
    chain: list[tuple[tuple[int, int], int | None]] = []  # a pair, and the link before it
    for i, key in enumerate(left):
        if once_left[key] != 1 or key not in place:
            continue
        length = bisect_left(tails, place[key])
        tails[length : length + 1] = [place[key]]
        ends[length : length + 1] = [len(chain)]
        chain.append(((i, place[key]), ends[length - 1] if length else None))
    return _unwind(chain, ends[-1] if ends else None)


def _unwind(chain: list[tuple[tuple[int, int], int | None]], last: int | None) -> Pairs:
    pairs: Pairs = []
    while last is not None:
        pair, last = chain[last]
        pairs.append(pair)
    return pairs[::-1]


def _gaps(
    pairs: Pairs, left: int, right: int, *, ordered: bool
) -> Iterator[tuple[list[int], list[int]]]:
    """Unpaired positions that may belong together: between two pairs, or all if order is free."""
    if not ordered:
        rest = _alignment(pairs, left, right, None)
        yield rest.removed, rest.added
        return
    last_i = last_j = -1
    for i, j in [*pairs, (left, right)]:
        yield list(range(last_i + 1, i)), list(range(last_j + 1, j))
        last_i, last_j = i, j


def _alignment(pairs: Pairs, left: int, right: int, field: str | None) -> Alignment:
    used_left, used_right = {i for i, _ in pairs}, {j for _, j in pairs}
    removed = [i for i in range(left) if i not in used_left]
    added = [j for j in range(right) if j not in used_right]
    return Alignment(pairs, removed, added, field)
