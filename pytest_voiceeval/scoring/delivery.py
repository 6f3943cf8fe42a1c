"""What an agent delivered in a call: the actions it recorded, or the results it handed in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.scoring.matching import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def delivered(actions: Iterable[Mapping[str, Any]] | None, handed_in: Sequence[Any]) -> list[Any]:
    """What is compared with a reference answer.

    Args:
        actions: The records of write tools, None if they are not known.
        handed_in: What was handed in, as text or as a value.

    Returns:
        The recorded actions if there are any, else what was handed in, else the empty list of
        actions. (The reference harness loses what was handed in as soon as the list of actions is
        known, though it is empty.)
    """
    records = None if actions is None else [dict(action) for action in actions]
    if records or (records is not None and not handed_in):
        return [{ACTIONS: records}]
    return [read_result(result) for result in handed_in]


def read_result(result: Any) -> Any:
    """Read a text that was handed in: JSON, else it stands for a message."""
    if not isinstance(result, str):
        return result
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        return {"message": result}


def without_empty(payloads: Sequence[Any]) -> list[Any]:
    """The payloads without empty lists of actions, which say that nothing was delivered."""
    return [payload for payload in payloads if payload != {ACTIONS: []}]
