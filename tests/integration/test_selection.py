"""What a run collects: options, ids, paths, and what it says about a wrong one."""

from __future__ import annotations

import pytest

from tests.integration.conftest import Run

SEEDS = [
    "voluntary_date_change",
    "irrops_cancellation",
    "missed_flight_standby",
    "cancellation_refund",
    "escalation_edge_case",
]


def collected(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line and " " not in line]


def test_a_plain_run_collects_nothing_of_ours(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("def test_mine(): pass")
    result = run("-v")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*voiceeval:*")
    assert not (pytester.path / "out").exists()


def test_a_domain_is_its_scenarios_and_nothing_else(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("def test_mine(): pass")
    result = run("--domain", "eva_airline", "--collect-only", "-q")
    assert collected(result) == [f"eva_airline::{name}" for name in SEEDS]
    assert not (pytester.path / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["eva_airline::cancellation_refund"], id="id"),
        pytest.param(["--scenarios", "eva_airline__cancellation_refund"], id="full name"),
        pytest.param(["--scenarios", "eva_airline::cancellation_refund"], id="option with an id"),
        pytest.param(["--domain", "eva_airline", "-k", "refund"], id="-k"),
        pytest.param(["../eva_airline::cancellation_refund"], id="id as a subfolder shows it"),
        pytest.param(
            [
                "--domain=eva_airline",
                *(f"--deselect=eva_airline::{name}" for name in SEEDS if "refund" not in name),
            ],
            id="--deselect",
        ),
    ],
)
def test_one_scenario(run: Run, arguments: list[str]) -> None:
    result = run(*arguments, "--collect-only", "-q")
    assert collected(result) == ["eva_airline::cancellation_refund"]


def test_paths_given_run_only_those_with_their_call_tests_once_per_scenario(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(
        test_calls="def test_call(call): pass\ndef test_other(): pass",
        test_elsewhere="def test_never(): pass",
    )
    result = run("--domain", "eva_airline", "test_calls.py", "--collect-only", "-q")
    assert collected(result) == [
        *(f"test_calls.py::test_call[eva_airline__{name}]" for name in SEEDS),
        "test_calls.py::test_other",
    ]


def test_ids_and_paths_together(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(test_calls="def test_call(call): pass")
    result = run("eva_airline::cancellation_refund", "test_calls.py", "--collect-only", "-q")
    assert collected(result) == [
        "test_calls.py::test_call[eva_airline__cancellation_refund]",
        "eva_airline::cancellation_refund",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["--domain", "eva_airlne"],
            "no domain named 'eva_airlne'; did you mean 'eva_airline'?",
            id="domain",
        ),
        pytest.param(
            ["--scenarios", "eva_airline::cancelation_refund"],
            "no scenario named 'eva_airline__cancelation_refund'; did you mean "
            "*eva_airline__cancellation_refund*",
            id="scenario",
        ),
        pytest.param(
            ["--domain", "eva_airline", "--agent-url", "http://x"],
            "--agent-url: 'http://x' is not a bot's address*ws://HOST:PORT/PATH*",
            id="url",
        ),
        pytest.param(
            ["--domain", "eva_airline", "--agent-url", "ws://x", "--agent-cmd", "y"],
            "--agent-url connects to a running bot and --agent-cmd starts one: give one",
            id="url and command",
        ),
        pytest.param(
            ["--domain", "eva_airline", "--agent-url", "ws://x", "--agent-fault", "hangs"],
            "--agent-fault drives the stock agent: drop --agent-url / --agent-cmd",
            id="fault and url",
        ),
        pytest.param(
            ["--domain", "eva_airline", "--duration", "nan"],
            "--duration must be a positive number of seconds, not nan",
            id="duration",
        ),
        pytest.param(
            ["--domain", "eva_airline", "--min-agent-turns", "-1"],
            "--min-agent-turns must be 0 or more, not -1",
            id="turns",
        ),
        pytest.param(
            ["--domain", "eva_airline", "--script", "nowhere.json"], "*nowhere.json*", id="script"
        ),
        pytest.param(
            ["--domain", "eva_airline", "--agent-cmd", "python bot.py {prot}"],
            "--agent-cmd: unknown placeholder {prot}; known are {port} and {model_url}*",
            id="placeholder",
        ),
    ],
)
def test_wrong_options_are_one_usage_error(run: Run, arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*ERROR: {message}"])


def test_a_wrong_ini_value_names_its_key(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makeini("[pytest]\nvoiceeval_agent_fault = sleeps")
    result = run("--domain", "eva_airline")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*ini key voiceeval_agent_fault: 'sleeps' is not one of*"])


def test_ini_keys_are_defaults_and_the_command_line_wins(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makeini("[pytest]\nvoiceeval_scenarios =\n    eva_airline::cancellation_refund")
    assert collected(run("--collect-only", "-q")) == ["eva_airline::cancellation_refund"]
    result = run("--scenarios", "eva_airline::irrops_cancellation", "--collect-only", "-q")
    assert collected(result) == ["eva_airline::irrops_cancellation"]


def test_help_names_every_option_in_one_group(run: Run) -> None:
    result = run("--help")
    result.stdout.fnmatch_lines(["voice agent evaluation (voiceeval):", "*--domain=NAME*"])
