"""Identifiers spoken as written, as a user sees them: figures, and a line where a call failed."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from tests.integration.conftest import Run
from tests.integration.packs import write_pack

SPEAKS_AS_WRITTEN = """

class Numbered(Shop):
    spelled_fields = ("number",)
    reference_dialogue = (
        DialogueTurn("agent", "Shop, hello. Is it about R-4711?"),
        *Shop.reference_dialogue[1:],
    )

    def setup_shared_state(self, state, side):
        if side == "agent":
            state["db"] = {"stock": {"apple": {"count": 2, "number": "R-4711"}}}


@register_eval_scenario
class Apple(Numbered):
    name = "shop__numbered"
"""


def test_it_is_told_and_decides_nothing(pytester: pytest.Pytester, run: Run) -> None:
    write_pack(pytester.path, ["plain"], extra=SPEAKS_AS_WRITTEN)
    result = run("--domain", "shop", "--voice-output", "out", "--junitxml", "junit.xml")
    result.assert_outcomes(passed=1, failed=1)
    note = "  1 identifier spoken as written, not spelled: R-4711 (turn 1)"
    result.stdout.fnmatch_lines(["noticed:", note])
    path = pytester.path / "out" / "results.jsonl"
    lines = {line["scenario"]: line for line in map(json.loads, path.read_text().splitlines())}
    told = lines["shop__numbered"]
    assert told["reasons"] == ["db_state_match"]
    assert told["identifiers_spoken_as_written"] == 1
    [place] = told["spoken_as_written"]
    assert place == {"turn": 1, "identifier": "R-4711", "text": "Shop, hello. Is it about R-4711?"}
    assert "spoken_as_written" not in lines["shop__plain"]
    junit = ET.parse(pytester.path / "junit.xml")
    found = [p for p in junit.iter("property") if "written" in str(p.get("name"))]
    assert [p.get("value") for p in found] == ["1"]
