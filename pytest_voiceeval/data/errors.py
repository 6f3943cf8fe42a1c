"""What can be wrong with a data file, always told with the file's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class DataError(ValueError):
    """A data file cannot be used.

    Attributes:
        path: the file or folder at fault.
        line: its line, counted from 1, or None where no line is to blame.
    """

    def __init__(self, problem: str, *, path: Path, line: int | None = None) -> None:
        self.path = path
        self.line = line
        super().__init__(f"{path}:{line}: {problem}" if line else f"{path}: {problem}")


class MissingData(DataError, FileNotFoundError):
    """A data file or folder that was asked for is not there."""

    def __str__(self) -> str:
        return str(self.args[0])
