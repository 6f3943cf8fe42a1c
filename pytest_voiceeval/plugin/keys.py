"""Typed keys of what the plugin keeps in pytest's stashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_voiceeval.call.result import CallResult
    from pytest_voiceeval.plugin.lookahead import LookAhead
    from pytest_voiceeval.plugin.output import Run
    from pytest_voiceeval.plugin.runtime import Runtime
    from pytest_voiceeval.plugin.selection import Selection
    from pytest_voiceeval.plugin.timing import Timing

SELECTION: pytest.StashKey[Selection | None] = pytest.StashKey()
RUNTIME: pytest.StashKey[Runtime] = pytest.StashKey()
RESULT: pytest.StashKey[CallResult] = pytest.StashKey()
CURRENT: pytest.StashKey[CallResult] = pytest.StashKey()
LOOKAHEAD: pytest.StashKey[LookAhead] = pytest.StashKey()
TIMING: pytest.StashKey[Timing] = pytest.StashKey()
RUN: pytest.StashKey[Run] = pytest.StashKey()
