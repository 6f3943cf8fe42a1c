"""Identifiers that the agent spoke as they are written, for files and for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_voiceeval.report.layout import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_voiceeval.call.spelling import SpokenAsWritten

COUNT = "identifiers_spoken_as_written"
PLACES = "spoken_as_written"
_NAMED = 3


def spelling_figures(misspoken: Sequence[SpokenAsWritten] | None) -> dict[str, Any]:
    """How many there are and where, for files; nothing for a scenario without identifiers."""
    if misspoken is None:
        return {}
    places = [
        {"turn": each.turn, "identifier": each.identifier, "text": each.text} for each in misspoken
    ]
    return {COUNT: len(places), PLACES: places}


def spelling_notes(misspoken: Sequence[SpokenAsWritten] | None) -> list[str]:
    """One line for people, if there are any."""
    if not misspoken:
        return []
    shown = [f"{each.identifier} (turn {each.turn})" for each in misspoken[:_NAMED]]
    more = len(misspoken) - len(shown)
    named = ", ".join(shown) + (f" and {more} more" if more else "")
    return [f"{count(len(misspoken), 'identifier')} spoken as written, not spelled: {named}"]
