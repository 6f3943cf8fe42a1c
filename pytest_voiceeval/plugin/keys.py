"""Typed keys of what the plugin keeps in pytest's stashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_voiceeval.call.result import CallResult
    from pytest_voiceeval.plugin.runtime import Runtime
    from pytest_voiceeval.plugin.selection import Selection

SELECTION: pytest.StashKey[Selection | None] = pytest.StashKey()
RUNTIME: pytest.StashKey[Runtime] = pytest.StashKey()
RESULT: pytest.StashKey[CallResult] = pytest.StashKey()
RUN_FOLDER: pytest.StashKey[Path] = pytest.StashKey()
