"""How a run was invoked is kept; its secrets are not."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.report.redact import (
    is_secret_name,
    redact_argv,
    redact_text,
    redact_value,
)
from pytest_voiceeval.report.run_args import add_invocation, invocation

X = "<redacted>"


@pytest.mark.parametrize(
    "name",
    ["--judge-api-key", "OPENAI_API_KEY", "apiKey", "token", "HF_TOKEN", "client_secret",
     "--password", "db.passwd", "credentials", "Authorization", "--auth", "x-api-key", "apikey"],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["--judge-api-key-name", "--judge-max-tokens", "-k", "--keyword", "monkey", "--domain", "",
     "author", "tokenizer", "--agent-url"],
)  # fmt: skip
def test_names_of_anything_else(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ws://user:pa55@host:1/ws/{session}", f"ws://{X}@host:1/ws/{{session}}"),
        ("wss://h/p?token=s3&room=4#frag", f"wss://h/p?token={X}"),
        ("wss://h/p?sid=s3&room=4#frag", f"wss://h/p?sid={X}&room={X}#{X}"),
        ("ws://h/?s3cret", f"ws://h/?{X}"),
        ("ws://u:p#a?s@s@host/x", f"ws://{X}@host/x"),
        ("ws://host:8765/ws", "ws://host:8765/ws"),
        (
            "python bot.py --api-key s3 --port {port}",
            f"python bot.py --api-key {X} --port {{port}}",
        ),
        ("python bot.py --verbose --token=s3", f"python bot.py --verbose --token={X}"),
        ("env API_KEY='s 3' MODE=x bot", f"env API_KEY={X} MODE=x bot"),
        ("--env=API_KEY=s3", f"--env=API_KEY={X}"),
        ('{"api_key": "s3", "n": 1}', f'{{"api_key": {X}, "n": 1}}'),
        ("curl -H 'Authorization: Bearer s3'", f"curl -H 'Authorization: {X} {X}'"),
        ("say Bearer s3cr3t", f"say Bearer {X}"),
        ("use sk-abcdefgh1234 here", f"use {X} here"),
        ("hf_abcdefghij,nvapi-abcdefgh", f"{X},{X}"),
        ("tests/test_api_key.py::test_a", "tests/test_api_key.py::test_a"),
        ("not slow and keyword", "not slow and keyword"),
        ("sk-short disk-abcdefghijk", "sk-short disk-abcdefghijk"),
    ],
)
def test_secrets_inside_texts(text: str, shown: str) -> None:
    assert redact_text(text) == shown


def test_the_word_after_a_secret_s_flag_is_hidden() -> None:
    words = ["pytest", "--judge-api-key", "s3", "--judge-api-key-name", "MY_KEY", "-k", "key"]
    words += ["--token=s3", "-o", "voiceeval_judge_api_key=s3", "--agent-url", "ws://a:b@h"]
    assert redact_argv(words) == [
        "pytest", "--judge-api-key", X, "--judge-api-key-name", "MY_KEY", "-k", "key",
        f"--token={X}", "-o", f"voiceeval_judge_api_key={X}", "--agent-url", f"ws://{X}@h",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"judge_api_key": "s3", "judge_key": None}, {"judge_api_key": X, "judge_key": None}),
        ({"agent_url": ("ws://a:b@h",)}, {"agent_url": [f"ws://{X}@h"]}),
        ({"agent_cmd": "bot --key s3", "n": 3}, {"agent_cmd": f"bot --key {X}", "n": 3}),
        ({"nested": {"token": {"a": 1}}}, {"nested": {"token": X}}),
    ],
)
def test_secrets_inside_options(value: Any, shown: Any) -> None:
    assert redact_value(value) == shown


def entry(run: str) -> dict[str, Any]:
    return invocation(
        run=run,
        started_at="2026-03-01T09:00:00+00:00",
        argv=["pytest", "--judge-api-key", "s3"],
        options={"judge_api_key": "s3", "domain": ["shop"]},
        scenarios=("a", "b"),
        exit_status=1,
    )


def test_invocations_of_one_folder_add_up(tmp_path: Path) -> None:
    for run in ("first", "second"):
        add_invocation(tmp_path, entry(run))
    text = (tmp_path / "run_args.json").read_text(encoding="utf-8")
    assert "s3" not in text
    first, second = json.loads(text)["invocations"]
    assert first == {
        "run": "first",
        "started_at": "2026-03-01T09:00:00+00:00",
        "argv": ["pytest", "--judge-api-key", X],
        "parsed_args": {"judge_api_key": X, "domain": ["shop"]},
        "resolved_scenario_count": 2,
        "resolved_scenario_names": ["a", "b"],
        "exit_status": 1,
    }
    assert second["resumed_from_invocation"] == 0


@pytest.mark.parametrize("content", ["", "{half", "[]", '{"invocations": 3}'])
def test_an_unreadable_file_is_begun_anew(tmp_path: Path, content: str) -> None:
    (tmp_path / "run_args.json").write_text(content, encoding="utf-8")
    add_invocation(tmp_path, entry("x"))
    [only] = json.loads((tmp_path / "run_args.json").read_text(encoding="utf-8"))["invocations"]
    assert "resumed_from_invocation" not in only


def test_runs_that_end_together_lose_no_invocation(tmp_path: Path) -> None:
    def add_some(run: str) -> None:
        for number in range(10):
            add_invocation(tmp_path, entry(f"{run}{number}"))

    # the lock belongs to the open file, so that threads stand for processes
    with ThreadPoolExecutor() as pool:
        list(pool.map(add_some, "abc"))
    known = json.loads((tmp_path / "run_args.json").read_text(encoding="utf-8"))["invocations"]
    assert len({invocation["run"] for invocation in known}) == 30
