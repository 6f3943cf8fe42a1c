"""`voiceeval`: the few things that are not a test run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

DESCRIPTION = "What belongs to pytest-voiceeval and is not a test run. Tests: pytest --domain NAME."


def main(argv: Sequence[str] | None = None) -> int:
    """Run one sub-command; return its exit status (2 for a usage error)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["bot"]:
        # the bot has options of its own and is the only command that imports pipecat
        from pytest_voiceeval.bots.stock import main as run_bot

        return run_bot(arguments[1:])
    if arguments[:1] == ["data"]:
        from pytest_voiceeval.scenario.data_commands import main as run_data

        return run_data(arguments[1:])
    options = _parser().parse_args(arguments)
    return _list(options.domain)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="voiceeval", description=DESCRIPTION)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser(
        "bot", help="run the stock bot; it has options of its own: voiceeval bot --help"
    )
    commands.add_parser(
        "data", help="build, check and fetch data of domains: voiceeval data --help"
    )
    listing = commands.add_parser(
        "list",
        help="list the domains, or the scenarios of one",
        description="List the domains, or the scenarios of one as ids that pytest takes. Packs in "
        "./scenarios are among them.",
    )
    listing.add_argument("domain", nargs="?", help="list this domain's scenarios")
    return parser


def _list(domain: str | None) -> int:
    from pytest_voiceeval.data.errors import DataError
    from pytest_voiceeval.packs import PackError, add_user_folder
    from pytest_voiceeval.scenario.registry import RegistryError

    if Path("scenarios").is_dir():
        add_user_folder("scenarios")
    try:
        lines = _domains() if domain is None else _scenarios(domain)
    except (PackError, RegistryError, DataError) as error:
        sys.stderr.write(f"voiceeval: {error}\n")
        return 2
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _domains() -> list[str]:
    from pytest_voiceeval.packs import list_packs

    packs = list_packs()
    width = max((len(pack.domain) for pack in packs), default=0)
    return [
        f"{pack.domain:<{width}}  "
        + (f"cannot be used: {pack.problem}" if pack.problem else pack.description)
        for pack in packs
    ]


def _scenarios(domain: str) -> list[str]:
    from pytest_voiceeval.plugin.ids import SEPARATOR, item_name
    from pytest_voiceeval.plugin.selection import short_name
    from pytest_voiceeval.scenario.registry import domain_info, scenarios_of

    domain_info(domain)  # says what is wrong with the data, if anything is
    names = (short_name(domain, name) for name in scenarios_of(domain))
    return [f"{domain}{SEPARATOR}{item_name(name)}" for name in names]


if __name__ == "__main__":
    sys.exit(main())
