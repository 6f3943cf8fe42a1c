"""Fields of a verdict by name, whatever the case in which a model writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pytest_voiceeval.judge.faults import unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping

_ABSTAINS: Final = ("abstain", "abstained", "abstention", "cannot_judge", "unable_to_judge")


def has_field(fields: Mapping[str, Any], name: str) -> bool:
    """Whether there is a field of this name."""
    return any(key.strip().lower() == name for key in fields)


def field_of(fields: Mapping[str, Any], name: str) -> Any:
    """The field of this name, None if there is none.

    Raises:
        JudgeFault: It is there in two spellings with different values (`conflicting`).
    """
    values = [value for key, value in fields.items() if key.strip().lower() == name]
    if any(value != values[0] for value in values[1:]):
        raise unreadable("conflicting", f"the reply gives two values of {name!r}")
    return values[0] if values else None


def refuses(fields: Mapping[str, Any]) -> bool:
    """Whether a verdict says of itself that it is none."""
    return any(key.strip().lower() in _ABSTAINS and value for key, value in fields.items())
