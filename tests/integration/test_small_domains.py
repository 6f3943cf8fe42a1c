"""The small domains as a user runs them: green, red for the right reason, judged."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Run
from tests.integration.inner import look
from tests.integration.pages import CHECKOUT
from tests.scripted_judge import evidence, scripted_judge, verdict

__all__ = ["look"]

Results = Callable[[], list[dict[str, Any]]]
ORDER = "restaurant::pizza_veggie_combo"
WAITLIST = "restaurant::waitlist_join_then_drop"
REFUND = "customer_service::billing_dispute"

CALLED_OFF = {
    "wrong-field": [
        "result: 1 not as referenced (items)",
        '  changed  items [[]turn 4]: 0.name "Veggie Garden Pizza" → "Pepperoni Pizza"',
        "result: 1 not as referenced (result)",
        '  changed  result [[]turn 3]: waitlist.2.phone "555-0112" → "555-0163"',
        "actions: 2 not as referenced (process_refund, resolve_ticket)",
        '  changed  process_refund [[]turn 4]: account_id "NL-2041" → "NL-3358"',
        '  changed  resolve_ticket [[]turn 4]: account.balance "$63.90" → "$82.80"',
    ],
    "missing-call": [
        "result: 1 missing (result)",
        "  missing  result(items=[[]{3 fields}, *",
        "  handed in nothing at all",
        "result: 1 missing (result)",
        "  missing  result(waitlist=[[]{3 fields}, {3 fields}], parties=2)",
        "  handed in result(waitlist=[[]*], parties=3)*",
        "actions: 1 missing, 1 not as referenced (process_refund, resolve_ticket)",
        '  missing  process_refund(amount="$18.90", date="2026-03-12",',
        "  recorded resolve_ticket",
    ],
    "extra-write": [
        "result: 1 not as referenced (items)",
        "result: 1 too many (result)",
        "  extra    result(waitlist=[[]*], parties=3)*",
        "actions: 1 too many (process_refund)",
        '  extra    process_refund(account_id="NL-2041", amount="$37.80",*',
    ],
    "do-nothing": [
        "stalled: only 2 turns of the agent (see --min-agent-turns)",
        "  handed in nothing at all",
        "  missing  process_refund(*",
        "  recorded nothing at all",
    ],
}


def test_all_that_need_no_judge_are_green_and_the_others_say_why(
    run: Run, results: Results
) -> None:
    domains = ["--domain", "restaurant", "--domain", "customer_service", "--domain", "qa"]
    result = run(*domains, "-rs")
    result.assert_outcomes(passed=21, skipped=10)
    result.stdout.fnmatch_lines(["SKIPPED * judge_passed needs the judge; *--judge-url*"])
    passed = [line for line in results() if line["outcome"] == "passed"]
    assert all(line["signals"]["is_action_match"] for line in passed)


def test_what_was_delivered_is_filed(run: Run, pytester: pytest.Pytester) -> None:
    run(ORDER, REFUND).assert_outcomes(passed=2)
    [order] = read(pytester.path / "out", "restaurant__pizza_veggie_combo")
    assert order["total_price"] == "21.25"
    [done] = read(pytester.path / "out", "customer_service__billing_dispute")
    assert [action["side"] for action in done["actions"]] == ["agent", "agent"]


def read(out: Path, name: str) -> Any:
    [file] = out.rglob(f"{name}/final_agent_response.json")
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("fault", CALLED_OFF)
def test_a_fault_is_red_for_its_reason(run: Run, results: Results, fault: str) -> None:
    result = run(ORDER, WAITLIST, REFUND, "--agent-fault", fault)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(CALLED_OFF[fault])
    reasons = {reason for line in results() for reason in line["reasons"]}
    assert reasons - {"stalled"} == {"is_action_match"}


def test_a_fault_of_how_the_call_goes_is_none_of_what_was_ordered(
    run: Run, results: Results
) -> None:
    run(ORDER, REFUND, "--agent-fault", "never-exits").assert_outcomes(failed=2)
    assert [line["reasons"] for line in results()] == [["clean_exit (caller_hangup)"]] * 2


def test_a_short_call_is_not_over_before_the_crash(run: Run) -> None:
    result = run("restaurant::pizza_pepperoni", "--agent-fault", "crashes")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*ended: agent_gone after 2 agent turns*"])


def test_a_judge_decides_about_answers(run: Run, results: Results) -> None:
    def reply(request: dict[str, Any]) -> dict[str, Any]:
        part = re.compile(r"<(reference|prediction)>\n(.*?)\n</", re.DOTALL)
        parts = dict(part.findall(evidence(request)))
        return verdict(1.0 if parts["reference"] == parts["prediction"] else 0.2)

    judge = ("--judge-model", "scripted", "--domain", "qa")
    with scripted_judge(reply) as url:
        run("--judge-url", url, *judge).assert_outcomes(passed=10)
    assert len(url.requests) == 10
    assert all(line["signals"]["judge_passed"] for line in results())


def test_a_judge_that_is_not_content_fails_the_call(run: Run) -> None:
    with scripted_judge(lambda _: verdict(0.4, "The answer is not Paris.")) as url:
        result = run("--judge-url", url, "--judge-model", "scripted", "qa::capital_france")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*The answer is not Paris.*"])


def test_what_only_the_judge_would_see_is_no_fault_to_plan(run: Run) -> None:
    with scripted_judge() as url:
        options = ("--judge-url", url, "--judge-model", "scripted", "-rs")
        result = run("qa::capital_france", "--agent-fault", "wrong-field", *options)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED * none of its signals looks at what the tools wrote"])


def test_a_thousand_generated_scenarios(pytester: pytest.Pytester, look: Run) -> None:
    pack = pytester.path / "scenarios" / "bulk"
    pack.mkdir(parents=True)
    shipped = CHECKOUT / "scenarios" / "restaurant"
    for name in ("__init__.py", "tools.py", "scenarios.py", "restaurants.json", "pack.toml"):
        text = (shipped / name).read_text(encoding="utf-8")
        text = text.replace('"restaurant"\n', '"bulk"\n').replace("orders.yaml", "orders.jsonl")
        lines = [line for line in text.splitlines() if "waitlist.yaml" not in line]
        (pack / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    order = {"restaurant": "deli", "name": "A B", "phone": "555-0100", "wish": "order tea."}
    records = [{**order, "id": f"order_{n}", "order": {"Iced Tea": n}} for n in range(1, 1001)]
    file = pack / "orders.jsonl"
    file.write_text("".join(f"{json.dumps(one)}\n" for one in records), encoding="utf-8")
    result = look("-q", "--domain", "bulk")
    assert sum(line.startswith("bulk::order_") for line in result.outlines) == 1000
    [seconds] = re.findall(r"1000 tests collected in ([\d.]+)s", result.stdout.str())
    assert float(seconds) < 5  # a fifth of a second on a quiet machine
