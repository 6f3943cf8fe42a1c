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
from pytest_voiceeval.scenario.auditing_entry import Entry, find_data, read_entries
from pytest_voiceeval.scenario.auditing_mutations import orders
from pytest_voiceeval.scenario.auditing_scenario import (
    ScenarioEntry,
    is_written_here,
    scenario_complaints,
)
from pytest_voiceeval.scenario.authoring import compile_domain, data_files, has_sources
from pytest_voiceeval.scenario.authoring_hooks import load_hooks
from pytest_voiceeval.scenario.registry import scenarios_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_voiceeval.scenario.authoring_hooks import Hooks

_HEADINGS = (
    "scenario", "do-nothing", "turns", "calls", "writes", "orders", "mutations", "no trace",
    "forbidden", "problems",
)  # fmt: skip


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
    """

    domain: str
    rows: tuple[Row, ...]
    edition: tuple[str, ...] = ()

    @property
    def problems(self) -> list[str]:
        """Everything that is wrong, with the scenario's id where one is at fault."""
        return [*(f"{row.id}: {text}" for row in self.rows for text in row.problems), *self.edition]

    def table(self) -> str:
        """Show a line for each scenario, then what leaves no trace, then the problems."""
        lines = [_HEADINGS, *((row.id, *row.cells) for row in self.rows)]
        widths = [max(len(line[n]) for line in lines) for n in range(len(_HEADINGS))]
        shown = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
                 for line in lines]  # fmt: skip
        traces = [f"{row.id}: {text}" for row in self.rows for text in row.no_trace]
        parts = (
            (f"{self.domain}: {len(self.rows)} scenarios", shown),
            ("Leaves no trace at the end:", traces),
            (f"{len(self.problems) or 'No'} problems", self.problems),
        )
        return "\n\n".join("\n".join([head, *body]) for head, body in parts if body or "No" in head)


def check_domain(domain: str, root: str | Path | None = None) -> Audit:
    """Check a domain's scenarios, drafts included, or the edition below a data root.

    Args:
        domain: name of the pack.
        root: a data root; by default the authoring files, and that the data are built from them.
            A domain without authoring files is checked as it is registered.

    Raises:
        PackError: there is no such pack, or it cannot be loaded.
        DataError: a file cannot be used at all.
    """
    if root is not None:
        return _check_edition(domain, root)
    if not has_sources(find_pack(domain)):
        rows = tuple(_check_scenario(domain, name) for name in scenarios_of(domain))
        return Audit(domain, rows, () if rows else ("the pack registers no scenario",))
    hooks, built = load_hooks(domain), compile_domain(domain)
    entries = [Entry(domain, hooks, one.record, one.database, one.source) for one in built]
    rows = tuple(check_entry(entry) for entry in entries)
    stale = data_files(domain, (one for one in built if not one.source.is_draft)).outdated()
    text = f"is not up to date: run `voiceeval data build {domain}`"
    edition = [*edition_complaints(hooks, entries), *(f"{path} {text}" for path in stale)]
    return Audit(domain, rows, tuple(edition))


def _check_scenario(domain: str, name: str) -> Row:
    try:
        entry = ScenarioEntry.named(name)
        if entry.can_be_replayed:
            return check_entry(entry)
        return _row_without_dialogue(entry.id, "-", list(scenario_complaints(entry)))
    except Exception as error:  # noqa: BLE001 - scenarios and tools are somebody's code
        short = name.removeprefix(f"{domain}__")
        return _row_without_dialogue(short, "-", [f"{type(error).__name__}: {error}"])


def edition_complaints(hooks: Hooks, entries: Sequence[Entry]) -> Iterator[str]:
    """Yield what is wrong with the scenarios of an edition of ours as a whole."""
    records = [entry.record for entry in entries]
    yield from dialogue.edition_complaints(records)
    yield from hooks.check_edition(records, [e.source.fields for e in entries if e.source])


def _check_edition(domain: str, root: str | Path) -> Audit:
    hooks, folder = load_hooks(domain), find_pack(domain).data
    entries = read_entries(domain, hooks, Path(root), folder)
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
    yield from dialogue.dialogue_complaints(entry.record)
    yield from dialogue.spoken_complaints(entry)
    if entry.source is not None:
        pairs = zip(entry.calls, entry.gold.answers, strict=True)
        calls = [{**call, "answer": answer} for call, answer in pairs]
        yield from entry.hooks.check_scenario(
            entry.record, entry.database, calls, entry.source.fields
        )
