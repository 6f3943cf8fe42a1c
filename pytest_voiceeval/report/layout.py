"""Lines of one screen: wrapping and clipping by display width, and sections that share a height."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_voiceeval.report.characters import columns, flat, split_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WIDTH = 80
"""Columns of a line. Only a path or an id that has to be copied may take more."""

ELLIPSIS = "…"

Lines = tuple[str, ...]


def clip(line: str, room: int = WIDTH) -> str:
    """Cut a line to at most `room` columns; what was cut shows as an ellipsis."""
    if columns(line) <= room:
        return line
    return split_at(line, room - 1)[0].rstrip() + ELLIPSIS


def wrap(text: str, *, lead: str = "", indent: int = 2, limit: int | None = None) -> Lines:
    """Fill words into lines of `WIDTH` columns.

    Args:
        text: Words; blanks between them are kept, except where a line ends.
        lead: What the first line begins with.
        indent: Blanks the others begin with.
        limit: Most lines; the last one then ends in an ellipsis.
    """
    lines = [lead]
    fresh = True
    for word in _pieces(flat(text), WIDTH - max(columns(lead), indent)):
        joined = lines[-1] + word if fresh else f"{lines[-1]} {word}"
        if columns(joined) <= WIDTH:
            lines[-1] = joined
        else:
            lines.append(" " * indent + word)
        fresh = False
    return _limited([line.rstrip() for line in lines], limit)


def _limited(lines: Sequence[str], limit: int | None) -> Lines:
    """At most `limit` lines, the last of which then says that there were more."""
    if limit is None or len(lines) <= limit:
        return tuple(lines)
    kept = lines[limit - 1]
    return (*lines[: limit - 1], clip(f"{kept} {ELLIPSIS}", WIDTH))


def _pieces(text: str, room: int) -> list[str]:
    """Words, those that fill more than a line cut into pieces of one line."""
    found: list[str] = []
    for word in text.split(" "):
        rest = word
        while columns(rest) > room:
            piece, rest = split_at(rest, room)
            found.append(piece)
        found.append(rest)
    return found


def join_units(
    units: Sequence[str],
    *,
    glue: str,
    lead: str = "  ",
    indent: int = 4,
    limit: int | None = None,
) -> Lines:
    """Put units side by side, breaking lines only between them, after the glue."""
    lines = [lead + units[0]]
    for unit in units[1:]:
        if columns(lines[-1] + glue + unit) <= WIDTH - columns(glue.rstrip()):
            lines[-1] += glue + unit
        else:
            lines[-1] += glue.rstrip()
            lines.append(" " * indent + unit)
    return _limited([clip(line) for line in lines], limit)


@dataclass(frozen=True)
class Section:
    """One part of the text above the transcript.

    Attributes:
        title: Lines that are always shown.
        items: What may be cut from the end; each item is shown whole or not at all.
        rest: Gives the lines that stand for what was cut, from the number of items shown.
        total: Number of things there are, if the items are only the first of them.
        keep: Fewest items shown while another section can still give way.
        tail: Lines below the items that are always shown.
    """

    title: Lines
    items: tuple[Lines, ...] = ()
    rest: Callable[[int], Lines] | None = None
    total: int = 0
    keep: int = 1
    tail: Lines = ()

    def lines(self, shown: int) -> list[str]:
        """The section with its first `shown` items."""
        found = [*self.title, *(line for item in self.items[:shown] for line in item)]
        if shown < max(len(self.items), self.total):
            found += self.rest(shown) if self.rest else (f"  {ELLIPSIS} {self._cut(shown)} more",)
        return [*found, *self.tail]

    def _cut(self, shown: int) -> int:
        return max(len(self.items), self.total) - shown


def fit(sections: Sequence[Section], room: int) -> list[str]:
    """Lay sections out below each other in at most `room` lines.

    The longest section gives way first, down to the items it keeps. If that is not enough, the
    blank lines between sections go, then all but one item of each, and what does not fit even so
    is cut at the end with a count.
    """
    keep = [section.keep for section in sections]
    for fewest, gap in ((keep, [""]), (keep, []), ([1] * len(sections), [])):
        lines = _laid_out(sections, _shown(sections, fewest, gap, room), gap)
        if len(lines) <= room:
            return lines
    return [*lines[: room - 1], f"{ELLIPSIS} {len(lines) - room + 1} more lines"]


def _shown(
    sections: Sequence[Section], fewest: Sequence[int], gap: list[str], room: int
) -> list[int]:
    """How many items of each section to show, none less than its fewest, to come near `room`."""
    shown = [len(section.items) for section in sections]
    while len(_laid_out(sections, shown, gap)) > room:
        reducible = [i for i in range(len(sections)) if shown[i] > fewest[i]]
        if not reducible:
            break
        shown[max(reducible, key=lambda i: len(sections[i].lines(shown[i])))] -= 1
    return shown


def _laid_out(sections: Sequence[Section], shown: Sequence[int], gap: list[str]) -> list[str]:
    lines: list[str] = []
    for section, number in zip(sections, shown, strict=True):
        lines += [*gap, *section.lines(number)] if lines else section.lines(number)
    return lines


def count(number: int, noun: str) -> str:
    """`1 place`, `3 places`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
