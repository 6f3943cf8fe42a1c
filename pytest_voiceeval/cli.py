"""`voiceeval`: the few things that are not a test run."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one sub-command; return its exit status (2 for a usage error)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["bot"]:
        # the bot has options of its own and is the only command that imports pipecat
        from pytest_voiceeval.bots.stock import main as run_bot

        return run_bot(arguments[1:])
    options = _parser().parse_args(arguments)
    return _list(options.domain)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="voiceeval", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("bot", help="run the stock bot (see `voiceeval bot --help`)")
    listing = commands.add_parser("list", help="list the domains, or one domain's scenarios")
    listing.add_argument("domain", nargs="?", help="list this domain's scenarios")
    return parser


def _list(domain: str | None) -> int:
    from pytest_voiceeval.packs import PackError, list_packs
    from pytest_voiceeval.scenario.registry import RegistryError, scenarios_of

    try:
        if domain is None:
            packs = list_packs()
            lines = [f"{pack.domain:<20} {pack.problem or pack.description}" for pack in packs]
        else:
            lines = [name.replace("__", "::", 1) for name in scenarios_of(domain)]
    except (PackError, RegistryError) as error:
        sys.stderr.write(f"voiceeval: {error}\n")
        return 2
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
