"""What one pytest process needs to hold calls: bots, the scripted model, results, outcomes."""

from __future__ import annotations

import asyncio
import itertools
import re
import secrets
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.plugin.collection import ScenarioItem
from pytest_voiceeval.plugin.engine import Engine
from pytest_voiceeval.plugin.keys import RESULT, RUNTIME
from pytest_voiceeval.plugin.options import Settings, read_settings
from pytest_voiceeval.plugin.output import RunOutput

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_voiceeval.bots.scripted_model import ScriptedModel
    from pytest_voiceeval.bots.slot import BotSlot
    from pytest_voiceeval.call.result import CallResult
    from pytest_voiceeval.plugin.lines import Source
    from pytest_voiceeval.scenario.model import Scenario


def runtime_of(config: pytest.Config) -> Runtime:
    """The process's runtime, made on first use."""
    if RUNTIME not in config.stash:
        config.stash[RUNTIME] = Runtime(config)
    return config.stash[RUNTIME]
