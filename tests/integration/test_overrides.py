"""Overrides of our fixtures: a root conftest's count, what cannot count is refused by name."""

from __future__ import annotations

import pytest

from tests.integration.conftest import Run
from tests.integration.inner import look
from tests.integration.packs import write_pack

__all__ = ["look"]

NOWHERE = "ws://127.0.0.1:9"
IMPORT = "import pytest\n\n"
AGENT = f'{IMPORT}@pytest.fixture(scope="session")\ndef agent_bot():\n    return "{NOWHERE}"\n'
TEST = "\ndef test_mine(call): pass\n"
UNSEEN = "is not seen by packaged scenarios. Move it to */conftest.py"

REFUSED = {
    "sub-folder": (
        {"tests/conftest.py": AGENT},
        f"tests/conftest.py:3: the fixture 'agent_bot' {UNSEEN}, or name the bot with --agent-url*",
    ),
    "sub-folder, another name for the function": (
        {
            "tests/conftest.py": f'{IMPORT}@pytest.fixture(name="caller_bot", scope="session")\n'
            "def mine(): pass\n"
        },
        f"tests/conftest.py:3: the fixture 'caller_bot' {UNSEEN}, or name the bot with --user-url*",
    ),
    "call in a sub-folder": (
        {"tests/conftest.py": f"{IMPORT}@pytest.fixture\ndef call(call):\n    return call\n"},
        f"tests/conftest.py:3: the fixture 'call' {UNSEEN}",
    ),
    "beside a pack": (
        {"scenarios/shop/conftest.py": AGENT},
        f"scenarios/shop/conftest.py:4: the fixture 'agent_bot' {UNSEEN}*",
    ),
    "function scope": (
        {"conftest.py": AGENT.replace('(scope="session")', "")},
        "conftest.py:3: the fixture 'agent_bot' has the scope 'function', but a bot serves the *",
    ),
    "module scope": (
        {"conftest.py": AGENT.replace("session", "module")},
        "conftest.py:3: the fixture 'agent_bot' has the scope 'module', but *",
    ),
    "state in a sub-folder": (
        {"tests/conftest.py": AGENT.replace("agent_bot", "agent_state")},
        f"tests/conftest.py:3: the fixture 'agent_state' {UNSEEN}",
    ),
    "state of a function": (
        {"conftest.py": AGENT.replace("agent_bot", "agent_state").replace('(scope="session")', "")},
        "conftest.py:3: the fixture 'agent_state' has the scope 'function', but it serves the *",
    ),
    "one scenario for all": (
        {
            "conftest.py": f'{IMPORT}@pytest.fixture(scope="session")\n'
            "def voice_scenario():\n    return 1\n"
        },
        "conftest.py:3: the fixture 'voice_scenario' has the scope 'session', but each item has *",
    ),
}


def write(pytester: pytest.Pytester, files: dict[str, str]) -> None:
    write_pack(pytester.path, ["apples"])
    for name, text in files.items():
        path = pytester.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("files", "message"), REFUSED.values(), ids=REFUSED)
def test_what_could_not_count_is_refused(
    pytester: pytest.Pytester, look: Run, files: dict[str, str], message: str
) -> None:
    write(pytester, files)
    result = look("--domain", "shop")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*ERROR collecting shop*", message])


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(AGENT + TEST, id="module"),
        pytest.param(
            f"{IMPORT}class TestMine:\n    @pytest.fixture\n    def agent_bot(self): pass\n"
            "    def test_mine(self, call): pass\n",
            id="class",
        ),
    ],
)
def test_a_test_file_speaks_for_itself_only(
    pytester: pytest.Pytester, look: Run, source: str
) -> None:
    write(pytester, {"test_mine.py": source})
    result = look("shop::apples", "test_mine.py")
    result.stdout.fnmatch_lines([f"test_mine.py:*: the fixture 'agent_bot' {UNSEEN}, or *"])
    # alone, its tests get what it says
    look("--domain", "shop", "test_mine.py").assert_outcomes()
    assert look("--domain", "shop", "test_mine.py").ret == 0


def test_workers_refuse_it_as_well(pytester: pytest.Pytester, run: Run) -> None:
    write(pytester, {"tests/conftest.py": AGENT})
    result = run("--domain", "shop", "-n", "2")
    assert result.ret != 0
    result.stdout.fnmatch_lines([f"tests/conftest.py:3: the fixture 'agent_bot' {UNSEEN}, or *"])


@pytest.mark.parametrize(
    "option", [("--agent-url", NOWHERE), ("--agent-cmd", "x"), ("--agent-fault", "hangs")]
)
def test_who_names_the_agent_otherwise_means_it(
    pytester: pytest.Pytester, look: Run, option: tuple[str, str]
) -> None:
    write(pytester, {"tests/conftest.py": AGENT})
    assert look("--domain", "shop", *option).ret == 0


def test_a_root_override_beside_others_counts(pytester: pytest.Pytester, look: Run) -> None:
    write(pytester, {"conftest.py": AGENT, "tests/conftest.py": AGENT})
    result = look("--domain", "shop")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["voiceeval: agent: the fixture agent_bot in conftest.py:3"])


def test_an_override_in_a_plugin_counts_if_it_is_loaded_late(
    pytester: pytest.Pytester, run: Run, look: Run
) -> None:
    write(pytester, {"mine.py": AGENT, "conftest.py": 'pytest_plugins = ["mine"]'})
    run("--domain", "shop").stdout.fnmatch_lines([f"agent_unreachable: *{NOWHERE}*"])
    (pytester.path / "conftest.py").unlink()
    pytester.syspathinsert()
    look("--domain", "shop", "-p", "mine").stdout.fnmatch_lines(
        ["mine.py:3: the fixture 'agent_bot' is hidden by the default one, which was loaded later*"]
    )


def test_the_command_line_beats_a_fixture_and_does_not_run_it(
    pytester: pytest.Pytester, run: Run
) -> None:
    write(pytester, {"conftest.py": AGENT.replace(f'return "{NOWHERE}"', "raise OSError")})
    result = run("--domain", "shop", "--agent-fault", "never-exits")
    result.assert_outcomes(failed=1)
    beaten = "(--agent-fault beats the fixture agent_bot in conftest.py:3)"
    result.stdout.fnmatch_lines(["voiceeval: agent: stock bot, * fault never-exits " + beaten])


def test_a_model_on_the_command_line_beats_a_caller_bot(
    pytester: pytest.Pytester, run: Run
) -> None:
    caller = AGENT.replace("agent_bot", "caller_bot").replace(
        f'return "{NOWHERE}"', "raise OSError"
    )
    write(pytester, {"conftest.py": caller})
    model = ("--caller-url", "http://127.0.0.1:9/v1", "--caller-model", "m")
    result = run("--domain", "shop", *model, "--agent-url", NOWHERE)
    result.stdout.fnmatch_lines(["agent_unreachable: *"])
    result.stdout.no_fnmatch_line("*OSError*")


def test_a_fixture_beats_the_ini_file(pytester: pytest.Pytester, run: Run) -> None:
    write(pytester, {"conftest.py": AGENT})
    pytester.makeini("[pytest]\nvoiceeval_agent_url = ws://127.0.0.1:10")
    result = run("--domain", "shop")
    result.stdout.fnmatch_lines(
        ["voiceeval: agent: the fixture agent_bot in *", f"agent_unreachable: *{NOWHERE}*"]
    )


PARAMETERS = AGENT.replace('"session")', '"session", params=["fast", "slow"])')


@pytest.mark.parametrize(
    ("arguments", "items"),
    [
        (["--domain", "shop"], ["[fast]", "[slow]"]),
        (["shop::apples"], ["[fast]", "[slow]"]),
        (["shop::apples[slow]"], ["[slow]"]),
        (["--domain", "shop", "-k", "slow"], ["[slow]"]),
        (["--domain", "shop", "--deselect", "shop::apples[slow]"], ["[fast]"]),
    ],
    ids=str,
)
def test_parameters_make_variants(
    pytester: pytest.Pytester, look: Run, arguments: list[str], items: list[str]
) -> None:
    write(pytester, {"conftest.py": PARAMETERS})
    lines = look(*arguments, "-q").outlines
    assert [line for line in lines if "::" in line] == [f"shop::apples{item}" for item in items]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["shop::apples[gone]"], "shop::apples has no variant [[]gone]; it has [[]fast], [[]slow]"),
        (
            ["shop::apples", "--agent-url", NOWHERE],
            "conftest.py:3: the fixture 'agent_bot' has parameters, and --agent-url names one *",
        ),
    ],
    ids=["unknown variant", "one agent for all"],
)
def test_parameters_that_make_no_sense(
    pytester: pytest.Pytester, look: Run, arguments: list[str], message: str
) -> None:
    write(pytester, {"conftest.py": PARAMETERS})
    look(*arguments).stdout.fnmatch_lines([message])


@pytest.mark.parametrize("beside", [[], ["--domain", "shop"]], ids=["alone", "beside its domain"])
def test_a_scenario_without_variants_has_none(
    pytester: pytest.Pytester, look: Run, beside: list[str]
) -> None:
    write(pytester, {})
    result = look("shop::apples[fast]", *beside)
    result.stdout.fnmatch_lines(["shop::apples has no variant [[]fast]; it has none at all"])


def test_variants_run_each_with_its_own_agent(pytester: pytest.Pytester, run: Run) -> None:
    source = f"""
{IMPORT}
@pytest.fixture(scope="session", params=["good", "bad"])
def agent_bot(request, agent_bot):
    return agent_bot if request.param == "good" else "{NOWHERE}"
"""
    write(pytester, {"conftest.py": source})
    result = run("--domain", "shop", "-v")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["shop::apples[[]good] *PASSED*", "shop::apples[[]bad] *ERROR*"])


def test_call_and_scenario_may_be_overridden(pytester: pytest.Pytester, run: Run) -> None:
    source = f"""
{IMPORT}
@pytest.fixture
def voice_scenario(voice_scenario):
    voice_scenario.max_duration = 77
    return voice_scenario


@pytest.fixture
def call(call, voice_scenario):
    assert voice_scenario.max_duration == 77
    print("seen", call.scenario)
    return call
"""
    write(pytester, {"conftest.py": source})
    result = run("--domain", "shop", "-s")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*seen shop__apples*"])


def test_a_call_that_is_none_is_an_error(pytester: pytest.Pytester, run: Run) -> None:
    source = f"{IMPORT}@pytest.fixture\ndef call():\n    return 'fine'\n"
    write(pytester, {"conftest.py": source})
    result = run("--domain", "shop")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["the fixture 'call' gave 'fine'; an override must return the *"])


def test_an_async_override_needs_pytest_asyncio(pytester: pytest.Pytester, run: Run) -> None:
    source = f"""
import asyncio
import pytest_asyncio


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def agent_bot():
    await asyncio.sleep(0)
    yield "{NOWHERE}"
"""
    write(pytester, {"conftest.py": source})
    loop = ("-o", "asyncio_default_fixture_loop_scope=session")
    result = pytester.runpytest_subprocess("-W", "error", *loop, "--domain", "shop")
    result.stdout.fnmatch_lines([f"agent_unreachable: *{NOWHERE}*"])
    result = run("--domain", "shop")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*async fixture 'agent_bot', with no plugin*"])
