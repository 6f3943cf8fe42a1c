"""One command-line option with its ini key, and what is said of a bad value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["string", "linelist", "bool", "int", "float"]


@dataclass(frozen=True, slots=True)
class Option:
    """One option: a flag, the ini key `voiceeval_<dest>`, and how its value is read."""

    flag: str
    kind: Kind
    help: str
    metavar: str | None = None
    default: Any = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def dest(self) -> str:
        """Name in `config.option` and, with the prefix, of the ini key."""
        return "voiceeval_" + self.flag.removeprefix("--").replace("-", "_")
