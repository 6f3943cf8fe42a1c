"""Run by `.ci/run` where only the wheel is installed: it must hold packs, data and names."""

from __future__ import annotations

from pathlib import Path

import pytest_voiceeval
from pytest_voiceeval.packs import list_packs
from pytest_voiceeval.tools import get_schema_tool_for_eval

inside = Path(pytest_voiceeval.__file__).parent
assert "site-packages" in str(inside), inside
assert all(pack.path.is_relative_to(inside) for pack in list_packs()), list_packs()
assert pytest_voiceeval.get_eval_data_root().is_relative_to(inside)
assert all(getattr(pytest_voiceeval, name) is not None for name in pytest_voiceeval.__all__)

from pytest_voiceeval.packs.eva_airline import EvaAirlineBaseScenario  # noqa: E402

assert issubclass(EvaAirlineBaseScenario, pytest_voiceeval.Scenario)
tool = get_schema_tool_for_eval("RebookFlightTool", domain="eva_airline", shared_state={})
assert tool.name == "rebook_flight"
names = pytest_voiceeval.list_eval_scenarios()
assert sum(name.startswith("eva_airline__") for name in names) == 50, names
from pytest_voiceeval.data.editions import UPSTREAM  # noqa: E402

assert len(UPSTREAM["eva_airline"].checksums) == 53
print("wheel: packs, data and public names are inside", inside)
