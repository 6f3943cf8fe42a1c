"""The public benchmark over the real wire: sample records pass, a wrong amount does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Run

Results = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def upstream(upstream_root: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVAL_DATA_ROOT", str(upstream_root / "eva"))
    return upstream_root


def test_the_benchmark_has_fifty_items(upstream: Path, run: Run) -> None:
    result = run("--domain", "eva_airline", "--collect-only", "-q")
    items = [line for line in result.outlines if line.startswith("eva_airline::")]
    assert len(items) == len(set(items)) == 50
    assert {"eva_airline::voluntary_date_change", "eva_airline::1_1_3"} < set(items)


def sample(upstream: Path) -> dict[str, Any]:
    text = (upstream / "eva_sample_calls.json").read_text(encoding="utf-8")
    samples: dict[str, Any] = json.loads(text)
    return samples


SEEDS = {
    "1.1.2": "voluntary_date_change",
    "2.1.1": "irrops_cancellation",
    "3.1.3": "missed_flight_standby",
    "5.1.1": "cancellation_refund",
    "7.2.1": "escalation_edge_case",
}


def item_of(record: str) -> str:
    return f"eva_airline::{SEEDS.get(record, record.replace('.', '_'))}"


def test_the_sample_records_pass(upstream: Path, run: Run, results: Results) -> None:
    records = sample(upstream)["records"]
    script = upstream / "eva_sample_calls.json"
    result = run(*map(item_of, records), "--script", script, "-n", "2")
    result.assert_outcomes(passed=25)
    hashes = {line["nodeid"]: line["db_hash"] for line in results()}
    assert hashes == {item_of(key): value["expected_db_hash"] for key, value in records.items()}


def test_a_wrong_amount_fails_and_is_named(
    upstream: Path, run: Run, pytester: pytest.Pytester
) -> None:
    samples = sample(upstream)
    key, call = next(
        (key, call)
        for key, record in samples["records"].items()
        for call in record["calls"]
        if "refund_amount" in call["arguments"]
    )
    right = call["arguments"]["refund_amount"]
    call["arguments"]["refund_amount"] = right + 1
    script = pytester.path / "wrong.json"
    script.write_text(json.dumps(samples), encoding="utf-8")
    result = run(item_of(key), "--script", script)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "database differs in 1 place (refunds)",
            f"  refunds / * / refund_amount: {right:g} → {right + 1:g}",
            "last written by:",
            f"  turn * process_refund(*refund_amount={right + 1:g}*",
        ]
    )


def test_a_record_without_script_and_agent_says_to_name_an_agent(upstream: Path, run: Run) -> None:
    result = run("eva_airline::1_1_3")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["nothing_to_say: *", "*name an agent with*"])
