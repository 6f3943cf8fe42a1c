"""Options of whether a language model judges, which one, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_voiceeval.plugin.option import Option

OPTIONS: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """What the options of this module come to."""


def read(values: Mapping[str, Any], base: Path) -> JudgeSettings:
    """Return the settings of `values` by flag; relative paths are below `base`.

    Raises:
        pytest.UsageError: A value cannot be used; the text names the option.
    """
    return JudgeSettings()
