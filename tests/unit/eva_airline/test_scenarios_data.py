"""Finding and reading the airline's data in every layout, and saying what is wrong with them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from pytest_voiceeval.packs.eva_airline import EvaAirlineBaseScenario, RecordScenario
from pytest_voiceeval.packs.eva_airline.data import (
    current_dataset,
    edition,
    find_layout,
    read_database,
    read_policy,
)
from pytest_voiceeval.packs.eva_airline.dataset import MissingRecord, is_record_id, load_dataset

from pytest_voiceeval.data.errors import DataError, MissingData
from pytest_voiceeval.data.root import shipped_data_root

POLICY = "role: You are an agent.\ndescription: Helps.\ninstructions: |\n  Be kind.\n"
LAYOUTS = {
    "ours and the reference's": (
        "eva_airline/eva_airline_dataset.jsonl",
        "eva_airline/airline_agent.yaml",
        "eva_airline",
    ),
    "the benchmark's own": (
        "data/airline_dataset.jsonl",
        "configs/agents/airline_agent.yaml",
        "data/airline_scenarios",
    ),
}


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("EVAL_DATA_ROOT", str(tmp_path))
    return tmp_path


def _write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _fill(root, layout="ours and the reference's", lines=('{"id": "1.1"}',), policy=POLICY):
    dataset, policy_file, databases = LAYOUTS[layout]
    _write(root / dataset, "".join(f"{line}\n" for line in lines))
    _write(root / policy_file, policy)
    _write(root / databases / "1.1.json", json.dumps({"_current_date": "2026-01-02"}))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_is_read(root, layout):
    _fill(root, layout)
    assert [line.id for line in current_dataset().lines] == ["1.1"]
    assert read_database("1.1") == {"_current_date": "2026-01-02"}
    assert read_policy().instructions == "Be kind.\n"
    assert find_layout().root == root


def test_no_data_names_both_places(root):
    with pytest.raises(
        MissingData,
        match=r"found neither eva_airline/eva_airline_dataset\.jsonl nor data/airline_dataset\.jso",
    ):
        find_layout()


class TestEdition:
    def test_shipped_data_are_ours(self, monkeypatch):
        monkeypatch.delenv("EVAL_DATA_ROOT", raising=False)
        found = edition()
        assert (found.name, found.root, len(found.fingerprint)) == (
            "voiceeval", shipped_data_root(), 12,
        )  # fmt: skip

    def test_upstream_is_recognised_in_both_layouts(self, root, upstream_root, monkeypatch):
        eva = upstream_root / "eva"
        folder = root / "eva_airline"
        folder.mkdir()
        shutil.copy(eva / "data" / "airline_dataset.jsonl", folder / "eva_airline_dataset.jsonl")
        policy = (eva / "configs" / "agents" / "airline_agent.yaml").read_text(encoding="utf-8")
        stripped = "\n".join(line.rstrip() for line in policy.split("\n"))
        (folder / "airline_agent.yaml").write_text(stripped, encoding="utf-8")
        assert edition().name == "upstream"
        monkeypatch.setenv("EVAL_DATA_ROOT", str(eva))
        assert edition().name == "upstream"

    def test_anything_else_is_custom_and_its_content_counts(self, root):
        _fill(root)
        before = edition()
        assert before.name == "custom"
        _write(root / "eva_airline" / "1.1.json", json.dumps({"_current_date": "2026-01-03"}))
        assert edition().fingerprint != before.fingerprint


class TestDataset:
    def _load(self, root, *lines):
        _fill(root, lines=lines)
        return current_dataset()

    def test_records_are_read_one_by_one(self, root):
        dataset = self._load(root, '{"id": "1.1", "x": "é"}', "", '{"x": 2, "id": "1.2"}')
        assert dataset.read("1.1") == {"id": "1.1", "x": "é"}
        assert dataset.read("1.2") == {"x": 2, "id": "1.2"}
        assert dataset.place("1.2").endswith("eva_airline_dataset.jsonl:3")

    def test_a_changed_file_is_read_again(self, root):
        assert len(self._load(root, '{"id": "1"}').lines) == 1
        assert len(self._load(root, '{"id": "1"}', '{"id": "2"}').lines) == 2

    def test_an_unknown_id_is_a_key_error(self, root):
        with pytest.raises(KeyError, match=r"eva_airline_dataset\.jsonl: no record has the id '9'"):
            self._load(root, '{"id": "1"}').read("9")

    @pytest.mark.parametrize(
        ("line", "problem"),
        [
            ('{"id": "2", "x": }', r"dataset\.jsonl:2: is not JSON: Expecting value"),
            ('{"id": "2", "x": 1, "x": 2}', r"jsonl:2: the key 'x' appears twice"),
            ('{"id": "2", "x": {"y": NaN}}', r"jsonl:2: x\.y is nan"),
        ],
        ids=["syntax", "twice", "nan"],
    )
    def test_a_broken_record_is_told_with_its_line_and_others_work(self, root, line, problem):
        dataset = self._load(root, '{"id": "1"}', line, '{"id": "3"}')
        with pytest.raises(DataError, match=problem):
            dataset.read("2")
        assert [dataset.read(eva_id)["id"] for eva_id in ("1", "3")] == ["1", "3"]

    def test_bytes_that_are_not_utf_8_are_told_with_their_line(self, root):
        _fill(root)
        file = root / "eva_airline" / "eva_airline_dataset.jsonl"
        file.write_bytes(b'{"id": "1"}\n{"id": "2", "x": "\xe9"}\n')
        with pytest.raises(DataError, match=r"jsonl:2: is not UTF-8"):
            load_dataset(file).read("2")

    @pytest.mark.parametrize(
        ("line", "problem"),
        [
            ("not json", "there is no 'id' to be read"),
            ("[1]", "there is no 'id' to be read"),
            ('{"id": 3}', "there is no 'id' to be read"),
            ('{"id": "../x"}', r"the id '\.\./x' cannot name a file and a scenario"),
            ('{"id": "/abs/x"}', "cannot name a file"),
            ('{"id": "C:x"}', "cannot name a file"),
            ('{"id": "."}', "cannot name a file"),
            ('{"id": "a..b"}', "cannot name a file"),
        ],
    )
    def test_a_line_without_a_usable_id_is_listed_with_its_problem(self, root, line, problem):
        dataset = self._load(root, '{"id": "1"}', line)
        assert dataset.lines[1].short_name == "line_2"
        with pytest.raises(DataError, match=rf"jsonl:2: .*{problem}"):
            dataset.read("line 2")

    @pytest.mark.parametrize("twin", ["1.1", "1_1"], ids=["same id", "same scenario name"])
    def test_one_id_twice_spoils_that_record_only(self, root, twin):
        dataset = self._load(root, '{"id": "1.1"}', '{"id": "2"}', f'{{"id": "{twin}"}}')
        with pytest.raises(DataError, match=r"jsonl:1: .*in line 3 have the same id, '1\.1'"):
            dataset.read("1.1")
        assert [line.id for line in dataset.lines] == ["1.1", "2"]

    @pytest.mark.parametrize(
        ("text", "good"),
        [("1.1.2", True), ("a-b_c.d", True), ("x" * 65, False), ("", False), ("a.", False)],
    )
    def test_ids(self, text, good):
        assert is_record_id(text) is good


@pytest.mark.parametrize("eva_id", ["../1.1", "/etc/passwd", ""])
def test_a_database_outside_its_folder_is_refused(root, eva_id):
    _fill(root)
    with pytest.raises(DataError, match="cannot name a file"):
        read_database(eva_id)


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        ("role: x\ninstructions: y\n", "'description' must be a text that is not empty"),
        ("- role\n", "'role' must be a text"),
        ("role: 3\ndescription: x\ninstructions: y\n", "'role' must be a text"),
        ("role: [\n", r"airline_agent\.yaml:\d: is not YAML"),
    ],
    ids=["missing", "a list", "a number", "syntax"],
)
def test_a_bad_policy_file_is_told(root, policy, problem):
    _fill(root, policy=policy)
    with pytest.raises(DataError, match=problem):
        read_policy()


def test_a_missing_policy_file_is_told(root):
    _fill(root)
    (root / "eva_airline" / "airline_agent.yaml").unlink()
    with pytest.raises(MissingData, match=r"airline_agent\.yaml: the agent's policy is missing"):
        read_policy()


class TestScenarioOnBadData:
    @pytest.mark.parametrize(
        ("record", "ask", "problem"),
        [
            ({}, lambda s: s.expected_scenario_db, "'ground_truth.expected_scenario_db' must be"),
            ({"ground_truth": {}}, lambda s: s.expected_scenario_db, "must be an object"),
            ({}, lambda s: s.user_persona, "'user_config' must be an object, got None"),
            ({"user_goal": {}}, lambda s: s.user_task, "'user_goal.high_level_user_goal' must be"),
            (
                {"reference_dialogue": [{"role": "user", "text": "Hi"}]},
                lambda s: s.reference_dialogue,
                "reference_dialogue, turn 1: is the agent's, not the user's",
            ),
            ({"forbidden_calls": {}}, lambda s: s.forbidden_calls, "expected a list of calls"),
        ],
        ids=["truth", "database", "config", "goal", "dialogue", "calls"],
    )
    def test_the_place_is_named(self, root, record, ask, problem):
        _fill(root, lines=["", json.dumps({"id": "1.1", **record})])
        with pytest.raises(ValueError, match=rf"dataset\.jsonl:2.*{problem}"):
            ask(RecordScenario(eva_id="1.1", name="eva_airline__1_1"))

    def test_a_subclass_of_a_user_s_own_with_an_unknown_id(self, root):
        class Mine(EvaAirlineBaseScenario):
            name = "eva_airline__mine"
            eva_id = "9.9.9"

        _fill(root)
        scenario = Mine()
        with pytest.raises(MissingRecord, match=r"no record has the id '9\.9\.9'"):
            _ = scenario.expected_scenario_db

    def test_a_database_without_a_date(self, root):
        _fill(root)
        _write(root / "eva_airline" / "1.1.json", "{}")
        with pytest.raises(DataError, match=r"the database of 1\.1 has no '_current_date'"):
            _ = RecordScenario(eva_id="1.1", name="x").current_date


LIST = """
from pytest_voiceeval.scenario import registry
for name in registry.scenarios_of("eva_airline"):
    path, line = registry.location_of(name)
    try:
        scenario = registry.get_eval_scenario(name)
        print(name, f"{path.name}:{line}", scenario.record["id"])
    except Exception as error:
        print(name, f"{path.name}:{line}", type(error).__name__, error)
"""


def _listed(root, tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", LIST], capture_output=True, text=True, check=False, cwd=tmp_path,
        env={"EVAL_DATA_ROOT": str(root), "PATH": "", "LC_ALL": "C", "PYTHONUTF8": "0"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def test_registration_keeps_the_order_and_tells_of_what_cannot_be_used(root, tmp_path):
    lines = ['{"id": "4.1"}', "broken", '{"id": "1.1.2"}', '{"id": "5"}', '{"id": "5"}']
    _fill(root, lines=lines)
    listed = _listed(root, tmp_path)
    assert listed[0] == "eva_airline__4_1 eva_airline_dataset.jsonl:1 4.1"
    assert listed[1].startswith("eva_airline__line_2 eva_airline_dataset.jsonl:2 DataError")
    assert listed[2].startswith("eva_airline__voluntary_date_change seeds.py:")
    assert "eva_airline__5 eva_airline_dataset.jsonl:4 DataError" in listed[3]
    assert "the one in line 5 have the same id" in listed[3]
    assert len(listed) == 4


def test_without_data_the_seeds_say_what_is_missing(root, tmp_path):
    listed = _listed(root, tmp_path)
    assert len(listed) == 5
    assert all("MissingData" in line and "found neither" in line for line in listed)
