"""A domain's scenarios, and the rules that decide them, as Markdown: `voiceeval data table`."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.data.errors import DataError, MissingData
from pytest_voiceeval.scenario.auditing_entry import is_write
from pytest_voiceeval.scenario.authoring import Built, compile_domain
from pytest_voiceeval.scenario.authoring_dialogue import calls_in
from pytest_voiceeval.scenario.authoring_hooks import load_hooks
from pytest_voiceeval.scenario.registry import get_eval_scenario, scenarios_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

NOTHING = "nothing may change"
_END = "<!-- end -->"


@dataclass(frozen=True)
class DataTable:
    """One of the two tables of a domain.

    Attributes:
        domain: the domain, whose scenarios are written in the authoring format.
        rules: the table of rules, not that of scenarios.
    """

    domain: str
    rules: bool = False

    @property
    def command(self) -> str:
        """The command that prints it; a page marks the table with it."""
        return f"voiceeval data table {self.domain}{' --rules' if self.rules else ''}"

    def lines(self) -> list[str]:
        """Make the table; drafts are left out, as they are of the data.

        Raises:
            PackError: there is no such pack, or it cannot be loaded.
            DataError: an authoring file is at fault, or there is none.
        """
        built = [one for one in compile_domain(self.domain) if not one.source.is_draft]
        return _rules(self.domain, built) if self.rules else _scenarios(self.domain, built)

    def put_into(self, page: Path) -> bool:
        """Replace the table of a page; return whether that changed it.

        The table stands between a comment with its command and the comment `end`.

        Raises:
            DataError: the page does not say where it goes, or there is nothing to put there.
            MissingData: there is no such page.
        """
        if not page.is_file():
            raise MissingData("there is no such page", path=page)
        text = page.read_text(encoding="utf-8")
        start = f"<!-- {self.command} -->"
        head, found, rest = text.partition(f"{start}\n")
        _, closed, tail = rest.partition(f"{_END}\n")
        if not found or not closed:
            raise DataError(f"has no line {start} with a line {_END} below it", path=page)
        new = "\n".join([f"{head}{start}", "", *self.lines(), "", f"{_END}\n{tail}"])
        if new != text:
            page.write_text(new, encoding="utf-8")
        return new != text


def _scenarios(domain: str, built: Sequence[Built]) -> list[str]:
    hooks, names = load_hooks(domain), _names(domain)
    own = [hooks.table_columns(one.record) for one in built]
    headings = ["id", "name", *(own[0] if own else ()), "rules", "gold calls", "refusal"]
    return _markdown(
        headings,
        (
            [
                one.source.id,
                names.get(one.source.id, ""),
                *columns.values(),
                " ".join(one.source.rules),
                _gold(domain, one),
                "yes" if one.source.is_refusal else "",
            ]
            for one, columns in zip(built, own, strict=True)
        ),
    )


def _names(domain: str) -> dict[str, str]:
    """Names of the registered scenarios by the ids of their records, as far as they tell."""
    records = {}
    for name in scenarios_of(domain):
        scenario = get_eval_scenario(name)
        record = getattr(scenario, "record", None)
        record = getattr(record, "fields", record)
        if scenario is not None and isinstance(record, dict):
            records[str(record.get("id"))] = scenario.short_name
    return records


def _gold(domain: str, one: Built) -> str:
    """The calls that write, as the author wrote them, without what is said in them."""
    calls = [c for c in calls_in(one.source.fields["dialogue"]) if is_write(domain, c.split()[0])]
    short = [re.sub(r'"[^"]*"', '"…"', call) for call in calls]
    return "<br>".join(f"`{call}`" for call in short) or NOTHING


def _rules(domain: str, built: Iterable[Built]) -> list[str]:
    rules: Mapping[str, str] = load_hooks(domain).rule_lines()
    users = defaultdict(list)
    for one in built:
        for rule in one.source.rules:
            users[rule].append(one.source.id)
    labels = rules or dict.fromkeys(sorted(users), "")
    rows = ([label, text, " ".join(users[label])] for label, text in labels.items())
    return _markdown(["rule", "what it says", "decides"], rows)


def _markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [headings, ["---"] * len(headings), *rows]
    return [f"| {' | '.join(map(_cell, line))} |" for line in lines]


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", r"\|").strip()


def add_to(commands: Any) -> None:
    """Add the command to the parser of `voiceeval data`."""
    table: argparse.ArgumentParser = commands.add_parser(
        "table", help="print a domain's scenarios as a Markdown table"
    )
    table.add_argument("domain")
    table.add_argument("--rules", action="store_true", help="the rules that decide them instead")
    table.add_argument("--into", metavar="PAGE", help="replace the table on this page instead")
    table.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> tuple[list[str], bool]:
    table = DataTable(options.domain, options.rules)
    if options.into is None:
        return table.lines(), False
    changed = table.put_into(Path(options.into))
    return [f"{'written' if changed else 'up to date'}: {options.into}"], False
