"""Which module registered something, and whether that module is still the one in use.

Modules are imported anew within one process: when a user's pack takes the place of another, and
when pytest runs inside a test. What a replaced module registered must not stand in the way of its
successor.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType


@dataclass(frozen=True, slots=True)
class Origin:
    """The module and line that registered something."""

    module: str
    file: str
    line: int
    namespace: dict[str, Any] | None

    @classmethod
    def of_frame(cls, frame: FrameType) -> Origin:
        """Return the place that `frame` executes."""
        name = str(frame.f_globals.get("__name__"))
        return cls(name, frame.f_code.co_filename, frame.f_lineno, _loaded(name, frame.f_globals))

    @classmethod
    def of_function(cls, function: Callable[..., Any]) -> Origin:
        """Return the place where `function` is defined."""
        code = getattr(function, "__code__", None)
        namespace = getattr(function, "__globals__", {})
        file, line = (code.co_filename, code.co_firstlineno) if code else ("<unknown>", 0)
        return cls(function.__module__, file, line, _loaded(function.__module__, namespace))

    @property
    def is_current(self) -> bool:
        """False once the module was unloaded or imported anew."""
        return self.namespace is None or _loaded(self.module, self.namespace) is not None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def _loaded(name: str, namespace: dict[str, Any]) -> dict[str, Any] | None:
    """Return `namespace` if it is that of the loaded module `name`; code run by exec has none."""
    module = sys.modules.get(name)
    return namespace if module is not None and vars(module) is namespace else None
