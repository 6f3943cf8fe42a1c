"""Our policy for eva_airline agrees with the tools: names, parameters, choices and every number."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.data.artifacts import load_db_artifact, load_yaml
from pytest_voiceeval.tools import get_schema_tool_for_eval, list_schema_tools_for_eval

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "eva_airline"
POLICY = load_yaml(FOLDER / "airline_agent.yaml")
DB = load_db_artifact(FOLDER / "2.1.1.json")
WHO = {"confirmation_number": "B5TKD9", "passenger_id": "PAX001"}
BOOKED = {"confirmation_number": "B5TKD9", "journey_id": "FL_LQ274_20260306"}
CABINS = ("basic_economy", "main_cabin", "premium_economy", "business", "first")


def call(tool: str, arguments: dict[str, Any], cabin: str = "premium_economy") -> dict[str, Any]:
    """Call a tool on a fresh reservation booked in `cabin`, for a fare of 612."""
    db = copy.deepcopy(DB)
    (booking,) = db["reservations"]["B5TKD9"]["bookings"]
    booking["fare_class"] = cabin
    found = get_schema_tool_for_eval(tool, domain="eva_airline", shared_state={"db": db})
    return found.invoke(**arguments)


def rule(label: str) -> str:
    """The text of one rule of the policy."""
    text: str = POLICY["instructions"].split(f"- **{label} ")[1]
    return text.split("- **", maxsplit=1)[0]


def table(label: str) -> dict[str, list[str]]:
    """The rows of the table in a rule, by their first cell."""
    rows = [line.strip(" |").split(" | ") for line in rule(label).splitlines() if " | " in line]
    return {row[0]: row[1:] for row in rows[1:]}


def test_the_policy_names_the_tools_with_their_parameters() -> None:
    types = {"float": "number"}
    assert [t["name"] for t in POLICY["tools"]] == [t["id"] for t in POLICY["tools"]]
    assert {t["name"] for t in POLICY["tools"]} == {
        get_schema_tool_for_eval(name, domain="eva_airline").name
        for name in list_schema_tools_for_eval("eva_airline")
    }
    for declared in POLICY["tools"]:
        schema = get_schema_tool_for_eval(declared["name"], domain="eva_airline").schema
        required, optional = declared["required_parameters"], declared.get("optional_parameters")
        assert [p["name"] for p in required] == list(schema.required)
        parameters = [*required, *(optional or [])]
        assert {p["name"] for p in parameters} == set(schema.properties)
        for parameter in parameters:
            real = schema.properties[parameter["name"]]
            assert types.get(parameter["type"], parameter["type"]) == real["type"]
            assert set(parameter.get("enum", ())) == set(real.get("enum", ()))


@pytest.mark.parametrize("cabin", CABINS)
@pytest.mark.parametrize(("column", "kind"), [(0, "voluntary"), (1, "same_day")])
def test_change_fees_are_those_of_the_tool(cabin: str, column: int, kind: str) -> None:
    new = {"new_journey_id": "FL_LQ274_20260307", "rebooking_type": kind, "waive_change_fee": False}
    costs = call("rebook_flight", BOOKED | new, cabin)["cost_summary"]
    assert table("C2")[cabin][column] == f"${costs['change_fee']}"


@pytest.mark.parametrize("cabin", CABINS)
def test_a_missed_flight_costs_the_voluntary_fee(cabin: str) -> None:
    kind = {"rebooking_type": "missed_flight_passenger_fault", "waive_change_fee": False}
    costs = call("rebook_flight", {**BOOKED, "new_journey_id": "FL_LQ274_20260307", **kind}, cabin)
    assert table("C2")[cabin][0] == f"${costs['cost_summary']['change_fee']}"
    assert "voluntary column in C2" in rule("M1")


def test_voucher_values_are_those_of_the_tool() -> None:
    values = dict(table("D6").values())
    for reason, value in values.items():
        answer = call("issue_meal_voucher", {**WHO, "voucher_reason": reason})
        assert value == f"${answer['amount']}"
    assert len(values) == 4


@pytest.mark.parametrize(("nights", "status"), [(3, "success"), (4, "error")])
def test_hotel_nights_end_where_the_tool_refuses(nights: int, status: str) -> None:
    assert call("issue_hotel_voucher", {**WHO, "num_nights": nights})["status"] == status
    assert "3 nights at most" in rule("D7")


@pytest.mark.parametrize(("bags", "status"), [(0, "success"), (5, "success"), (6, "error")])
def test_bag_numbers_end_where_the_tool_refuses(bags: int, status: str) -> None:
    assert call("add_baggage_allowance", {**BOOKED, "num_bags": bags})["status"] == status
    assert "from 0 to 5" in rule("B2")


@pytest.mark.parametrize(
    ("reason", "fee", "refund", "credit"),
    [("voluntary", 100, 0, 512), ("24_hour_rule", 0, 612, 0), ("irrops_refund", 0, 612, 0)],
)
def test_cancellation_money_is_that_of_the_tool(
    reason: str, fee: int, refund: int, credit: int
) -> None:
    answer = call("cancel_reservation", {**BOOKED, "cancellation_reason": reason})
    money = ("cancellation_fee", "refund_amount_eligible", "credit_amount_eligible")
    assert [answer[key] for key in money] == [fee, refund, credit]
    assert "A fee of $100 for each booking cancelled" in rule("R3")
    assert "no cancellation fee" in rule("R1")


def test_waiting_and_validity_times_are_those_of_the_tools() -> None:
    refund = call("process_refund", {**WHO, "refund_amount": 1, "refund_type": "full_fare"})
    credit = call("issue_travel_credit", {**WHO, "amount": 1, "credit_reason": "goodwill"})
    assert f"up to {refund['processing_days']} business days" in rule("R4")
    assert f"good for {credit['valid_months']} months" in rule("R3")


DISRUPTIONS = {
    f"{path.stem} {key}": disruption
    for path in sorted(FOLDER.glob("*.json"))
    for key, disruption in load_db_artifact(path)["disruptions"].items()
}


@pytest.mark.parametrize("disruption", DISRUPTIONS.values(), ids=DISRUPTIONS)
def test_disruption_records_grant_what_the_policy_says(disruption: dict[str, Any]) -> None:
    granted, minutes = disruption["passenger_entitled_to"], disruption["delay_minutes"] or 0
    cancelled = disruption["disruption_type"] == "cancellation"
    assert disruption["is_irrops"] == granted["fee_waiver"] == (cancelled or minutes >= 120)
    assert granted["refund_option"] == (cancelled or minutes >= 240)
    assert granted["rebooking_window_days"] == (7 if granted["fee_waiver"] else 0)
    if disruption["disruption_type"] == "schedule_change":
        assert not granted["meal_voucher"]
        assert not granted["hotel_accommodation"]
    assert "120 minutes or more" in rule("D2")
    assert "240 minutes or more" in rule("D3")
    assert "schedule change never grants a meal" in rule("D6")
    assert "schedule change never grants a hotel" in rule("D7")


def test_rules_refer_to_rules_that_there_are() -> None:
    labels = set(re.findall(r"- \*\*([A-Z]\d)\b", POLICY["instructions"]))
    assert set(re.findall(r"\b[A-Z]\d\b", POLICY["instructions"])) == labels


def test_every_gold_note_cites_rules_that_the_policy_has() -> None:
    labels = re.findall(r"- \*\*([A-Z]\d)\b", POLICY["instructions"])
    notes = [
        json.loads(line)["gold_note"]
        for line in (FOLDER / "eva_airline_dataset.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    cited = [set(re.findall(r"\b[A-Z]\d\b", note)) for note in notes]
    assert len(set(labels)) == len(labels)
    assert all(labels_of_note and labels_of_note <= set(labels) for labels_of_note in cited)
