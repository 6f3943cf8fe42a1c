"""Which left-over elements of two lists are one element that was edited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pytest_voiceeval.scoring.normalize import canonical_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

EDIT_LIMIT: Final = 2_500
"""Pairs of elements compared with each other; more are taken for removed and added."""

_SAME_ELEMENT: Final = 0.5  # share of equal leaves from which on two elements are one, edited
_FEWEST_LEAVES: Final = 3  # of an element that may have changed its very identity

Pairs = list[tuple[int, int]]
Leaves = dict[tuple[str | int, ...], str]


def find_edited(
    removed: Mapping[int, Any], added: Mapping[int, Any], *, identified: bool, ordered: bool
) -> Pairs:
    """Pair elements that are probably the same, before and after an edit.

    * Elements with an identity: only if nothing but one leaf differs (the identity itself).
    * Others in an ordered list: by position, if as many were removed as added.
    * Numbers in an unordered list: by size, if as many were removed as added.
    * Other objects and lists: those that share at least half of their leaves.

    Args:
        removed: Elements by their position in the expected list.
        added: Elements by their position in the actual list.
        identified: Whether the lists have an identity field.
        ordered: Whether order counts; pairs then do not cross.
    """
    if not removed or not added:
        return []
    if not identified and ordered and len(removed) == len(added):
        return list(zip(removed, added, strict=True))
    pairs = [] if identified or ordered else _numbers(removed, added)
    return pairs + _similar(removed, added, identified=identified, ordered=ordered)


def leaves(value: Any) -> Leaves:
    """Flatten a value: the path of each scalar or empty container, and its JSON text."""
    found: Leaves = {}
    todo: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while todo:
        path, item = todo.pop()
        children = list(_children(item))
        if children:
            todo += [((*path, key), child) for key, child in children]
        else:
            found[path] = canonical_text(item)
    return found


def _children(item: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(item, dict):
        return item.items()
    return enumerate(item) if isinstance(item, list) else ()


def _numbers(removed: Mapping[int, Any], added: Mapping[int, Any]) -> Pairs:
    left, right = (
        sorted((i for i in items if type(items[i]) in (int, float)), key=items.__getitem__)
        for items in (removed, added)
    )
    return list(zip(left, right, strict=True)) if len(left) == len(right) else []


def _similar(
    removed: Mapping[int, Any], added: Mapping[int, Any], *, identified: bool, ordered: bool
) -> Pairs:
    left, right = _flatten_containers(removed), _flatten_containers(added)
    if len(left) * len(right) > EDIT_LIMIT:
        return []
    rate = _renamed if identified else _similarity
    rated = [(-rate(left[i], right[j]), i, j) for i in left for j in right]
    pairs: Pairs = []
    for score, i, j in sorted(rated):
        if -score >= _SAME_ELEMENT and not _in_the_way(i, j, pairs, ordered=ordered):
            pairs.append((i, j))
    return pairs


def _flatten_containers(items: Mapping[int, Any]) -> dict[int, Leaves]:
    return {i: leaves(item) for i, item in items.items() if isinstance(item, dict | list)}


def _similarity(left: Leaves, right: Leaves) -> float:
    return 2 * len(left.items() & right.items()) / (len(left) + len(right))


def _renamed(left: Leaves, right: Leaves) -> float:
    """1 if exactly one leaf differs in an element large enough to be recognised, else 0."""
    shared = len(left.items() & right.items())
    return float(len(left) == len(right) == shared + 1 and len(left) >= _FEWEST_LEAVES)


def _in_the_way(i: int, j: int, pairs: Pairs, *, ordered: bool) -> bool:
    if ordered:
        return any((i - a) * (j - b) <= 0 for a, b in pairs)
    return any(i == a or j == b for a, b in pairs)
