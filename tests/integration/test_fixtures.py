"""Packaged items are ordinary items: fixtures, hooks and markers of the user's own apply."""

from __future__ import annotations

import pytest

from tests.integration.conftest import Run
from tests.integration.inner import look
from tests.integration.packs import write_pack

__all__ = ["look"]

EVERY_SCOPE = """
import pytest

order = []


@pytest.fixture(autouse=True, scope="session")
def whole_run():
    order.append("session up")
    yield
    print("ORDER", *order, "session down", sep=" | ")


@pytest.fixture(autouse=True, scope="package")
def whole_package():
    yield


@pytest.fixture(autouse=True, scope="module")
def whole_domain(request):
    order.append(f"module {request.module.__name__}")
    yield
    order.append("module down")


@pytest.fixture(autouse=True, scope="class")
def whole_class():
    yield


@pytest.fixture(autouse=True)
def each(request):
    order.append(f"{request.node.name} up")
    yield
    order.append(f"{request.node.name} down")


def pytest_runtest_setup(item):
    print("ROOT HOOK", item.nodeid)
"""

ORDER = [
    "session up",
    *("module test_mine", "test_mine up", "test_mine down", "module down"),
    *("module pytest_voiceeval.packs.shop", "apples up", "apples down", "pears up", "pears down"),
    *("module down", "session down"),
]

SUB_FOLDER = """
def pytest_runtest_setup(item):
    print("SUB HOOK", item.nodeid)
"""


def test_autouse_fixtures_of_every_scope_and_hooks_of_the_root(
    pytester: pytest.Pytester, run: Run
) -> None:
    write_pack(pytester.path, ["apples", "pears"])
    pytester.makeconftest(EVERY_SCOPE)
    (pytester.mkdir("tests") / "conftest.py").write_text(SUB_FOLDER)
    (pytester.path / "tests" / "test_mine.py").write_text("def test_mine(): pass")
    result = run("shop::apples", "shop::pears", "tests", "-s")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            "*SUB HOOK tests/test_mine.py::test_mine",
            "*ROOT HOOK shop::apples",
            f"*ORDER | {' | '.join(ORDER)}",
        ]
    )
    result.stdout.no_fnmatch_line("*SUB HOOK shop::*")


def test_the_root_counts_when_pytest_starts_elsewhere(pytester: pytest.Pytester, run: Run) -> None:
    """Only the conftests of `testpaths` are loaded first; shipped packs lie outside of the root."""
    pytester.makeini("[pytest]\ntestpaths = tests")
    pytester.makeconftest(EVERY_SCOPE)
    pytester.mkdir("tests")
    result = run("eva_airline::cancellation_refund", "-s")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*ROOT HOOK eva_airline::cancellation_refund"])


def test_parameters_of_other_fixtures_and_plugins_apply(
    pytester: pytest.Pytester, look: Run
) -> None:
    write_pack(pytester.path, ["apples"])
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(autouse=True, params=["day", "night"])
        def time_of_day(request):
            return request.param

        def pytest_generate_tests(metafunc):
            metafunc.fixturenames.append("again")
            metafunc.parametrize("again", [1, 2])
        """
    )
    lines = look("--domain", "shop", "-q").outlines
    assert [line for line in lines if "::" in line] == [
        f"shop::apples[{time}-{again}]" for time in ("day", "night") for again in (1, 2)
    ]


def test_a_mark_on_the_pack_is_on_its_items(pytester: pytest.Pytester, look: Run) -> None:
    mark = "\nimport pytest\npytestmark = pytest.mark.skip(reason='closed today')\n"
    write_pack(pytester.path, ["apples"], extra=mark)
    pytester.makeconftest(
        """
        def pytest_collection_modifyitems(items):
            print([mark.kwargs for item in items for mark in item.iter_markers("skip")])
        """
    )
    look("--domain", "shop", "-s").stdout.fnmatch_lines(["[[]{'reason': 'closed today'}[]]"])


def test_asserts_on_the_database_are_explained(pytester: pytest.Pytester, run: Run) -> None:
    write_pack(pytester.path, ["apples"])
    pytester.makepyfile(
        """
        def test_same(call):
            assert call.db == call.expected_db

        def test_other(call):
            assert call.db == {"stock": {"apple": {"count": 4}}}

        def test_something_else(call):
            assert {"a": 1} == {"a": 2}
        """
    )
    result = run("--domain", "shop", "test_asserts_on_the_database_are_explained.py")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "E*assert database differs in 1 place (right side: expected *",
            "E*stock / apple / count: 4 → 3",
            "E*Differing items:",
            "E*{'a': 1} != {'a': 2}",
        ]
    )


def test_precedence_command_line_marker_ini(pytester: pytest.Pytester, run: Run) -> None:
    write_pack(pytester.path, ["apples"])
    pytester.makeini("[pytest]\nvoiceeval_min_agent_turns = 100")
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.voiceeval(min_agent_turns=1)
        def test_marked(call):
            assert not call.stalled

        def test_plain(call):
            assert call.stalled
        """
    )
    test = "test_precedence_command_line_marker_ini.py"
    run("--domain", "shop", test).assert_outcomes(passed=2)
    result = run("--domain", "shop", test, "--min-agent-turns", "50", "-k", "marked")
    result.assert_outcomes(failed=1)


def test_a_marker_finds_packs_of_the_users_own(
    pytester: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any selection, from a sub-folder of the root."""
    pytester.makeini("[pytest]")
    write_pack(pytester.path, ["apples"])
    folder = pytester.mkdir("deep")
    (folder / "test_marked.py").write_text(
        "import pytest\n\n"
        '@pytest.mark.voiceeval(scenario="shop::apples")\n'
        "def test_it(call):\n    assert call.passed\n"
    )
    monkeypatch.chdir(folder)
    run().assert_outcomes(passed=1)


def test_packs_beside_the_current_folder_count_too(
    pytester: pytest.Pytester, look: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]")
    folder = pytester.mkdir("deep")
    write_pack(folder, ["apples"])
    write_pack(pytester.path, ["pears"], domain="market")
    monkeypatch.chdir(folder)
    lines = look("--domain", "shop", "--domain", "market", "-q").outlines
    assert [line for line in lines if "::" in line] == ["shop::apples", "market::pears"]
    assert "market::pears" in look("../market::pears", "-q").outlines


def test_a_users_pack_replaces_a_shipped_one(pytester: pytest.Pytester, run: Run) -> None:
    folder = write_pack(pytester.path, ["apples"], domain="eva_airline")
    result = run("--domain", "eva_airline", "--collect-only")
    result.stdout.fnmatch_lines(
        [
            f"voiceeval: eva_airline: 1 scenario, pack {folder} overrides *scenarios/eva_airline",
            "*<ScenarioItem apples>",
        ]
    )
