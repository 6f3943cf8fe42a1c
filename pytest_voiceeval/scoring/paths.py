"""How a place inside a state is written for people."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT: Final = "<root>"
"""What the empty path is called."""

MAX_STEPS: Final = 24
"""Longer paths are shortened in the middle."""

_PLAIN_KEY: Final = re.compile(r"[^\s.\[\]\"'\\(){}<>]+")


def format_path(path: Sequence[str | int]) -> str:
    """Write a path such as ``orders.#W12.items[0].price``.

    Keys that are empty or hold blanks, dots, brackets or quotes are quoted: ``fares["J 1"]``.

    Args:
        path: Keys (text) and list positions (integers) from the root down.

    Returns:
        One line of text; ``<root>`` for the empty path.
    """
    steps = [format_step(part) for part in path]
    if len(steps) > MAX_STEPS:
        half = MAX_STEPS // 2
        steps = [*steps[:half], "…", *steps[-half:], f" ({len(path)} levels)"]
    return join_steps(steps)


def format_step(part: str | int) -> str:
    """Write one step of a path, with the dot or bracket before it."""
    if isinstance(part, int):
        return f"[{part}]"
    if _PLAIN_KEY.fullmatch(part):
        return f".{part}"
    return f"[{json.dumps(part)}]"


def join_steps(steps: Sequence[str]) -> str:
    """Join what `format_step` wrote."""
    return "".join(steps).removeprefix(".") or ROOT
