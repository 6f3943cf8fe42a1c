"""The domain that docs/own_domain.md builds, exactly as written; test_docs runs its commands."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Run
from tests.integration.pages import CHECKOUT, DOCS, files

Results = Callable[[], list[dict[str, Any]]]
PAGE = DOCS / "own_domain.md"


@pytest.fixture
def bistro(pytester: pytest.Pytester) -> Path:
    """A project with the files of the page."""
    for block in files(PAGE):
        block.write(pytester.path)
    return pytester.path / "scenarios" / "bistro"


def definitions(source: str) -> dict[str, str]:
    """What a module defines, by name, without decorators' domains."""
    nodes = [node for node in ast.parse(source).body if hasattr(node, "name")]
    return {node.name: ast.unparse(node) for node in nodes}


def test_the_page_shows_every_file_it_lists() -> None:
    titles = {block.title for block in files(PAGE)}
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    listed = {line.split()[0] for line in lines if line.startswith("scenarios/bistro/")}
    assert listed == {title for title in titles if title and title.startswith("scenarios/")}


def test_the_tools_of_the_page_are_those_of_restaurant() -> None:
    [tools] = [block.text for block in files(PAGE) if block.title == "scenarios/bistro/tools.py"]
    shipped = (CHECKOUT / "scenarios" / "restaurant" / "tools.py").read_text(encoding="utf-8")
    shown = definitions(tools)
    assert len(shown) == 6
    assert shown.items() <= definitions(shipped).items()


@pytest.mark.usefixtures("bistro")
def test_both_are_green_with_two_workers(run: Run, results: Results) -> None:
    run("--domain", "bistro", "-n", "2").assert_outcomes(passed=2)
    lines = {line["nodeid"]: line for line in results()}
    assert set(lines) == {"bistro::one_soup", "bistro::second_thoughts"}
    assert all(line["signals"]["is_action_match"] for line in lines.values())


@pytest.mark.usefixtures("bistro")
def test_a_red_one_names_the_item_and_the_turn(run: Run) -> None:
    result = run("bistro::one_soup", "--agent-fault", "wrong-field")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "result: 1 not as referenced (items)",
            '  changed  items [[]turn 3]: 0.name "Onion Soup" → "Leek Soup"',
        ]
    )


def test_its_tools_work_in_bare_python(bistro: Path) -> None:
    code = """
from pytest_voiceeval.tools import get_schema_tool_for_eval as get

state = {"db": {"menu": {}}}
order = get("place_order", domain="bistro", shared_state=state)
item = {"name": "Soup", "unit_price": "1.00", "quantity": "1"}
print(order.invoke(items=[item], customer_name="Ana", total_price="1.00")["error_type"])
"""
    environment = {**os.environ, "VOICEEVAL_PACKS": str(bistro.parent)}
    out = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    )
    assert out.stdout == "not_on_menu\n"


BROKEN = {
    "misspelled key of the pack": (
        ("pack.toml", "description", "descripton"),
        "pack.toml: unknown key 'descripton', did you mean 'description'?*",
    ),
    "syntax error": (
        ("tools.py", "isinstance(items, list):", "isinstance(items, list)"),
        "the user pack 'bistro' cannot be loaded (*tools.py:*): SyntaxError: expected ':'*",
    ),
    "misspelled signal": (
        ("scenarios.py", "ACTION_MATCH", "ACTION_MACH"),
        "*(*scenarios.py:*): AttributeError: *ACTION_MACH*",
    ),
    "no comma in the data": (
        ("menu.json", '"The Copper Pot",', '"The Copper Pot"'),
        "*menu.json:3: is not JSON: Expecting ',' delimiter (column 3)",
    ),
    "domain of another name": (
        ("scenarios.py", 'domain = "bistro"', 'domain = "bistrot"'),
        "scenario 'bistrot__one_soup' (at *orders.yaml:1) is in the pack 'bistro', so its name*",
    ),
    "misspelled key of a record": (
        ("orders.yaml", "order: {Onion", "ordr: {Onion"),
        "*orders.yaml:1: one_soup: the key 'order' is missing",
    ),
    "unknown key of a record": (
        ("orders.yaml", "wish: order one", "wishes: many\n  wish: order one"),
        "*orders.yaml:1: one_soup: unknown key 'wishes'; did you mean 'wish'?",
    ),
    "number for a text": (
        ("orders.yaml", "phone: 555-0142", "phone: 5550142"),
        "*orders.yaml:1: one_soup: 'phone' must be a text, got 5550142",
    ),
    "two records of one name": (
        ("orders.yaml", "id: second_thoughts", "id: one_soup"),
        "two scenarios are named 'bistro__one_soup': *orders.yaml:1 and *orders.yaml:*",
    ),
    "a price as a number": (
        ("menu.json", '"Onion Soup": {"price": "6.40"}', '"Onion Soup": {"price": 6.40}'),
        'menu.json: the price of Onion Soup is a text such as "6.40", not 6.4',
    ),
    "how many in words": (
        ("orders.yaml", "order: {Onion Soup: 1}", "order: {Onion Soup: one}"),
        "one_soup: *orders.yaml:1: one_soup: how many of 'Onion Soup' is a whole number, not 'one'",
    ),
    "tabs": (
        ("orders.yaml", "  phone: 555-0142", "\tphone: 555-0142"),
        "*orders.yaml:4: is not YAML: found a tab character that violates indentation",
    ),
    "no such type in JSON Schema": (
        ("tools.py", '{"type": "string", "desc', '{"type": "text", "desc'),
        "PlaceOrderTool (*tools.py:*): customer_name has the type 'text'; JSON Schema knows *",
    ),
    "schema that is no JSON": (
        ("tools.py", '"required": ["name", "unit_price", "quantity"]', '"required": {"name"}'),
        "*PlaceOrderTool (*tools.py:*): properties are not JSON: Object of type set is not JSON*",
    ),
    "one name in place of a list": (
        ("tools.py", '["items", "customer_name", "total_price"]', '"items"'),
        "*PlaceOrderTool (*tools.py:*): required_properties must be a list of names, not 'items'",
    ),
    "tool that crashes": (
        ("tools.py", 'db = self.shared_state["db"]', 'db = self.shared_state["bd"]'),
        "one_soup: get_menu() crashes: KeyError: 'bd' (*tools.py:*)",
    ),
    "prompt that crashes": (
        ("scenarios.py", 'self.record["wish"]', 'self.record["wich"]'),
        "one_soup: KeyError: 'wich' (*scenarios.py:*)",
    ),
    "end that is never reached": (
        ("orders.yaml", "order: {Onion Soup: 1}", "order: {Onion Soup: 2}"),
        'one_soup: * end: items.0.quantity is to be "2", not "1"; total_price is to be "12.80"*',
    ),
    "nothing in the file": (
        ("orders.yaml", None, ""),
        "*(*scenarios.py:*): DataError: *orders.yaml: has no records",
    ),
    "an item that is not on the menu": (
        ("orders.yaml", "order: {Onion Soup: 1}", "order: {Union Soup: 1}"),
        "one_soup: *orders.yaml:1: one_soup: 'Union Soup' is not on the menu",
    ),
    "misspelled call": (
        ("orders.yaml", "> get_menu\n    A: That", "> get_meny\n    A: That"),
        "one_soup: *orders.yaml:1: *: dialogue, line 3: call 'get_meny': *Did you mean get_menu?*",
    ),
    "wrong total": (
        ("orders.yaml", '"Ana Whitlock" 6.40', '"Ana Whitlock" 6.50'),
        "one_soup: place_order(*) is refused: These items cost 6.40, not 6.50",
    ),
    "tool that does not exist": (
        ("scenarios.py", '"GetMenuTool": {}', '"GetMenusTool": {}'),
        "one_soup: *no tool 'GetMenusTool' in domain 'bistro'*Did you mean GetMenuTool?*",
    ),
    "nothing that decides": (
        ("scenarios.py", "(SuccessSignal.ACTION_MATCH, SuccessSignal.CLEAN_EXIT)", "()"),
        "one_soup: success_signals is empty: name the signals that decide",
    ),
}


def broken(bistro: Path, variant: str) -> str:
    """Break one file of the project; the message that is expected."""
    (file, right, wrong), message = BROKEN[variant]
    text = (bistro / file).read_text(encoding="utf-8")
    right = text if right is None else right
    assert right in text
    (bistro / file).write_text(text.replace(right, wrong, 1), encoding="utf-8")
    return message


@pytest.mark.parametrize("variant", BROKEN)
def test_data_check_says_what_is_wrong(bistro: Path, variant: str) -> None:
    message = broken(bistro, variant)
    command = [sys.executable, "-m", "pytest_voiceeval.cli", "data", "check", "--domain", "bistro"]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=bistro.parent.parent
    )
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    pytest.LineMatcher((done.stdout + done.stderr).splitlines()).fnmatch_lines([f"*{message}"])


@pytest.mark.parametrize(
    ("variant", "ending"),
    [
        ("number for a text", pytest.ExitCode.USAGE_ERROR),
        ("misspelled call", pytest.ExitCode.TESTS_FAILED),
        ("tool that does not exist", pytest.ExitCode.TESTS_FAILED),
        ("prompt that crashes", pytest.ExitCode.TESTS_FAILED),
    ],
)
def test_a_run_says_what_is_wrong(
    bistro: Path, run: Run, variant: str, ending: pytest.ExitCode
) -> None:
    message = broken(bistro, variant).removeprefix("one_soup: ")
    if variant == "prompt that crashes":
        message = "cannot be used (*scenarios.py:*): KeyError: 'wich'"
    result = run("--domain", "bistro")
    assert result.ret == ending
    text = " ".join("\n".join([*result.outlines, *result.errlines]).split())
    pytest.LineMatcher([text]).fnmatch_lines([f"*{message}*"])
