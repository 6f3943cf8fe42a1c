"""What is wrong with a state, and where."""

from __future__ import annotations

from typing import Final

from pytest_voiceeval.scoring.paths import format_path

MAX_DEPTH: Final = 200
"""Containers inside containers; deeper states are refused."""


class StateError(ValueError):
    """A state holds something that cannot be hashed or compared.

    Attributes:
        path: Where it is, as `format_path` writes it; ``<root>`` for the state itself.
        problem: What is wrong there, and the way out.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"the state cannot be compared: at {self.path}: {self.problem}"


class Fault(Exception):
    """A problem on its way up; each container it passes adds itself and the key."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.steps: list[tuple[object, str | int | None]] = []


class TooDeep(Fault):
    """The walk went past `MAX_DEPTH`: a cycle, or just too deep."""

    def __init__(self) -> None:
        super().__init__(f"nested more than {MAX_DEPTH} levels deep; store flatter data")


def state_error(fault: Fault) -> StateError:
    """Turn a fault that has reached the root into the error for the caller."""
    path: list[str | int] = []
    seen: set[int] = set()
    for container, key in reversed(fault.steps):
        if isinstance(fault, TooDeep) and id(container) in seen:
            return StateError(format_path(path), "it contains itself (a reference cycle)")
        seen.add(id(container))
        if key is not None:
            path.append(key)
    return StateError(format_path(path), fault.problem)
