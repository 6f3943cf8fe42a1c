"""The scenarios of our own edition: complete, consistent, and reached by their own dialogue."""

from __future__ import annotations

import json
import shutil

import pytest
from pytest_voiceeval.packs.eva_airline import (
    EvaAirlineBaseScenario,
    VoluntaryDateChange,
)
from pytest_voiceeval.packs.eva_airline.base import AGENT_TOOLS
from pytest_voiceeval.packs.eva_airline.derived import (
    RecordScenario,
    booking,
    facts,
    identity,
    shorten,
)

from pytest_voiceeval.data.root import shipped_data_root
from pytest_voiceeval.scenario import registry
from pytest_voiceeval.scenario.dialogue import ENDING_CALLS
from pytest_voiceeval.scenario.model import Persona
from pytest_voiceeval.scenario.prompts import VOICE_ALPHANUMERIC_RULE
from pytest_voiceeval.scenario.replay import replay
from pytest_voiceeval.scoring.db_hash import get_dict_hash
from pytest_voiceeval.scoring.signals import SuccessSignal

SEEDS = {
    "voluntary_date_change": "1.1.2",
    "irrops_cancellation": "2.1.1",
    "missed_flight_standby": "3.1.3",
    "cancellation_refund": "5.1.1",
    "escalation_edge_case": "7.2.1",
}


@pytest.fixture(autouse=True)
def _our_edition(monkeypatch):
    monkeypatch.delenv("EVAL_DATA_ROOT", raising=False)


@pytest.fixture(params=SEEDS)
def seed(request):
    return registry.get_eval_scenario(f"eva_airline__{request.param}")


def test_the_seeds_have_their_names_and_ids():
    for name, eva_id in SEEDS.items():
        scenario = registry.get_eval_scenario(f"eva_airline__{name}")
        assert (scenario.short_name, scenario.eva_id) == (name, eva_id)
        assert scenario.description
    assert {f"eva_airline__{name}" for name in SEEDS} <= set(registry.scenarios_of("eva_airline"))


def test_what_every_scenario_of_the_domain_has(seed):
    assert seed.domain == "eva_airline"
    assert seed.success_signals == (SuccessSignal.DB_STATE_MATCH, SuccessSignal.CLEAN_EXIT)
    assert seed.max_duration == 900
    assert list(json.loads(seed.get_agent_tools())) == list(AGENT_TOOLS)
    assert len(AGENT_TOOLS) == 16
    assert seed.get_user_tools() == "{}"
    assert seed.reference_answer is None
    assert seed.current_date == seed.record["current_date_time"][:10]


def test_the_database_goes_to_the_agent_only_and_as_a_copy(seed):
    agent, user = {}, {}
    seed.setup_shared_state(agent, "agent")
    seed.setup_shared_state(user, "user")
    assert user == {}
    assert list(agent) == ["db"]
    agent["db"]["reservations"].clear()
    again = {}
    seed.setup_shared_state(again, "agent")
    assert again["db"]["reservations"]


def test_the_agent_s_prompt_is_the_whole_policy_and_then_the_notes(seed):
    policy, _, notes = seed.get_agent_prompt().partition("\n\n## Additional Notes to Follow\n\n")
    assert policy.endswith(seed.policy.rstrip("\n"))
    assert policy.startswith(seed.agent_persona.role)
    assert notes.startswith(f"Today is {seed.current_date}.\n\n")
    for piece in (VOICE_ALPHANUMERIC_RULE, "Journey ids", "end_conversation", "read aloud"):
        assert piece in notes


def test_the_caller_s_prompt_is_the_record_s_person(seed):
    prompt = seed.get_user_prompt()
    record = seed.record
    assert f"Your name is {record['user_config']['name']}. \n" in prompt
    assert record["user_config"]["user_persona"] in prompt
    assert f"Your goal is to: {record['user_goal']['high_level_user_goal']}" in prompt
    assert f"Greet the agent and say: '{record['user_goal']['starting_utterance']}'" in prompt
    tree = record["user_goal"]["decision_tree"]
    for criterion in tree["must_have_criteria"]:
        assert f"- Must-have: {criterion}\n" in prompt
    for text in (*tree["negotiation_behavior"], *tree["edge_cases"]):
        assert text in prompt
    assert f"Failure path: {tree['failure_condition']}" in prompt
    assert f"Escalation: {tree['escalation_behavior']}" in prompt
    code = record["user_goal"]["information_required"]["confirmation_number"]
    assert f"{code} (spelled out as " in prompt
    assert "L, A, X" in prompt


def test_the_reference_dialogue_leads_to_the_expected_database(seed):
    calls = [call for turn in seed.reference_dialogue for call in turn.calls]
    result = replay(seed, calls)
    assert get_dict_hash(result.db) == get_dict_hash(seed.expected_scenario_db)
    assert seed.reference_dialogue[-1].calls[-1].name in ENDING_CALLS


def test_every_forbidden_call_would_do_harm(seed):
    assert seed.forbidden_calls
    gold = [call for turn in seed.reference_dialogue for call in turn.calls][:-1]
    expected = get_dict_hash(seed.expected_scenario_db)
    harmless = [
        call.name
        for call in seed.forbidden_calls
        if get_dict_hash(replay(seed, [*gold, call]).db) == expected
    ]
    assert harmless == []


def test_recorded_actions_decide_only_where_the_record_asks_for_them(tmp_path, monkeypatch):
    shutil.copytree(shipped_data_root() / "eva_airline", tmp_path / "eva_airline")
    dataset = tmp_path / "eva_airline" / "eva_airline_dataset.jsonl"
    answer = {"actions": [{"action_type": "rebook_flight", "change_fee": 75}]}
    first, *rest = map(json.loads, dataset.read_text(encoding="utf-8").splitlines())
    lines = [{**first, "reference_answer": answer}, *rest]
    dataset.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    monkeypatch.setenv("EVAL_DATA_ROOT", str(tmp_path))
    asked, plain = VoluntaryDateChange(), RecordScenario(eva_id="2.1.1", name="eva_airline__2")
    assert asked.reference_answer == answer
    assert asked.success_signals == (*plain.success_signals, SuccessSignal.ACTION_MATCH)
    assert (plain.reference_answer, len(plain.success_signals)) == (None, 2)


def test_a_scenario_of_one_s_own_needs_the_caller_only():
    class Mine(EvaAirlineBaseScenario):
        """As a user would write one."""

        name = "eva_airline__mine"
        eva_id = "1.1.2"
        description = "Somebody else calls about the same booking."
        user_persona = Persona(role="assistant of the passenger")
        user_task = VoluntaryDateChange().user_task
        user_actions = VoluntaryDateChange().user_actions

    scenario = Mine()
    assert scenario.get_user_prompt().startswith("You are a assistant of the passenger. \n")
    assert scenario.expected_scenario_db == VoluntaryDateChange().expected_scenario_db


def test_a_derived_scenario_describes_itself_by_its_goal():
    scenario = RecordScenario(eva_id="2.1.1", name="eva_airline__2_1_1")
    goal = scenario.record["user_goal"]["high_level_user_goal"]
    assert goal.startswith(scenario.description.rstrip(" …"))
    assert len(scenario.description) <= 202


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Short.", "Short."),
        ("One two. Three four five.", "One two."),
        ("One? Two! Three four five six.", "One? Two!"),
        ("No sentence ends in time here", "No sentence ends in …"),
        ("Costs $1.50 and more than that.", "Costs $1.50 and …"),
        ("Exactly twenty chars.", "Exactly twenty …"),
    ],
)
def test_shorten(text, short):
    assert shorten(text, 20) == short


SPELLED = "Q7Z (spelled out as Q, seven, Z)"


@pytest.mark.parametrize(
    ("information", "line"),
    [
        ({"confirmation_number": "Q7Z"}, f"your confirmation number is {SPELLED}"),
        ({"confirmation_code": "Q7Z"}, f"your confirmation number is {SPELLED}"),
        ({"Booking confirmation code": "Q7Z"}, f"your confirmation number is {SPELLED}"),
        ({"Passenger last name": "Ito"}, "your last name is Ito"),
        ({"last_name": "A", "Passenger last name": "B"}, "your last name is A"),
        ({"first_name_if_asked": "Jo"}, "your first name is Jo"),
    ],
)
def test_identity_knows_the_spellings_of_the_keys(information, line):
    assert list(identity(information)) == [f"Identify yourself by what the agent asks for: {line}."]


def test_a_caller_who_hides_the_identity_is_given_none():
    assert list(identity({"last_name_if_eventually_provided": "Ito"})) == []


def test_every_flight_of_the_booking_is_told():
    trips = [
        {"origin": "PDX", "destination": "SAN", "flight_date": "2026-06-02",
         "departure_time": "09:40", "status": "confirmed"},
        {"origin": "SAN", "destination": "PDX", "status": "cancelled"},
    ]  # fmt: skip
    lines = list(booking({"original_travel_details": trips, "flight_number": "LQ7"}))
    assert lines == [
        (
            "Your booking: from PDX to SAN, on 2026-06-02, departing at 09:40, "
            "flight LQ7 (spelled out as L, Q, seven)."
        ),
        "Your booking also holds: from SAN to PDX, cancelled.",
    ]
    assert list(booking({})) == []


def test_facts_are_what_nothing_else_tells():
    information = {
        "confirmation_number": "Q7Z",
        "phone_number_if_asked": "+1-1",
        "seat_preference": {"first_choice": "aisle", "second_choice": "window"},
        "original_travel_details": [{}],
        "empty": "",
        "Checked bags": 2,
    }
    assert list(facts(information)) == [
        "phone number if asked: +1-1",
        "seat preference: first choice aisle, second choice window",
        "Checked bags: 2",
    ]
