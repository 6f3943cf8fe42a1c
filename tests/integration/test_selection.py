"""What a run collects: options, ids, paths, and what it says about a wrong one."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.integration.conftest import FIFTY, SEEDS, Run
from tests.integration.inner import look
from tests.integration.packs import write_pack

__all__ = ["look"]


def collected(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line and " " not in line]


def test_a_plain_run_collects_nothing_of_ours(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("def test_mine(): pass")
    result = run("-v")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*voiceeval:*")
    assert not (pytester.path / "out").exists()


def test_a_domain_is_its_scenarios_and_nothing_else(pytester: pytest.Pytester, look: Run) -> None:
    pytester.makepyfile("def test_mine(): pass")
    result = look("--domain", "eva_airline", "-q")
    ids = collected(result)
    assert len(ids) == len(set(ids)) == FIFTY
    assert set(SEEDS) == {name for name in ids if not re.search(r"::\d_\d_\d$", name)}
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
                *SEEDS,
                *(f"--deselect={name}" for name in SEEDS if "refund" not in name),
            ],
            id="--deselect",
        ),
    ],
)
def test_one_scenario(look: Run, arguments: list[str]) -> None:
    result = look(*arguments, "-q")
    assert collected(result) == ["eva_airline::cancellation_refund"]


def test_paths_given_run_only_those_with_their_call_tests_once_per_scenario(
    pytester: pytest.Pytester, look: Run
) -> None:
    pytester.makepyfile(
        test_calls="def test_call(call): pass\ndef test_other(): pass",
        test_elsewhere="def test_never(): pass",
    )
    result = look("--scenarios", *SEEDS[:2], "-q", "test_calls.py")
    assert collected(result) == [
        "test_calls.py::test_call[eva_airline__voluntary_date_change]",
        "test_calls.py::test_call[eva_airline__irrops_cancellation]",
        "test_calls.py::test_other",
    ]


def test_ids_and_paths_together(pytester: pytest.Pytester, look: Run) -> None:
    pytester.makepyfile(test_calls="def test_call(call): pass")
    result = look("eva_airline::cancellation_refund", "test_calls.py", "-q")
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
def test_wrong_options_are_one_usage_error(look: Run, arguments: list[str], message: str) -> None:
    result = look(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*ERROR: {message}"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("agent_fault = sleeps", "voiceeval_agent_fault: 'sleeps' is not one of*"),
        ("duration = soon", "voiceeval_duration: *soon*"),
        ("min_agent_turns = 1.5", "voiceeval_min_agent_turns: *1.5*"),
        ("strict_match = perhaps", "voiceeval_strict_match: *perhaps*"),
    ],
)
def test_a_wrong_ini_value_names_its_key(
    pytester: pytest.Pytester, look: Run, line: str, message: str
) -> None:
    pytester.makeini(f"[pytest]\nvoiceeval_{line}")
    result = look("--domain", "eva_airline")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*ERROR: ini key {message}"])


def test_empty_ini_keys_mean_the_default(pytester: pytest.Pytester, look: Run) -> None:
    pytester.makeini("[pytest]\nvoiceeval_domain =\nvoiceeval_agent_url =\nvoiceeval_duration =\n")
    pytester.makepyfile("def test_mine(): pass")
    assert collected(look("-q")) == ["test_empty_ini_keys_mean_the_default.py::test_mine"]


def test_ini_keys_are_defaults_and_the_command_line_wins(
    pytester: pytest.Pytester, look: Run
) -> None:
    pytester.makeini("[pytest]\nvoiceeval_scenarios =\n    eva_airline::cancellation_refund")
    assert collected(look("-q")) == ["eva_airline::cancellation_refund"]
    for other in (["--scenarios", "irrops_cancellation"], ["eva_airline::irrops_cancellation"]):
        assert collected(look(*other, "-q")) == ["eva_airline::irrops_cancellation"]
    assert len(collected(look("--domain", "eva_airline", "-q"))) == FIFTY


def test_a_misspelled_domain_in_an_id_is_named(look: Run) -> None:
    result = look("eva_airlne::cancellation_refund")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no domain named 'eva_airlne'; did you mean 'eva_airline'?"])


def test_an_id_that_is_nothing_of_ours_is_left_to_pytest(look: Run) -> None:
    result = look("nowhere::at_all")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*file or directory not found: nowhere::at_all"])


ODD = ["two words", "naïve", "1.2-3", "日本"]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        pytest.param(["--domain=shop"], ODD, id="all"),
        pytest.param(["shop::two words"], ["two words"], id="blank"),
        pytest.param(["shop::nai\u0308ve"], ["naïve"], id="accent typed in two parts"),
        pytest.param(["shop::日本", "shop::1.2-3"], ["日本", "1.2-3"], id="two ids in their order"),
        pytest.param(["shop::1.2-3", "--domain=shop"], ODD, id="id and its domain"),
        pytest.param(["--domain=shop", "-k", "two_words or naïve"], ODD[:2], id="-k"),
        pytest.param(["--domain=shop", "-k", "shop__1.2-3"], ["1.2-3"], id="-k full name"),
        pytest.param(["scenarios/shop::naïve"], ["naïve"], id="folder of the pack"),
        pytest.param(["scenarios/shop/__init__.py::naïve"], ["naïve"], id="file of the scenario"),
    ],
)
def test_names_of_all_kinds(
    pytester: pytest.Pytester, look: Run, arguments: list[str], names: list[str]
) -> None:
    write_pack(pytester.path, ODD)
    result = look(*arguments, "-q")
    assert [line for line in result.outlines if "::" in line] == [f"shop::{name}" for name in names]


def test_an_id_as_an_editor_has_it(pytester: pytest.Pytester, look: Run) -> None:
    """By the absolute path of the file that defines it, which discovery has told."""
    pack = write_pack(pytester.path, ["apples"])
    pytester.makeconftest(
        """
        def pytest_collection_modifyitems(items):
            for item in items:
                print(f"{item.path}::{item.name} {item.location[1] + 1}")
        """
    )
    line = (pack / "__init__.py").read_text("utf-8").splitlines().index("@register_eval_scenario")
    shown = f"{pack / '__init__.py'}::apples"
    result = look("--domain", "shop", "-q", "-s")
    result.stdout.fnmatch_lines([f"{shown} {line + 1}"])
    assert collected(look(shown, "-q")) == ["shop::apples"]


def test_ids_do_not_depend_on_the_hash_seed(
    pytester: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pack(pytester.path, [f"s{number}" for number in range(50)])
    runs = []
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        runs.append(collected(run("--domain", "shop", "--collect-only", "-q")))
    assert runs[0] == runs[1] == [f"shop::s{number}" for number in range(50)]


def test_a_domain_needs_no_pack(pytester: pytest.Pytester, look: Run) -> None:
    """A root conftest may register scenarios as well."""
    pack = write_pack(pytester.path, ["apples"])
    (pack / "__init__.py").rename(pytester.path / "conftest.py")
    (pack / "pack.toml").unlink()
    assert collected(look("--domain", "shop", "-q")) == ["shop::apples"]
    assert collected(look("shop::apples", "-q")) == ["shop::apples"]
    look("shop::apples", "-v").stdout.fnmatch_lines(["*<ScenarioItem apples>"])


def test_one_name_in_two_files_is_an_error(pytester: pytest.Pytester, look: Run) -> None:
    again = "\n@register_eval_scenario\nclass Again(Shop):\n    name = 'shop__apples'\n"
    write_pack(pytester.path, ["apples"], extra=again)
    result = look("--domain", "shop")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*DuplicateScenario: two scenarios are named 'shop__apples': *__init__.py:* and *:*"]
    )


FAILING = """
def pytest_voiceeval_signals(result):
    from pytest_voiceeval import Verdict
    return [Verdict("ripe", "apples" not in result.scenario, gates=True)]
"""


def test_failures_come_back(pytester: pytest.Pytester, run: Run, look: Run) -> None:
    """`--sw` stops at one and goes on from it, `--lf` runs it alone, `--ff` first."""
    write_pack(pytester.path, ["pears", "apples", "plums"])
    pytester.makeconftest(FAILING)
    pytester.makepyfile(test_mine="def test_mine():\n    raise OSError\n\ndef test_fine(): pass")
    run("test_mine.py").assert_outcomes(passed=1, failed=1)
    run("--domain", "shop", "--sw").assert_outcomes(passed=1, failed=1)
    assert collected(look("--domain", "shop", "-q", "--sw")) == ["shop::apples", "shop::plums"]
    assert collected(look("--domain", "shop", "-q", "--lf")) == ["shop::apples"]
    assert collected(look("--domain", "shop", "-q", "--ff"))[0] == "shop::apples"
    # a file with failures must not hide the domain's
    mixed = look("shop::apples", "shop::plums", "test_mine.py", "-q", "--lf")
    assert collected(mixed) == ["test_mine.py::test_mine", "shop::apples"]


JUDGED = """

@register_eval_scenario
class Judged(Shop):
    name = "shop__judged"
    success_signals = (SuccessSignal.JUDGE_PASSED, SuccessSignal.CLEAN_EXIT)


def broken(**_):
    raise OSError("no data")


register_scenario_factory("shop__broken", "shop", broken)
"""


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("judge", ["judged"]),
        ("not judge", ["apples", "broken"]),
    ],
)
def test_the_marker_of_scenarios_that_need_a_judge(
    pytester: pytest.Pytester, look: Run, expression: str, names: list[str]
) -> None:
    write_pack(pytester.path, ["apples"], extra=JUDGED)
    result = look("--domain", "shop", "-q", "--strict-markers", "-m", expression)
    assert collected(result) == [f"shop::{name}" for name in names]


def test_markers_tell_their_arguments(run: Run) -> None:
    run("--markers").stdout.fnmatch_lines(
        [
            "@pytest.mark.voiceeval(scenario=None, duration=None, *",
            "@pytest.mark.judge(criteria=None, threshold=None): an LLM *",
        ]
    )


def test_data_that_cannot_be_used_are_told_in_the_header(
    pytester: pytest.Pytester, look: Run
) -> None:
    extra = """
from pytest_voiceeval import register_domain_info


def describe():
    raise OSError("the disk is gone")


register_domain_info("shop", describe)
"""
    write_pack(pytester.path, ["apples"], extra=extra)
    result = look("--domain", "shop")
    result.stdout.fnmatch_lines(["*shop: 1 scenario, data not usable: the disk is gone"])


def test_two_thousand_scenarios_collect_in_a_moment(pytester: pytest.Pytester, run: Run) -> None:
    many = """
def one(number):
    return lambda **_: Shop(name=f"shop__many_{number}")


for number in range(2000):
    register_scenario_factory(f"shop__many_{number}", "shop", one(number))
"""
    write_pack(pytester.path, [], extra=many)
    result = run("--domain", "shop", "--collect-only", "-q")
    assert len(collected(result)) == 2000
    assert result.duration < 6  # benchmarks/bench_collection.py has the real limit


@pytest.mark.skipif(pytest.version_tuple < (9,), reason="pytest 8 tells of a clash too late")
def test_an_option_that_another_plugin_has_goes_by_its_long_name(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(
        other='def pytest_addoption(parser): parser.addoption("--domain", dest="other")'
    )
    pytester.syspathinsert()
    write_pack(pytester.path, ["apples"])
    arguments = ("-p", "other", "--domain", "mine", "--collect-only", "-q")
    assert collected(run(*arguments, "--voiceeval-domain", "shop")) == ["shop::apples"]
    assert run("-p", "other", "--domain", "mine").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_help_names_every_option_in_one_group(run: Run) -> None:
    result = run("--help")
    result.stdout.fnmatch_lines(["voice agent evaluation (voiceeval):", "*--domain=NAME*"])


UNUSUAL = ["two words", "a/b", "../up", "x::y", "p[1]", "naïve", "50%"]


@pytest.mark.parametrize("name", UNUSUAL)
def test_an_odd_name_is_selected_by_its_id(pytester: pytest.Pytester, look: Run, name: str) -> None:
    write_pack(pytester.path, ["plain", *UNUSUAL])
    [line] = [x for x in look(f"shop::{name}", "-q").outlines if x.startswith("shop::")]
    [again] = [x for x in look(line, "-q").outlines if x.startswith("shop::")]
    assert again == line


def test_odd_names_run_and_keep_their_files_in_the_folder_of_the_run(
    pytester: pytest.Pytester, run: Run, results: Callable[[], list[dict[str, object]]]
) -> None:
    write_pack(pytester.path, UNUSUAL)
    run("--domain", "shop", "-n", "2", "--junitxml", "j.xml").assert_outcomes(passed=len(UNUSUAL))
    assert {line["scenario"] for line in results()} == {f"shop__{name}" for name in UNUSUAL}
    folders = {path.name for path in (pytester.path / "out").iterdir() if path.is_dir()}
    assert {line["artifacts"] for line in results()} == folders - {"bot_logs"}


def test_data_that_are_not_there_are_a_usage_error(
    pytester: pytest.Pytester, look: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, why in (("nowhere", "names no folder"), (".", "no data of eva_airline below")):
        monkeypatch.setenv("EVAL_DATA_ROOT", str(pytester.path / folder))
        for asked in ("--domain=eva_airline", "eva_airline::1_1_3"):
            result = look(asked)
            assert result.ret == pytest.ExitCode.USAGE_ERROR
            result.stderr.fnmatch_lines([f"ERROR: eva_airline: *{why}*"])


def test_a_folder_of_packs_that_is_not_there_is_a_usage_error(
    pytester: pytest.Pytester, look: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOICEEVAL_PACKS", str(pytester.path / "nowhere"))
    result = look("--domain", "eva_airline")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no folder of scenarios at *nowhere (named by VOICEEVAL_PACKS)*"])


@pytest.mark.parametrize(
    ("ini", "arguments", "shown"),
    [
        ("agent_cmd = python bot.py", ["--agent-url", "ws://h:1"], "agent: ws://h:1"),
        ("agent_url = ws://h:1", ["--agent-cmd", "bot"], "agent: bot"),
        ("agent_cmd = python bot.py", ["--agent-fault", "hangs"], "agent: stock bot, *fault hangs"),
        (
            "agent_url = ws://h:1",
            ["--agent-model", "m", "--agent-llm-url", "http://h/v1"],
            "agent: stock bot, model m *",
        ),
        (
            "agent_model = m\nvoiceeval_agent_llm_url = http://h/v1",
            ["--agent-cmd", "bot"],
            "agent: bot",
        ),
        (
            "user_cmd = python user.py",
            ["--caller-model", "m", "--caller-url", "http://h/v1"],
            "caller: model m *",
        ),
    ],
)
def test_who_the_command_line_names_replaces_who_the_ini_file_names(
    pytester: pytest.Pytester, look: Run, ini: str, arguments: list[str], shown: str
) -> None:
    pytester.makeini(f"[pytest]\nvoiceeval_{ini}")
    result = look("--domain", "eva_airline", *arguments)
    result.stdout.fnmatch_lines([f"voiceeval: {shown}"])
