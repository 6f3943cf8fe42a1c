"""What type checkers are told of a scenario's members, which at run time are plain attributes.

Declared as read-only, each may be an attribute, a property or a cached property in a subclass.
"""
# ruff: noqa: D102 - `Scenario` documents them

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from pytest_voiceeval.scenario.turns import Dialogue, ToolCall

    class DeclaredMembers:
        """See the module."""

        @property
        def description(self) -> str | None: ...
        @property
        def max_duration(self) -> float | None: ...
        @property
        def reference_answer(self) -> Any: ...
        @property
        def reference_dialogue(self) -> Dialogue | None: ...
        @property
        def forbidden_calls(self) -> tuple[ToolCall, ...]: ...
        @property
        def expected_scenario_db(self) -> dict[str, Any] | None: ...
        @property
        def expected_user_db(self) -> dict[str, Any] | None: ...
        @property
        def nl_assertions(self) -> Sequence[str] | None: ...
        @property
        def db_state_assertions(self) -> Sequence[Mapping[str, Any]] | None: ...
        @property
        def initialization_actions(self) -> Sequence[Mapping[str, Any]] | None: ...

else:

    class DeclaredMembers:
        """The two members that have a value even if nobody sets one."""

        reference_dialogue = None
        forbidden_calls = ()
