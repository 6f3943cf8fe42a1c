"""Which data a call was held on: calls on different data are never counted as one thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_voiceeval.scenario.registry import DomainInfo

Line = Mapping[str, Any]
Data = tuple[str | None, str | None]
"""Edition and fingerprint; None where a domain does not tell, or a line does not know."""


def data_figures(info: DomainInfo | None) -> dict[str, str | None]:
    """The two keys of a line and of a call's metrics."""
    return {
        "edition": None if info is None else info.edition,
        "fingerprint": None if info is None else info.fingerprint,
    }


def data_of(line: Line) -> Data:
    """What a line says about its data."""
    return line.get("edition"), line.get("fingerprint")


def shown_data(data: Data) -> str:
    """`voiceeval 0123456789ab`, for people."""
    return " ".join(filter(None, data)) or "unknown data"


class Labels:
    """How domains are called among some lines: with their data where one was called on several.

    Args:
        lines: The lines that are counted together.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self._used: dict[str, dict[Data, None]] = {}
        for line in lines:
            self._used.setdefault(domain_of(line), {})[data_of(line)] = None

    def of(self, line: Line) -> str:
        """The name under which a line is counted."""
        domain = domain_of(line)
        several = len(self._used.get(domain, ())) > 1
        return f"{domain} ({shown_data(data_of(line))})" if several else domain

    def warnings(self) -> Iterator[str]:
        """A sentence for each domain whose calls cannot be compared with each other."""
        for domain, used in self._used.items():
            if len(used) > 1:
                what = ", ".join(map(shown_data, used))
                yield f"{domain} was called on different data, do not compare: {what}"


def domain_of(line: Line) -> str:
    """The domain of a call; for lines that lack it, what its scenario's name begins with."""
    return str(line.get("domain") or str(line.get("scenario", "")).partition("__")[0])
