"""A domain in which the caller has a database and tools, too, with the stock bots."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_voiceeval.packs import unload_pack
from tests.integration.conftest import Run
from tests.integration.pages import DOCS, files

RED = """

@register_eval_scenario
class Generous(Roaming):
    name = "carrier__generous"
    expected_user_db = {"phone": {"roaming_allowed": True, "paid": False}}
"""

Results = Callable[[], list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def pack(pytester: pytest.Pytester) -> None:
    """The pack of docs/two_sides.md, with a scenario that is not to be paid."""
    unload_pack("carrier")
    for block in files(DOCS / "two_sides.md"):
        block.write(pytester.path)
    module = pytester.path / "scenarios" / "carrier" / "__init__.py"
    module.write_text(module.read_text(encoding="utf-8") + RED, encoding="utf-8")


def test_both_databases_are_kept_in_step_and_compared(
    pytester: pytest.Pytester, run: Run, results: Results
) -> None:
    result = run("--domain", "carrier")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "caller's database differs in 1 place",
            "caller's database (expected → actual):",
            "  phone / paid: false → true",
            "*agent  Done, please pay.",
        ]
    )
    lines = {line["nodeid"]: line for line in results()}
    assert lines["carrier::roaming"]["user_db_changes"] == 0
    assert lines["carrier::generous"]["user_db_changes"] == 1
    folder = pytester.path / "out" / "carrier__roaming"
    hashes = (folder / "final_scenario_db_hash.txt").read_text(encoding="utf-8")
    assert "\nuser_db_hash: " in hashes
    assert '[SYNC] agent: {"lines.L1.paid": true}' in (folder / "bridge_log.txt").read_text("utf-8")
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["user_db_state_match"] is True
    other = pytester.path / "out" / "carrier__generous"
    assert json.loads((other / "final_user_db.json").read_text(encoding="utf-8")) == {
        "phone": {"roaming_allowed": True, "paid": True}
    }
    assert (other / "user_db_diff.json").is_file()
