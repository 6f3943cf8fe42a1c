"""From authoring files to a domain's data: records, databases, expected databases.

A scenario is written once, in `<pack>/authoring/<id>.yaml`. Whatever can be derived is: the
expected database, for one, is where the calls of its dialogue lead. `docs/authoring.md` has the
format.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.data.build import DataFiles
from pytest_voiceeval.data.errors import DataError
from pytest_voiceeval.packs import find_pack
from pytest_voiceeval.scenario.auditing_entry import is_write
from pytest_voiceeval.scenario.auditing_gold import shown
from pytest_voiceeval.scenario.authoring_calls import CallReader
from pytest_voiceeval.scenario.authoring_dialogue import read_script
from pytest_voiceeval.scenario.authoring_hooks import Hooks, load_hooks
from pytest_voiceeval.scenario.authoring_play import Played, calls_of, is_refused, play
from pytest_voiceeval.scenario.authoring_source import Source, read_sources, words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

Json = dict[str, Any]


@dataclass(frozen=True)
class Built:
    """One scenario as built.

    Attributes:
        source: its authoring file.
        record: its line of the dataset.
        database: its initial database.
    """

    source: Source
    record: Json
    database: Json


def build_domain(
    domain: str, root: str | Path | None = None, check: bool = False, *, drafts: bool = False
) -> list[Path]:
    """Write a domain's data files from its authoring files.

    Args:
        domain: name of the pack.
        root: the data root; by default the folder `fixtures` beside the pack's `scenarios`.
        check: only list what is not up to date.
        drafts: build drafts as well, which are left out otherwise.

    Returns:
        The files that were written, or with `check` would be.

    Raises:
        PackError: there is no such pack, or it cannot be loaded.
        DataError: an authoring file is at fault; the text names it.
    """
    built = [one for one in compile_domain(domain) if drafts or not one.source.is_draft]
    files = data_files(domain, built, root)
    return files.outdated() if check else files.write()


def data_files(domain: str, built: Iterable[Built], root: str | Path | None = None) -> DataFiles:
    """Plan the data files of built scenarios."""
    pairs = [(one.record, one.database) for one in built]
    return DataFiles.of(domain, data_folder(domain, root), pairs)


def data_folder(domain: str, root: str | Path | None = None) -> Path:
    """Return the folder of a domain's data: below `root`, else beside the folder of packs."""
    pack = find_pack(domain)
    base = pack.path.parent.parent / "fixtures" if root is None else Path(root)
    return base / pack.data


def compile_domain(domain: str, ids: Collection[str] | None = None) -> list[Built]:
    """Build the scenarios of a domain in memory, drafts included; `ids` are the only ones built.

    Raises:
        PackError: there is no such pack, or it cannot be loaded.
        DataError: an authoring file is at fault; the text names it.
    """
    hooks = load_hooks(domain)
    sources = read_sources(find_pack(domain).path, hooks.KEYS, ids)
    return [compile_source(domain, hooks, source) for source in sources]


def compile_source(domain: str, hooks: Hooks, source: Source) -> Built:
    """Build one scenario.

    Raises:
        DataError: its file is at fault.
    """
    try:
        return _compile(domain, hooks, source)
    except DataError:
        raise
    except KeyError as error:
        raise DataError(f"the key {error} is missing", path=source.path) from error
    except ValueError as error:
        raise _located(source.path, str(error)) from error


def _located(path: Path, problem: str) -> DataError:
    """Name the line of the file, where the problem names one of the dialogue."""
    place = re.match(r"dialogue, line ([0-9]+): ", problem)
    lines = path.read_text(encoding="utf-8").splitlines() if place else []
    begins = [n for n, line in enumerate(lines, 1) if re.fullmatch(r"dialogue: \|[+-]?", line)]
    if place is None or not begins:
        return DataError(problem, path=path)
    rest = f"dialogue: {problem[place.end() :]}"
    return DataError(rest, path=path, line=begins[0] + int(place[1]))


def _compile(domain: str, hooks: Hooks, source: Source) -> Built:
    fields = source.fields
    # written and read once, so that no two places share a list or an object
    database: Json = json.loads(json.dumps(hooks.make_database(fields)))
    reader = CallReader(
        domain,
        hooks.call_defaults(fields),
        lambda name, text: hooks.read_argument(name, text, fields),
    )
    conversation = {
        "reference_dialogue": read_script(fields["dialogue"], reader.read),
        "forbidden_calls": [reader.read(line) for line in fields["forbidden"]],
    }
    end = play(domain, database, calls_of(conversation))
    record = {
        "id": source.id,
        **hooks.make_record(fields, database, conversation["reference_dialogue"]),
        "ground_truth": {"expected_scenario_db": end.db},
        **conversation,
        "gold_note": fields["note"],
        "rules": source.rules,
        "refusal": source.is_refusal,
    }
    if "match" in fields:
        try:
            record["reference_answer"] = reference_answer(words_of(fields["match"]), end)
        except ValueError as error:
            refused = _first_refusal(domain, calls_of(conversation), end)
            raise ValueError(refused or str(error)) from None
    return Built(source, record, database)


def _first_refusal(domain: str, calls: Iterable[Mapping[str, Any]], end: Played) -> str:
    """Why a gold call recorded nothing, if a tool refused it; empty if none did."""
    for call, answer in zip(calls, end.answers, strict=True):
        if is_refused(answer) and is_write(domain, call["name"]):
            return f"the gold call {shown(call)} is refused: {answer.get('message')}"
    return ""


def reference_answer(wanted: Iterable[str], end: Played) -> Json:
    """Make the reference answer out of what the gold calls recorded.

    Args:
        wanted: which records count, by type, and which of their fields beside it:
            `rebook_flight.change_fee`, or `transfer_to_agent` alone.
        end: where the gold calls lead.

    Raises:
        ValueError: the gold calls left no such record or field.
    """
    fields: dict[str, list[str]] = {}
    for text in wanted:
        action_type, _, name = text.partition(".")
        fields.setdefault(action_type, []).extend([name] if name else [])
    actions = [_cut(action, fields) for action in end.actions if action["action_type"] in fields]
    missing = fields.keys() - {action["action_type"] for action in actions}
    if missing:
        raise ValueError(f"match: no gold call records {', '.join(sorted(missing))}")
    return {"actions": actions}


def _cut(action: Mapping[str, Any], fields: Mapping[str, list[str]]) -> Json:
    names = ["action_type", *fields[action["action_type"]]]
    for name in names:
        if name not in action:
            raise ValueError(f"match: a record of {action['action_type']} has no {name!r}")
    return {name: action[name] for name in names}
