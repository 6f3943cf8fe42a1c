"""`voiceeval data build | check | show | table | fetch`: the data of domains."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_voiceeval.data.errors import DataError
from pytest_voiceeval.data.fetch import FetchError
from pytest_voiceeval.packs import PackError, add_user_folder, find_pack
from pytest_voiceeval.scenario.auditing import check_domain, checkable_domains
from pytest_voiceeval.scenario.auditing_choice import UnknownId, chosen
from pytest_voiceeval.scenario.authoring import build_domain, compile_source
from pytest_voiceeval.scenario.authoring_hooks import load_hooks
from pytest_voiceeval.scenario.authoring_play import is_refused, play
from pytest_voiceeval.scenario.authoring_source import read_source
from pytest_voiceeval.scenario.data_table import add_to as add_table
from pytest_voiceeval.scenario.fetch_command import add_to as add_fetch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_voiceeval.scenario.authoring import Built


def main(argv: Sequence[str]) -> int:
    """Run one command; return 0, 1 if something is wrong with the data, 2 for a usage error."""
    options = _parser().parse_args(argv)
    if Path("scenarios").is_dir():  # the user's own packs
        add_user_folder("scenarios")
    try:
        lines, status = options.run(options)
    except (PackError, DataError, FetchError, UnknownId) as error:
        sys.stderr.write(f"voiceeval data: {error}\n")
        return 2
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return int(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="voiceeval data", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="write a domain's data from its authoring files")
    build.add_argument("domain")
    build.add_argument("--root", help="data root to write to (default: beside the pack)")
    build.add_argument("--check", action="store_true", help="only list what is not up to date")
    build.add_argument("--drafts", action="store_true", help="build drafts as well")
    build.set_defaults(run=_build)
    check = commands.add_parser("check", help="check scenarios as they are, or the data below ROOT")
    check.add_argument("root", nargs="?", help="a data root, such as a checkout of a benchmark")
    check.add_argument("--domain", action="append", help="only this domain (repeatable)")
    check.add_argument("--id", action="append", help="only this scenario (repeatable)")
    check.set_defaults(run=_check)
    show = commands.add_parser("show", help="show what follows from one authoring file")
    show.add_argument("domain")
    show.add_argument("id")
    show.set_defaults(run=_show)
    add_table(commands)
    add_fetch(commands)
    return parser


def _build(options: argparse.Namespace) -> tuple[list[str], bool]:
    paths = build_domain(options.domain, options.root, check=options.check, drafts=options.drafts)
    what = "not up to date" if options.check else "written"
    lines = [f"{what}: {path}" for path in paths] or [f"{options.domain}: everything is up to date"]
    return lines, bool(options.check and paths)


def _check(options: argparse.Namespace) -> tuple[list[str], bool]:
    domains = options.domain or checkable_domains(options.root)
    if not domains:
        where = options.root or "the packs: none has scenarios that were written here"
        return [f"nothing to check in {where}"], True
    wanted = chosen(domains, options.root, options.id) if options.id else dict.fromkeys(domains)
    audits = [check_domain(domain, options.root, ids) for domain, ids in wanted.items()]
    return [audit.table() for audit in audits], any(audit.problems for audit in audits)


def _show(options: argparse.Namespace) -> tuple[Iterable[str], bool]:
    hooks = load_hooks(options.domain)
    source = read_source(find_pack(options.domain).path, options.id, hooks.KEYS)
    built = compile_source(options.domain, hooks, source)
    return [
        *hooks.describe(built.database, source.fields),
        "",
        *_spoken(options.domain, built),
    ], False


def _spoken(domain: str, built: Built) -> Iterator[str]:
    """Yield the dialogue as it is spoken, with what each call was answered."""
    turns = built.record["reference_dialogue"]
    calls = [call for turn in turns for call in turn.get("calls", ())]
    answers = iter(play(domain, built.database, calls).answers)
    for turn in turns:
        for call in turn.get("calls", ()):
            answer = next(answers)
            verdict = "refused: " if is_refused(answer) else ""
            values = ", ".join(f"{k}={v}" for k, v in call["arguments"].items())
            yield f"  > {call['name']}({values}): {verdict}{answer.get('message', 'ok')}"
        yield f"  {turn['role']}: {turn['text']}"
