"""The files of one call: the reference's keys and shapes, scored or not."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.call.errors import AgentUnreachable, StateUnreadable
from pytest_voiceeval.call.result import EndReason, SideRecord, Tokens, TurnLatency
from pytest_voiceeval.report.artifacts import write_call, write_unscored
from pytest_voiceeval.report.metrics import latency_stats, metrics_of
from tests.unit.report_files.samples import OTHER_DB, Shop, agent, said, scored, shop, talk

ALWAYS = {
    "total_turns": int,
    "duration_seconds": float,
    "turns": list,
    "latency_stats": dict,
    "latencies": list,
    "scenario_name": str,
    "scenario_directory": str,
    "scenario_duration": float,
    "stop_reason": str,
    "clean_exit": bool,
    "is_action_match": (bool, str),
    "token_usage": dict,
    "success_breakdown": dict,
    "is_successful": (bool, str),
}
"""Keys of the reference's `metrics.json` that are always there, with their types."""


def strict(path: Path) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{path.name} holds {constant}")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


SCENARIO_CONFIG = {
    f"scenario_config/{name}"
    for name in (
        "metadata.json",
        "user_prompt.txt",
        "user_tools.json",
        "agent_prompt.txt",
        "agent_tools.json",
    )
}
EVERY_CALL = {
    "metrics.json",
    "transcript.json",
    "conversation_log.txt",
    "conversation_log.seglst.json",
    "bridge_log.txt",
    "final_agent_response.json",
    "final_scenario_db_hash.txt",
    "bot_logs_agent/llm_context.json",
    *SCENARIO_CONFIG,
}


def test_a_passed_call_leaves_the_reference_s_tree(tmp_path: Path) -> None:
    result = write_call(tmp_path, shop(), scored())
    assert files_of(tmp_path) == EVERY_CALL
    assert result.artifacts == tmp_path
    metrics = strict(tmp_path / "metrics.json")
    for key, kind in ALWAYS.items():
        assert isinstance(metrics[key], kind), key
    assert metrics["scenario_directory"] == str(tmp_path)
    assert metrics["scenario_duration"] == 4.5
    assert metrics["turns"][1] == {
        "timestamp": "2026-03-01T09:00:02+00:00",
        "role": "user",
        "text": "I want to return order one.",
    }
    assert metrics["latencies"] == [
        {
            "user_transcript": "I want to return order one.",
            "agent_transcript": "Done.",
            "latency_ms": 500.0,
        }
    ]
    assert metrics["greeting_latency_ms"] == 200.0
    assert metrics["token_usage"]["agent"] == {"n_calls": 5, "prompt": 100, "completion": 20}
    assert metrics["success_breakdown"] == {
        "passed": ["db_state_match", "clean_exit"],
        "failed": [],
        "not_applicable": [],
        "excluded": [],
    }
    assert metrics["is_task_successful"] is True
    assert metrics["db_state_actual_hash"] == metrics["db_state_expected_hash"]
    assert strict(tmp_path / "final_agent_response.json") == [
        {"actions": [{"side": "agent", "action_type": "return", "order": 1}]}
    ]
    context = strict(tmp_path / "bot_logs_agent" / "llm_context.json")
    assert context == [{"role": "system", "content": "You sell."}]
    hashes = (tmp_path / "final_scenario_db_hash.txt").read_text(encoding="utf-8")
    assert hashes == f"db_hash: {metrics['db_state_actual_hash']}\n"
    tools = strict(tmp_path / "scenario_config" / "agent_tools.json")
    assert json.loads(tools) == {}


def test_a_wrong_database_and_a_caller_bot_add_files(tmp_path: Path) -> None:
    user = SideRecord(context=({"role": "system", "content": "You call."},), db_hash="ab" * 32)
    wrong = talk(agent=agent(OTHER_DB, db=OTHER_DB), user=user)
    write_call(tmp_path, shop(), scored(wrong))
    assert files_of(tmp_path) == EVERY_CALL | {
        "db_diff.json",
        "final_scenario_db.json",
        "bot_logs_user/llm_context.json",
    }
    hashes = (tmp_path / "final_scenario_db_hash.txt").read_text(encoding="utf-8")
    assert hashes.splitlines()[1] == f"user_db_hash: {'ab' * 32}"
    assert "orders" in strict(tmp_path / "db_diff.json")["tables_modified"]
    assert strict(tmp_path / "metrics.json")["success_breakdown"]["failed"] == ["db_state_match"]


def test_where_the_format_wants_a_number_a_key_beside_it_says_that_none_was_measured() -> None:
    silent = talk(agent=agent(tokens=None, model_runs=0), latencies=())
    metrics = metrics_of(scored(silent), "x")
    assert metrics["token_usage"]["agent"] == {"n_calls": 0, "prompt": 0, "completion": 0}
    assert metrics["token_usage_reported"] == {"agent": False, "user": False}
    assert metrics["latency_stats"]["count"] == 0
    assert (metrics["greeting_latency_ms"], metrics["model_runs"]) == (None, None)
    user = SideRecord(tokens=Tokens(1, 2, 3))
    metrics = metrics_of(scored(talk(user=user)), "x")
    assert metrics["token_usage"]["user"] == {"n_calls": 1, "prompt": 2, "completion": 3}
    assert metrics["token_usage_reported"] == {"agent": True, "user": True}


@pytest.mark.parametrize("reason", list(EndReason))
def test_how_it_ended_is_told_in_the_reference_s_words_and_ours(reason: EndReason) -> None:
    metrics = metrics_of(scored(talk(end_reason=reason)), "x")
    assert metrics["end_reason"] == reason
    assert metrics["clean_exit"] is (reason == "exit")
    assert metrics["stop_reason"] == ("[EXIT]" if reason == "exit" else "[TIMEOUT]")


def test_optional_keys_are_there_only_when_they_apply() -> None:
    metrics = metrics_of(scored(expected_scenario_db=None), "x")
    optional = ("db_state_match", "db_state_assertion_verdicts", "insufficient_agent_turns")
    assert not any(key in metrics for key in (*optional, "judge_score", "trace_metrics", "error"))
    stalled = metrics_of(scored(talk(agent=agent(tokens=Tokens(1, 1, 1)))), "x")
    assert stalled["insufficient_agent_turns"] is True
    assert stalled["is_successful"] is False


@pytest.mark.parametrize(
    ("values", "stats"),
    [
        ([], (0, 0, 0, 0, 0, 0)),
        ([100.0, 300.0, 200.0], (3, 200.0, 200.0, 300.0, 100.0, 300.0)),
        ([float(n) for n in range(100)], (100, 49.5, 50.0, 95.0, 0.0, 99.0)),
    ],
)
def test_latency_statistics_are_the_reference_s(values: list[float], stats: tuple[float]) -> None:
    assert tuple(latency_stats(values).values()) == stats


def test_an_unanswered_line_of_the_caller_is_no_latency() -> None:
    unanswered = talk(latencies=(TurnLatency(2, None, 1.0), TurnLatency(3, 0.1, 0.2)))
    metrics = metrics_of(scored(unanswered), "x")
    assert metrics["latencies"] == []
    assert metrics["latency_stats"]["count"] == 0


# -- calls without a verdict


def test_a_broken_call_leaves_everything_that_was_measured(tmp_path: Path) -> None:
    broken = talk(end_reason=None, end_detail="", agent=agent(None), latencies=())
    write_unscored(tmp_path, shop(), broken, StateUnreadable("no state"))
    assert files_of(tmp_path) == EVERY_CALL - {"final_scenario_db_hash.txt"}
    metrics = strict(tmp_path / "metrics.json")
    assert metrics["error"]["code"] == "state_unreadable"
    assert metrics["total_turns"] == 3
    unknown = ("is_successful", "is_action_match", "clean_exit", "stop_reason", "end_reason")
    assert [metrics[key] for key in unknown] == [None] * 5
    assert "Stop reason: [ERROR]" in (tmp_path / "conversation_log.txt").read_text("utf-8")
    assert "StateUnreadable: no state" in (tmp_path / "bridge_log.txt").read_text("utf-8")


def test_a_call_that_never_began_says_so_in_every_file(tmp_path: Path) -> None:
    never = talk(
        started_at="", duration=0.0, end_reason=None, transcript=(), agent=SideRecord(),
        latencies=(), agent_turns=0,
    )  # fmt: skip
    write_unscored(tmp_path, shop(), never, AgentUnreachable("nobody there"))
    assert files_of(tmp_path) == SCENARIO_CONFIG | {
        "metrics.json",
        "transcript.json",
        "conversation_log.txt",
        "bridge_log.txt",
    }
    metrics = strict(tmp_path / "metrics.json")
    assert (metrics["duration_seconds"], metrics["total_turns"]) == (None, 0)


def test_a_scenario_that_cannot_be_saved_costs_a_broken_call_nothing_else(tmp_path: Path) -> None:
    class Broken(Shop):
        def get_user_prompt(self) -> str:
            raise LookupError("no prompt")

    write_unscored(tmp_path, Broken(name="x"), talk(end_reason=None), AgentUnreachable("x"))
    assert (tmp_path / "scenario_config.error.txt").read_text("utf-8") == "LookupError: no prompt\n"
    assert files_of(tmp_path) >= EVERY_CALL - SCENARIO_CONFIG
    assert not any(path.name.startswith(".") for path in tmp_path.iterdir())


def test_what_is_no_json_is_null_in_every_file(tmp_path: Path) -> None:
    actions = ({"amount": math.nan, "note": "half \ud83d"},)
    context = ({"role": "user", "content": math.inf},)
    odd = talk(
        agent=agent(None, actions=actions, context=context),
        transcript=(said("agent", "half \ud83d", 0.0, 1.0),),
    )
    write_unscored(tmp_path, shop(), odd, AgentUnreachable("x"))
    for path in tmp_path.rglob("*.json"):
        strict(path)
    assert strict(tmp_path / "final_agent_response.json")[0]["actions"][0]["amount"] is None
    assert strict(tmp_path / "bot_logs_agent" / "llm_context.json")[0]["content"] is None


@pytest.mark.parametrize("name", ["../../x", "/abs", "a/b", "\0", ".."])
def test_names_that_the_agent_chose_stay_out_of_paths(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "run" / "call"
    folder.mkdir(parents=True)
    actions = ({"name": name, "action_type": name},)
    result = scored(talk(agent=agent(actions=actions)))
    conversation = replace(result.conversation, scenario=name)
    write_call(folder, shop(), replace(result, scenario=name, conversation=conversation))
    assert files_of(tmp_path) == {f"run/call/{file}" for file in EVERY_CALL}


# -- trace_metrics.json


def traced(folder: Path, **files: str) -> dict[str, Any]:
    for name, text in files.items():
        path = folder / name.replace("__", "/") / "trace_metrics.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    result = write_call(folder, shop(), scored())
    metrics: dict[str, Any] = strict(folder / "metrics.json")
    assert list(result.warnings) == metrics["warnings"]
    return metrics


@pytest.mark.parametrize("value", [{"router": [0.5, None]}, [1], "text", None, 0])
@pytest.mark.parametrize("where", [".", "bot_logs_agent"])
def test_a_bot_s_own_metrics_are_passed_through(tmp_path: Path, where: str, value: Any) -> None:
    metrics = traced(tmp_path, **{where: json.dumps(value)})
    assert metrics["trace_metrics"] == value
    assert metrics["warnings"] == []


def test_the_first_place_wins(tmp_path: Path) -> None:
    metrics = traced(tmp_path, **{".": '"call"', "bot_logs_agent": '"logs"'})
    assert metrics["trace_metrics"] == "call"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{half", "not readable JSON"),
        ("", "not readable JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_unreadable_metrics_of_a_bot_are_a_warning(tmp_path: Path, text: str, why: str) -> None:
    metrics = traced(tmp_path, **{".": text})
    assert "trace_metrics" not in metrics
    [warning] = metrics["warnings"]
    assert warning.startswith("trace_metrics.json is not used: ")
    assert why in warning
    assert metrics["is_successful"] is True
    assert warning in (tmp_path / "bridge_log.txt").read_text(encoding="utf-8")


def test_a_folder_in_the_place_of_a_bot_s_metrics_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "trace_metrics.json").mkdir()
    [warning] = write_call(tmp_path, shop(), scored()).warnings
    assert warning == "trace_metrics.json is not used: it is not a file"


def test_an_unscored_call_passes_them_through_too(tmp_path: Path) -> None:
    (tmp_path / "trace_metrics.json").write_text('{"a": NaN}', encoding="utf-8")
    write_unscored(tmp_path, shop(), talk(end_reason=None), AgentUnreachable("x"))
    assert strict(tmp_path / "metrics.json")["trace_metrics"] == {"a": None}
    (tmp_path / "trace_metrics.json").write_text("{", encoding="utf-8")
    (tmp_path / "again").mkdir()
    (tmp_path / "trace_metrics.json").rename(tmp_path / "again" / "trace_metrics.json")
    write_unscored(tmp_path / "again", shop(), talk(end_reason=None), AgentUnreachable("x"))
    [warning] = strict(tmp_path / "again" / "metrics.json")["warnings"]
    assert warning.startswith("trace_metrics.json is not used")
