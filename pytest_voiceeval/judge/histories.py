"""The two context histories as parts of the evidence, shortened if that was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.judge.compaction import Limits, compact
from pytest_voiceeval.judge.evidence import as_json, without_nulls

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Shown:
    """What the judge is shown of the histories.

    Attributes:
        parts: Text by name of the part, `omissions` among them if anything was left out.
        omissions: One line a history of which something was left out.
    """

    parts: Mapping[str, str]
    omissions: tuple[str, ...] = ()

    @property
    def present(self) -> bool:
        """Whether there is any history at all."""
        return bool(self.parts)


def show(histories: Mapping[str, Sequence[Any] | None], limits: Limits | None) -> Shown:
    """Write each history that has messages as JSON.

    Args:
        histories: Messages by name of the part.
        limits: How much of each is shown; None shows all.
    """
    parts, omissions = {}, []
    for name, history in histories.items():
        if not history:
            continue
        messages = list(history)
        if limits is not None:
            compacted = compact(messages, limits)
            messages = compacted.messages
            omissions += [f"{name}: {compacted.note}"] if compacted.note else []
        parts[name] = as_json(without_nulls(messages))
    if omissions:
        parts["omissions"] = "\n".join(omissions)
    return Shown(parts, tuple(omissions))
