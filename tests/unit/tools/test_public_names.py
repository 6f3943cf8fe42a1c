"""`pytest_voiceeval.tools` as users import it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_voiceeval import tools


@pytest.mark.parametrize("name", tools.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(tools, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        tools.Nonsense  # noqa: B018


def test_importing_it_is_cheap() -> None:
    code = (
        "import sys, pytest_voiceeval.tools\n"
        "heavy = {'pydantic', 'pipecat', 'asyncio', 'pytest_voiceeval.tools.base'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "from pytest_voiceeval.tools import get_schema_tool_for_eval\n"
        "get_schema_tool_for_eval('EndConversationTool')\n"
        "print(sorted({'pydantic', 'pipecat'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "[]"]
