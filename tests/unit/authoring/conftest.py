"""A domain of two tools that is written in the authoring format without any hooks."""

from __future__ import annotations

import textwrap

import pytest

from pytest_voiceeval import packs

TOOLS = """
from pytest_voiceeval.tools import (
    StandardSchemaTool, ToolError, WriteScenarioTool, register_schema_tool_for_eval,
)


@register_schema_tool_for_eval("DOMAIN")
class FindLoan(StandardSchemaTool):
    description = "Find a loan."
    properties = {"loan_id": {"type": "string"}}
    required_properties = ["loan_id"]

    def __init__(self, shared_state=None):
        super().__init__()
        self.shared_state = shared_state

    def _execute(self, loan_id):
        if loan_id not in self.shared_state["db"]["loans"]:
            raise ToolError("not_found", f"No loan {loan_id}")
        return {"status": "success"}


@register_schema_tool_for_eval("DOMAIN")
class ExtendLoan(WriteScenarioTool):
    description = "Extend a loan."
    ACTION_TYPES = ("extend_loan",)
    properties = {
        "loan_id": {"type": "string"},
        "days": {"type": "integer"},
        "fee": {"type": "number"},
        "notify": {"type": "boolean"},
        "kind": {"anyOf": [{"enum": ["short", "long"]}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "integer"}},
    }
    required_properties = ["loan_id", "days"]

    def _execute(self, loan_id, days, fee=0, notify=False, kind=None, tags=()):
        loans = self.shared_state["db"]["loans"]
        if loan_id not in loans:
            raise ToolError("not_found", f"No loan {loan_id}")
        loans[loan_id]["days"] = days
        self._record_action({"action_type": "extend_loan", "loan_id": loan_id, "fee": fee})
        return {"status": "success", "days": days}
"""

SCENARIO = """\
id: "1.1"
database:
  loans: {L1: {days: 7}, L2: {days: 7}}
persona: You are in a hurry.
rules: A1 A2
dialogue: |
  A: Library, hello?
  C: I need a book for longer.
  A: Which one, please?
  C: {L1}.
  > find_loan L1
  A: For how long?
  C: Ten more days.
  A: That is for free. Shall I?
  C: Yes.
  > extend_loan L1 17
  A: Done. You have seventeen days.
  C: Seventeen?
  A: In all. Is there anything else?
  C: No.
  A: Goodbye.
forbidden:
- extend_loan L2 17
note: A1 grants ten days.
"""


@pytest.fixture
def library(tmp_path, request):
    """Write the domain into a user's folder: `library(**files)` gives its name."""
    root = tmp_path / "scenarios"
    root.mkdir()
    packs.add_user_folder(root)
    domain = f"library_{abs(hash(request.node.nodeid))}"

    def write(*, hooks: str | None = None, **scenarios: str) -> str:
        folder = root / domain
        (folder / "authoring").mkdir(parents=True)
        (folder / "pack.toml").write_text('description = "test"\n')
        (folder / "__init__.py").write_text(TOOLS.replace("DOMAIN", domain))
        if hooks is not None:
            (folder / "authoring" / "__init__.py").write_text(textwrap.dedent(hooks))
        for name, text in (scenarios or {"1.1": SCENARIO}).items():
            (folder / "authoring" / f"{name}.yaml").write_text(text)
        return domain

    yield write
    packs.unload_pack(domain)
    packs.remove_user_folder(root)
