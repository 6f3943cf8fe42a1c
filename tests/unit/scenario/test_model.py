"""Scenarios: what the class fixes, what the constructor may add, what is refused."""

from __future__ import annotations

import json
from functools import cached_property

import pytest

from pytest_voiceeval.scenario.model import NoiseConfig, Resources, Scenario
from pytest_voiceeval.scoring.db_hash import get_dict_hash
from pytest_voiceeval.scoring.signals import SuccessSignal

SIGNALS = (SuccessSignal.CLEAN_EXIT,)


def test_defaults_of_the_constructor():
    scenario = Scenario()
    assert scenario.domain == "default"
    assert scenario.reference_file == "reference_answer.json"
    assert scenario.general_prompt.startswith("This is a phone call")
    nothing = (
        "name description max_duration noise_config reference_answer expected_scenario_db "
        "expected_user_db nl_assertions db_state_assertions initialization_actions "
        "reference_dialogue success_signals"
    )
    assert {getattr(scenario, key) for key in nothing.split()} == {None}
    flags = "ignore_capitalization ignore_punctuation clean_text disallow_extra_items"
    assert {getattr(scenario, key) for key in flags.split()} == {False}
    assert scenario.forbidden_calls == ()


def test_arguments_fill_in_and_the_class_wins():
    class Fixed(Scenario):
        max_duration = 60

        @property
        def description(self):
            return "from the class"

    scenario = Fixed(name="x__y", max_duration=5, description="given", nl_assertions=["polite"])
    assert (scenario.max_duration, scenario.description) == (60, "from the class")
    assert (scenario.name, scenario.nl_assertions) == ("x__y", ["polite"])


def test_construction_evaluates_no_cached_property():
    class Lazy(Scenario):
        @cached_property
        def expected_scenario_db(self):
            raise AssertionError("the gold replay ran")

        @cached_property
        def reference_answer(self):
            return {"actions": []}

    scenario = Lazy(expected_scenario_db={"given": 1})
    assert "reference_answer" not in vars(scenario)
    assert scenario.reference_answer == {"actions": []}
    with pytest.raises(AssertionError, match="gold replay"):
        _ = scenario.expected_scenario_db


def test_what_a_subclass_set_before_is_kept():
    class Early(Scenario):
        def __init__(self):
            self.max_duration = 7
            super().__init__(max_duration=9)

    assert Early().max_duration == 7


@pytest.mark.parametrize(
    ("given", "expected"),
    [(None, -6.0), (NoiseConfig(gain_db=3.0), 3.0)],
    ids=["class level", "an argument beats it"],
)
def test_noise_of_the_class_is_used(given, expected):
    class Noisy(Scenario):
        noise_config = NoiseConfig(gain_db=-6.0)

    assert Noisy(noise_config=given).noise_config.gain_db == expected
    assert Noisy.noise_config.gain_db == -6.0


@pytest.mark.parametrize("signals", [None, (), [], "clean_exit"], ids=repr)
def test_a_named_scenario_needs_signals(signals):
    text = r"Empty: success_signals must be a non-empty tuple of SuccessSignal members"
    with pytest.raises(TypeError, match=text):
        type("Empty", (Scenario,), {"name": "x__y", "success_signals": signals})


def test_a_base_without_name_needs_none_and_signals_are_inherited():
    class Base(Scenario):
        pass

    with pytest.raises(TypeError, match="success_signals must be"):
        type("Child", (Base,), {"name": "x__y"})
    Base.success_signals = SIGNALS
    assert type("Child", (Base,), {"name": "x__y"}).success_signals == SIGNALS


def test_signals_may_be_computed():
    class Computed(Scenario):
        name = "x__computed"

        @cached_property
        def success_signals(self):
            return SIGNALS

    assert Computed().success_signals == SIGNALS


@pytest.mark.parametrize(
    ("name", "short"), [("a__b", "b"), ("a__b__c", "b__c"), ("plain", "plain"), ("a__", "a__")]
)
def test_short_name(name, short):
    assert Scenario(name=name).short_name == short


@pytest.mark.parametrize("side", ["user", "agent"])
@pytest.mark.parametrize("part", ["persona", "task", "actions", "resources"])
def test_a_part_that_is_not_given_is_named(side, part):
    with pytest.raises(NotImplementedError, match=rf"Scenario does not define {side}_{part}"):
        getattr(Scenario(), f"{side}_{part}")


def test_prompts_put_the_parts_below_each_other(shop):
    prompt = shop().get_user_prompt()
    paragraphs = prompt.split("\n\n")
    assert paragraphs[0].startswith("You are a customer. \nYour name is Ada. \n")
    assert paragraphs[1:4] == ["# Task", "Your goal is to: buy a lamp", "# Actions"]
    assert paragraphs[-1] == "# Resources"
    assert "\n\n\n" not in prompt


def test_a_general_prompt_of_one_s_own_is_used(shop):
    class Terse(shop):
        general_prompt = "SAY LITTLE."

    assert "never step out of it. SAY LITTLE.\n" in Terse().get_agent_prompt()


def test_tools_are_json_texts(shop):
    assert json.loads(shop().get_agent_tools()) == {"EndConversationTool": {}}
    assert shop().get_user_tools() == "{}"


def test_state_and_sync_are_empty_by_default(shop):
    state = {}
    shop().setup_shared_state(state, "agent")
    assert state == {}
    assert shop().sync_state({"a": 1}, {"b": 2}) == {"agent": {}, "user": {}}


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        ({SuccessSignal.DB_STATE_MATCH: True, SuccessSignal.CLEAN_EXIT: True}, True),
        ({SuccessSignal.DB_STATE_MATCH: True, SuccessSignal.CLEAN_EXIT: False}, False),
        ({SuccessSignal.CLEAN_EXIT: True, SuccessSignal.ACTION_MATCH: False}, True),
        ({SuccessSignal.DB_STATE_MATCH: None}, "N/A"),
    ],
    ids=["all", "one fails", "outside the list", "none applies"],
)
def test_compute_is_successful(shop, verdicts, outcome):
    assert shop().compute_is_successful(verdicts) == outcome


def test_compute_refuses_an_unknown_signal_and_an_empty_list(shop):
    class Odd(shop):
        success_signals = ("is_action_match", "fake_signal_name")

    with pytest.raises(ValueError, match=r"(?i)unknown"):
        Odd().compute_is_successful({})
    with pytest.raises(ValueError, match=r"."):
        Scenario().compute_is_successful({})


class TestSave:
    def _saved(self, scenario, tmp_path):
        folder = tmp_path / "deep" / "scenario_config"
        scenario.save(folder)
        return {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}

    def test_the_least_files(self, shop, tmp_path):
        files = self._saved(shop(name="shop__é"), tmp_path)
        assert sorted(files) == [
            "agent_prompt.txt", "agent_tools.json", "metadata.json", "user_prompt.txt",
            "user_tools.json",
        ]  # fmt: skip
        assert files["user_prompt.txt"] == shop().get_user_prompt()
        assert json.loads(files["metadata.json"]) == {
            "name": "shop__é",
            "domain": "default",
            "description": None,
            "max_duration": None,
            "noise_config": None,
            "ignore_capitalization": False,
            "ignore_punctuation": False,
            "clean_text": False,
            "disallow_extra_items": False,
            "success_signals": ["db_state_match", "clean_exit"],
        }
        assert '\n    "name"' in files["metadata.json"]

    def test_tools_are_json_inside_a_json_string(self, shop, tmp_path):
        text = json.loads(self._saved(shop(name="s"), tmp_path)["agent_tools.json"])
        assert json.loads(text) == {"EndConversationTool": {}}

    @pytest.mark.parametrize(
        ("answer", "written"),
        [("four", {"message": "four"}), ({"actions": []}, {"actions": []}), ([1], [1])],
        ids=["text", "actions", "list"],
    )
    def test_reference_answer(self, shop, tmp_path, answer, written):
        files = self._saved(shop(name="s", reference_answer=answer), tmp_path)
        assert json.loads(files["reference_answer.json"]) == written

    def test_everything_that_is_present_is_in_the_metadata(self, shop, tmp_path):
        scenario = shop(
            name="s",
            noise_config=NoiseConfig(gain_db=1.0),
            nl_assertions=["polite"],
            db_state_assertions=[{"side": "agent", "func_name": "f", "assert_value": True}],
            initialization_actions=[{"side": "agent", "func_name": "g", "arguments": {}}],
            expected_scenario_db={"t": {}},
            expected_user_db={"u": 1},
        )
        metadata = json.loads(self._saved(scenario, tmp_path)["metadata.json"])
        assert metadata["noise_config"]["gain_db"] == 1.0
        assert metadata["nl_assertions"] == ["polite"]
        assert metadata["db_state_assertions"][0]["func_name"] == "f"
        assert metadata["initialization_actions"][0]["func_name"] == "g"
        assert metadata["expected_db_hash"] == get_dict_hash({"t": {}})
        assert metadata["expected_user_db_hash"] == get_dict_hash({"u": 1})


def test_parts_of_one_scenario_do_not_leak_into_the_next():
    assert Resources().tools is not Resources().tools
