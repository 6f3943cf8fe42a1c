"""`voiceeval data check` on scenarios without authoring files: what it notices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.packs import add_user_folder, remove_user_folder, unload_pack
from pytest_voiceeval.scenario.auditing import check_domain, checkable_domains

PACK = """
from pytest_voiceeval import (
    Actions, DialogueTurn, Persona, Resources, Scenario, SuccessSignal, Task, ToolCall,
    register_eval_scenario,
)
from pytest_voiceeval.tools import ToolError, WriteScenarioTool, register_schema_tool_for_eval


@register_schema_tool_for_eval("DOMAIN")
class SellTool(WriteScenarioTool):
    ACTION_TYPES = ("sell",)
    description = "Sell."
    properties = {"what": {"type": "string"}, "count": {"type": "integer"}}
    required_properties = ["what", "count"]

    def _execute(self, what, count):
        if count > 5:
            raise ToolError("too_many", "There are only 5")
        self._record_action({"action_type": "sell", "what": what, "count": count})
        return {"status": "success"}


SELL = ToolCall("sell", {"what": "tea", "count": 2})
NOTHING = ToolCall("sell", {"what": "tea", "count": 9})


class Base(Scenario):
    domain = "DOMAIN"
    success_signals = (SuccessSignal.ACTION_MATCH, SuccessSignal.CLEAN_EXIT)
    agent_persona = user_persona = Persona(role="somebody")
    agent_task = user_task = Task(goal="to talk")
    agent_actions = user_actions = Actions()
    user_resources = Resources()
    agent_resources = Resources(tools={"SellTool": {}, "EndConversationTool": {}})
    reference_answer = {"actions": [{"action_type": "sell", "what": "tea", "count": 2}]}

    def setup_shared_state(self, state, side):
        state["db"] = {"goods": {"tea": {}}}


def talk(*calls, text="Two teas, there you are."):
    return (
        DialogueTurn("agent", "Hello."),
        DialogueTurn("user", "Two teas, please."),
        DialogueTurn("agent", text, calls),
        DialogueTurn("user", "Thank you."),
        DialogueTurn("agent", "Goodbye.", (ToolCall("end_conversation"),)),
    )

BRIEF = (*talk()[:2], DialogueTurn("agent", "Bye.", (SELL, ToolCall("end_conversation"))))
"""

Check = Callable[..., list[str]]


@pytest.fixture
def check(tmp_path_factory: pytest.TempPathFactory, request: Any) -> Iterator[Check]:
    """Check a pack of one scenario, whose class body is given; gives the problems."""
    domain = "check_" + "".join(char for char in request.node.name if char.isalnum())
    folder: Path = tmp_path_factory.mktemp("packs") / domain
    folder.mkdir()
    (folder / "pack.toml").write_text('description = "x"\n', encoding="utf-8")

    def check(body: str) -> list[str]:
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        scenario = f'@register_eval_scenario\nclass One(Base):\n    name = "DOMAIN__one"\n{lines}\n'
        source = f"{PACK}\n{scenario}".replace("DOMAIN", domain)
        (folder / "__init__.py").write_text(source, encoding="utf-8")
        add_user_folder(folder.parent)
        assert domain in checkable_domains()
        return check_domain(domain).problems

    yield check
    unload_pack(domain)
    remove_user_folder(folder.parent)


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ("reference_dialogue = talk(SELL)", []),
        ("", []),
        (
            "reference_dialogue = talk(NOTHING)",
            [
                "one: the dialogue's calls do not lead to the expected end",
                "one: sell(what='tea', count=9) is refused: There are only 5",
            ],
        ),
        (
            'reference_dialogue = talk(SELL)\nreference_answer = {"actions": []}',
            [
                "one: an agent that does nothing passes, though the dialogue changes something",
                "one: the gold call sell(what='tea', count=2) is not needed: ",
            ],
        ),
        (
            'reference_dialogue = talk(SELL, text="2 teas.")',
            ["one: '2' is not spoken language: '2 teas.'"],
        ),
        (
            "reference_dialogue = BRIEF",
            ["one: the agent has 2 turns; fewer than 3 count as stalled"],
        ),
        (
            "reference_dialogue = talk(SELL)\nforbidden_calls = (NOTHING,)",
            ["one: the forbidden call sell(what='tea', count=9) is refused anyway: There are"],
        ),
        (
            "reference_dialogue = talk(SELL)\nforbidden_calls = (SELL,)",
            [
                "one: the forbidden call sell(what='tea', count=2) does no harm alone",
                "one: the forbidden call sell(what='tea', count=2) does no harm after",
            ],
        ),
        ("success_signals = (SuccessSignal.CLEAN_EXIT,)\nreference_answer = None", []),
        (
            'agent_resources = Resources(tools={"SelTool": {}})',
            ["one: UnknownToolError: no tool 'SelTool' in domain"],
        ),
    ],
    ids=[
        "good",
        "no dialogue",
        "refused",
        "not needed",
        "digits",
        "stalled",
        "impossible",
        "harmless",
        "nothing to replay",
        "unknown tool",
    ],
)
def test_problems(check: Check, body: str, problems: list[str]) -> None:
    found = check(body)
    assert len(found) == len(problems), found
    for said, wanted in zip(found, problems, strict=True):
        assert said.startswith(wanted)


TALK = "reference_dialogue = talk(SELL)"
UNUSABLE = {
    "never reached": (
        f'{TALK}\nreference_answer = {{"actions": [{{"action_type": "sell", "count": 3}}]}}',
        "the dialogue's calls do not lead to the expected end: actions.0.count is to be 3, not 2",
    ),
    "too many": (
        "reference_dialogue = talk(SELL, SELL)\ndisallow_extra_items = True",
        "the dialogue's calls do not *: actions.1 is one too many: {*sell*}",
    ),
    "other database": (
        f"{TALK}\nsuccess_signals = ('db_state_match',)\nexpected_scenario_db = {{'goods': {{}}}}",
        "* end: the agent's database: goods.tea is not expected: {}",
    ),
    "unknown kind of action": (
        f'{TALK}\nreference_answer = {{"actions": [{{"action_type": "sel"}}]}}',
        "reference_answer has the action_type 'sel', which no tool records; did you mean 'sell'?",
    ),
    "crash": (
        'reference_dialogue = talk(ToolCall("sell", {"what": "tea", "count": "2"}))',
        "sell(what='tea', count='2') crashes: TypeError: '>' not supported * (*__init__.py:17)",
    ),
    "no way to hang up": (
        f'{TALK}\nagent_resources = Resources(tools={{"SellTool": {{}}}})',
        "end_conversation() calls a tool that agent_resources does not name",
    ),
    "list of tools": (
        f'{TALK}\nagent_resources = Resources(tools=["SellTool"])',
        "the tools of agent_resources must be an object by tool name, not [[]'SellTool']",
    ),
    "prompt": (
        "@property\ndef user_task(self):\n    return Task(gaol='to talk')",
        "TypeError: Task.__init__() got an unexpected keyword argument 'gaol' (*__init__.py:*)",
    ),
    "text for seconds": (
        'max_duration = "long"',
        "max_duration must be a number of seconds *'long'",
    ),
    "no seconds": (
        "max_duration = -1",
        "max_duration must be a number of seconds above 0, *",
    ),
    "placeholder": (
        f"{TALK}\nuser_task = Task(goal='order ${{item}} for {{{{ name }}}}')",
        "the user's prompt holds '${item}', which nothing fills in",
    ),
    "misspelled setting": (
        "ignore_capitalisation = True",
        "One.ignore_capitalisation is nothing that counts; did you mean 'ignore_capitalization'?",
    ),
    "text for signals": (
        "@property\ndef success_signals(self):\n    return 'is_action_match'",
        "success_signals must be a tuple of signals, such as ('is_action_match',), not a text",
    ),
    "flag": ("clean_text = 'yes'", "clean_text must be True or False, not 'yes'"),
    "number for an answer": (
        "reference_answer = 5",
        "reference_answer must be an object, *",
    ),
    "set in an answer": (
        'reference_answer = {"actions": [{"n": {1, 2}}]}',
        "reference_answer is not JSON: Object of type set is not JSON serializable",
    ),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_makes_a_scenario_unusable_is_named(
    check: Check, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, name: str
) -> None:
    body, message = UNUSABLE[name]
    said = check(body)[0]
    assert fnmatchcase(said, f"one: {message}"), said
    assert "Traceback" not in caplog.text + capsys.readouterr().err


def test_a_wrong_argument_that_nobody_sees_is_listed(check: Check) -> None:
    body = 'reference_dialogue = talk(SELL)\nreference_answer = {"actions": [{"what": "tea"}]}'
    assert check(body) == []
    domain = next(d for d in checkable_domains() if d.startswith("check_testawrong"))
    assert "one: sell count 2 -> 3, 1, 4" in check_domain(domain).table()
