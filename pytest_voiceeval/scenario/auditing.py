"""The checks of a domain's data, and their result as a table.

`check_domain` looks at everything that can be told without a call: that each scenario can be
solved, only by what its author meant, and that an agent which does nothing fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_voiceeval.data.errors import MissingData
from pytest_voiceeval.packs import find_pack, list_packs
from pytest_voiceeval.scenario import auditing_dialogue as dialogue
from pytest_voiceeval.scenario import auditing_gold as gold
from pytest_voiceeval.scenario.auditing_choice import short_id
from pytest_voiceeval.scenario.auditing_entry import Entry, find_data, read_entries
from pytest_voiceeval.scenario.auditing_mutations import orders
from pytest_voiceeval.scenario.auditing_scenario import (
    ScenarioEntry,
    is_written_here,
    scenario_complaints,
)
from pytest_voiceeval.scenario.auditing_tools import described, quiet_tools, tool_complaints
from pytest_voiceeval.scenario.authoring import compile_domain, data_files
from pytest_voiceeval.scenario.authoring_hooks import load_hooks
from pytest_voiceeval.scenario.authoring_source import has_sources
from pytest_voiceeval.scenario.checks import problems_of
from pytest_voiceeval.scenario.registry import scenarios_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from pytest_voiceeval.scenario.authoring_hooks import Hooks

_HEADINGS = (
    "id", "do-nothing", "turns", "calls", "writes", "orders", "mutations", "unseen", "forbidden",
    "problems",
)  # fmt: skip
_SKIPPED = (
    "what holds for all scenarios together: no name, code or line used twice, no two of one "
    "skeleton, the pack's own rules about the whole, data up to date"
)


@dataclass(frozen=True)
class Row:
    """What the checks found about one scenario.

    Attributes:
        id: the record's id.
        cells: what the table shows after it.
        problems: what is wrong.
        no_trace: wrong ways that cannot be told from the right one, for people.
    """

    id: str
    cells: tuple[str, ...]
    problems: tuple[str, ...]
    no_trace: tuple[str, ...] = ()


@dataclass(frozen=True)
class Audit:
    """The outcome of all checks of a domain.

    Attributes:
        domain: the domain.
        rows: one for each scenario.
        edition: what is wrong with all scenarios together.
        partial: only some of its scenarios were checked, and nothing that concerns all of them.
    """

    domain: str
    rows: tuple[Row, ...]
    edition: tuple[str, ...] = ()
    partial: bool = False

    @property
    def problems(self) -> list[str]:
        """Everything that is wrong, with the scenario's id where one is at fault."""
        return [*(f"{row.id}: {text}" for row in self.rows for text in row.problems), *self.edition]

    def table(self) -> str:
        """Show a line for each scenario, then what leaves no trace, then the problems."""
        lines = [_HEADINGS, *((row.id, *row.cells) for row in self.rows)]
        widths = [max(len(line[n]) for line in lines) for n in range(len(_HEADINGS))]
        # one blank between: with ids as short as 1.1.2 a line has 80 characters at most
        shown = [" ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
                 for line in lines]  # fmt: skip
        traces = [f"{row.id}: {text}" for row in self.rows for text in row.no_trace]
        parts = (
            (f"{self.domain}: {_counted(len(self.rows), 'scenario')}", shown),
            ("Leaves no trace at the end:", traces),
            ("Not checked, because of --id:", [_SKIPPED] if self.partial else []),
        )
        shown_parts = ["\n".join([head, *body]) for head, body in parts if body]
        outcome = [_counted(len(self.problems), "problem"), *self.problems]
        return "\n\n".join([*shown_parts, "\n".join(outcome)])


def _counted(number: int, noun: str) -> str:
    return f"{number or 'No'} {noun}{'' if number == 1 else 's'}"


def check_domain(
    domain: str, root: str | Path | None = None, ids: Collection[str] | None = None
) -> Audit:
    """Check a domain's scenarios, drafts included, or the edition below a data root.

    Args:
        domain: name of the pack.
        root: a data root; by default the authoring files, and that the data are built from them.
            A domain without authoring files is checked as it is registered.
        ids: only the scenarios of these ids, and nothing that concerns all of them; None is all.

    Raises:
        PackError: there is no such pack, or it cannot be loaded.
        DataError: a file cannot be used at all.
    """
    if root is not None:
        return _check_edition(domain, root, ids)
    if not has_sources(find_pack(domain)):
        return _check_registered(domain, ids)
    hooks, built = load_hooks(domain), compile_domain(domain, ids)
    entries = [Entry(domain, hooks, one.record, one.database, one.source) for one in built]
    rows = tuple(check_entry(entry) for entry in entries)
    if ids is not None:
        return Audit(domain, rows, partial=True)
    stale = data_files(domain, (one for one in built if not one.source.is_draft)).outdated()
    text = f"is not up to date: run `voiceeval data build {domain}`"
    edition = [*edition_complaints(hooks, entries), *(f"{path} {text}" for path in stale)]
    return Audit(domain, rows, tuple(edition))


def _check_registered(domain: str, ids: Collection[str] | None) -> Audit:
    names = [n for n in scenarios_of(domain) if ids is None or short_id(domain, n) in ids]
    with quiet_tools():
        rows = tuple(_check_scenario(domain, name) for name in names)
    edition = list(tool_complaints(domain))
    if not rows:
        edition.append(f"the pack registers no scenario: {find_pack(domain).path}")
    return Audit(domain, rows, tuple(edition))


def _check_scenario(domain: str, name: str) -> Row:
    try:
        entry = ScenarioEntry.named(name)
        if problems := problems_of(entry.scenario):
            return _row_without_dialogue(entry.id, "-", problems)
        if entry.can_be_replayed:
            return check_entry(entry)
        return _row_without_dialogue(entry.id, "-", list(scenario_complaints(entry)))
    except Exception as error:  # noqa: BLE001 - scenarios and tools are somebody's code
        problem = described(domain, error)
        return _row_without_dialogue(short_id(domain, name), "-", [problem])


def edition_complaints(hooks: Hooks, entries: Sequence[Entry]) -> Iterator[str]:
    """Yield what is wrong with the scenarios of an edition of ours as a whole."""
    records = [entry.record for entry in entries]
    yield from dialogue.edition_complaints(records)
    yield from hooks.check_edition(records, [e.source.fields for e in entries if e.source])


def _check_edition(domain: str, root: str | Path, ids: Collection[str] | None) -> Audit:
    hooks, folder = load_hooks(domain), find_pack(domain).data
    entries = read_entries(domain, hooks, Path(root), folder, ids)
    return Audit(domain, tuple(check_entry(entry) for entry in entries))


def checkable_domains(root: str | Path | None = None) -> list[str]:
    """List the domains whose scenarios are written here, or those that have data below `root`."""
    packs = [pack for pack in list_packs() if not pack.problem]
    if root is None:
        return [pack.domain for pack in packs if has_sources(pack) or is_written_here(pack)]
    return [pack.domain for pack in packs if _has_data(pack.domain, Path(root), pack.data)]


def _has_data(domain: str, root: Path, folder: str) -> bool:
    try:
        find_data(domain, load_hooks(domain), root, folder)
    except MissingData:
        return False
    return True


def check_entry(entry: Entry) -> Row:
    """Check one scenario: its databases, and its dialogue if it has one."""
    problems = list(complaints(entry))
    idle = str(int(entry.outcome([])))
    if not entry.has_dialogue:
        return _row_without_dialogue(entry.id, idle, problems)
    trial = gold.Trial.of(entry)
    problems += trial.complaints(entry)
    passing, tried = orders(entry)
    cells = (
        idle,
        str(sum(turn["role"] == "user" for turn in entry.record["reference_dialogue"])),
        str(len(entry.calls)),
        str(len(entry.writes)),
        f"{passing}/{tried}",
        f"{trial.tried - len(trial.unseen)}/{trial.tried}",
        str(len(trial.unseen)),
        str(len(entry.record.get("forbidden_calls") or ())),
        str(len(problems)),
    )
    return Row(entry.id, cells, tuple(problems), tuple(trial.notes))


def _row_without_dialogue(name: str, idle: str, problems: Sequence[str]) -> Row:
    unknown = ["-"] * (len(_HEADINGS) - 3)
    return Row(name, (idle, *unknown, str(len(problems))), tuple(problems))


def complaints(entry: Entry) -> Iterator[str]:
    """Yield what is wrong with one scenario, but for what its mutations tell."""
    if isinstance(entry, ScenarioEntry):
        yield from scenario_complaints(entry)
        return
    yield from entry.hooks.check_record(entry.record, entry.database)
    if not entry.has_dialogue:
        return
    yield from gold.replay_complaints(entry)
    yield from gold.refusal_complaints(entry)
    yield from gold.forbidden_complaints(entry)
    yield from dialogue.dialogue_complaints(entry.record, entry.hooks.CALLER_TURNS)
    yield from dialogue.spoken_complaints(entry)
    if entry.source is not None:
        pairs = zip(entry.calls, entry.gold.answers, strict=True)
        calls = [{**call, "answer": answer} for call, answer in pairs]
        try:
            yield from entry.hooks.check_scenario(
                entry.record, entry.database, calls, entry.source.fields
            )
        except ValueError as error:
            yield str(error)
