"""Options of how a call sounds and how its sound is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_voiceeval.plugin.option import Option

OPTIONS: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class AudioSettings:
    """What the options of this module come to."""


def read(values: Mapping[str, Any], base: Path) -> AudioSettings:
    """Return the settings of `values` by flag; relative paths are below `base`.

    Raises:
        pytest.UsageError: A value cannot be used; the text names the option.
    """
    return AudioSettings()
