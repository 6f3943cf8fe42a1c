"""How a call becomes a pytest outcome.

Both are pytest's own kind of failure, so that they are shown as their text, wherever they are
raised, and not as a traceback through the plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.outcomes import Failed
else:
    Failed = pytest.fail.Exception  # the same class under its public name


class CallFailed(Failed):
    """The agent did not do its job: a failed test."""

    __module__ = "builtins"  # what pytest does for its own, so that summaries show the bare name

    def __init__(self, text: str) -> None:
        super().__init__(text, pytrace=False)


class NotMeasured(Failed):
    """The call says nothing about the agent: raised in a fixture, it is a pytest error."""

    __module__ = "builtins"

    def __init__(self, text: str) -> None:
        super().__init__(text, pytrace=False)
