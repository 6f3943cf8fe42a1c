"""`--edition`: which copy of a domain's data this run and everything it starts uses."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from pytest_voiceeval.plugin.option import Option

if TYPE_CHECKING:
    import pytest

    from pytest_voiceeval.scenario.registry import DomainInfo

CHOICES = ("ours", "upstream")

OPTIONS: tuple[Option, ...] = (
    Option(
        "--edition",
        "string",
        "Which data the scenarios of a public benchmark are read from: ours, or upstream's own, "
        "which `voiceeval data fetch` brings (default: ours).",
        metavar="ours|upstream",
        extra={"choices": CHOICES},
    ),
)


def use_edition(config: pytest.Config) -> None:
    """Let this process, xdist's workers and the bots that are started read the edition asked for.

    A value that cannot be used is left to those who read the options.
    """
    [option] = OPTIONS
    asked = config.getoption(option.dest) or config.getini(option.dest)
    if asked not in CHOICES:
        return
    from pytest_voiceeval.data.editions import EDITION_VARIABLE

    before = os.environ.get(EDITION_VARIABLE)
    os.environ[EDITION_VARIABLE] = asked

    def restore() -> None:
        # another run may follow in the same process
        if before is None:
            os.environ.pop(EDITION_VARIABLE, None)
        else:
            os.environ[EDITION_VARIABLE] = before

    config.add_cleanup(restore)


class DataInUse:
    """Which data the domains of a run use; each is read once, since that reads all of its files."""

    def __init__(self) -> None:
        self._known: dict[str, DomainInfo | None] = {}
        self._lock = threading.Lock()

    def require(self, domain: str) -> None:
        """Check that a domain's data can be used, and are of the edition asked for.

        Raises:
            DataError: They are not.
        """
        from pytest_voiceeval.data.errors import DataError
        from pytest_voiceeval.scenario.registry import domain_info

        with self._lock:
            if domain in self._known:
                return
            try:
                self._known[domain] = domain_info(domain)
            except DataError:
                raise
            except Exception:  # noqa: BLE001 - a pack's own code, and its scenarios may do without
                self._known[domain] = None

    def of(self, domain: str) -> DomainInfo | None:
        """Edition and fingerprint of a domain's data; None where its pack does not tell."""
        from pytest_voiceeval.data.errors import DataError

        try:
            self.require(domain)
        except DataError:
            return None
        return self._known[domain]
