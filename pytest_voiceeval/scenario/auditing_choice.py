"""Which scenarios a person means by `voiceeval data check --id`."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_voiceeval.packs import find_pack
from pytest_voiceeval.scenario.auditing_entry import read_ids
from pytest_voiceeval.scenario.authoring_hooks import load_hooks
from pytest_voiceeval.scenario.authoring_source import has_sources, source_ids
from pytest_voiceeval.scenario.registry import scenarios_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class UnknownId(LookupError):
    """No scenario has the id that was asked for; the text names the closest ones."""


def known_ids(domain: str, root: str | Path | None = None) -> list[str]:
    """List the ids of a domain's scenarios, drafts included, or of its data below a data root.

    Raises:
        PackError: there is no such pack, or it cannot be loaded.
        DataError: the dataset cannot be read.
    """
    pack = find_pack(domain)
    if root is not None:
        return read_ids(domain, load_hooks(domain), Path(root), pack.data)
    if has_sources(pack):
        return source_ids(pack.path)
    return [short_id(domain, name) for name in scenarios_of(domain)]


def short_id(domain: str, name: str) -> str:
    """The id of a registered scenario: its name without the domain."""
    return name.removeprefix(f"{domain}__")


def chosen(
    domains: Iterable[str], root: str | Path | None, ids: Sequence[str]
) -> dict[str, list[str]]:
    """Sort ids by domain; domains that have none of them are left out.

    Raises:
        UnknownId: no domain has one of them.
        PackError: there is no such pack, or it cannot be loaded.
        DataError: a dataset cannot be read.
    """
    known = {domain: known_ids(domain, root) for domain in domains}
    everything = list(dict.fromkeys(name for names in known.values() for name in names))
    for wanted in ids:
        if wanted not in everything:
            where = ", ".join(known)
            raise UnknownId(f"no scenario {wanted!r} in {where}; {_closest(wanted, everything)}")
    found = {domain: [name for name in names if name in ids] for domain, names in known.items()}
    return {domain: names for domain, names in found.items() if names}


def _closest(wanted: str, known: Sequence[str]) -> str:
    # 1_2_1, as items of pytest are named, is close to 1.2.1
    close = difflib.get_close_matches(wanted.replace("_", "."), known, n=3)
    if close:
        return f"the closest {'are' if len(close) > 1 else 'is'} {', '.join(close)}"
    if len(known) < 2:
        return f"there is {known[0]}" if known else "there are none"
    return f"there are {len(known)}, from {known[0]} to {known[-1]}"
