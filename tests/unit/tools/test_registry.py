"""Registering and finding tools, by domain."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_voiceeval.tools import (
    EndConversationTool,
    StandardSchemaTool,
    UnknownToolError,
    get_schema_tool_for_eval,
    list_schema_tools_for_eval,
    register_schema_tool_for_eval,
)

pytestmark = pytest.mark.usefixtures("clean_registry")


def make_tool(class_name: str = "PingTool", **attributes: Any) -> type[StandardSchemaTool]:
    body = {"description": "d", "_execute": lambda self: {"ok": True}, **attributes}
    return type(class_name, (StandardSchemaTool,), body)


class TestRegister:
    def test_bare(self) -> None:
        tool = register_schema_tool_for_eval(make_tool())
        assert type(get_schema_tool_for_eval("PingTool")) is tool

    @pytest.mark.parametrize(
        "decorator",
        [
            register_schema_tool_for_eval("here"),
            register_schema_tool_for_eval(domain="here"),
        ],
        ids=["positional", "keyword"],
    )
    def test_with_a_domain(self, decorator: Any) -> None:
        tool = decorator(make_tool())
        assert type(get_schema_tool_for_eval("PingTool", domain="here")) is tool

    def test_called_without_arguments_means_default(self) -> None:
        register_schema_tool_for_eval()(make_tool())
        assert "PingTool" in list_schema_tools_for_eval("default")

    def test_the_same_name_in_two_domains(self) -> None:
        here = register_schema_tool_for_eval("here")(make_tool())
        there = register_schema_tool_for_eval("there")(make_tool())
        assert type(get_schema_tool_for_eval("PingTool", domain="here")) is here
        assert type(get_schema_tool_for_eval("PingTool", domain="there")) is there

    @pytest.mark.parametrize(
        ("first", "second", "name"),
        [
            (make_tool(), make_tool(), "PingTool"),
            (make_tool("Ping"), make_tool("PingTool"), "ping"),
            (make_tool("A", name="x"), make_tool("B", name="x"), "x"),
        ],
        ids=["class name", "function name", "declared name"],
    )
    def test_collision(self, first: Any, second: Any, name: str) -> None:
        register_schema_tool_for_eval("here")(first)
        with pytest.raises(ValueError, match=f"^Tool name collision in domain 'here'.*'{name}'"):
            register_schema_tool_for_eval("here")(second)
        assert list_schema_tools_for_eval("here") == [first.__dict__.get("name", first.__name__)]

    def test_twice_the_same_class_collides(self) -> None:
        tool = register_schema_tool_for_eval("here")(make_tool())
        with pytest.raises(ValueError, match=r"^Tool name collision in domain"):
            register_schema_tool_for_eval("here")(tool)

    @pytest.mark.parametrize("thing", [int, len, object()], ids=["class", "function", "object"])
    def test_only_tools(self, thing: Any) -> None:
        with pytest.raises(ValueError, match="is not a subclass of StandardSchemaTool"):
            register_schema_tool_for_eval(domain="here")(thing)

    @pytest.mark.parametrize("domain", ["", "a.b", "../x", "a b", "1st"])
    def test_a_domain_is_an_identifier(self, domain: Any) -> None:
        with pytest.raises(ValueError, match="must be an identifier"):
            register_schema_tool_for_eval(domain)
        with pytest.raises(ValueError, match="must be an identifier"):
            get_schema_tool_for_eval("PingTool", domain=domain)


class TestFind:
    def test_by_class_name_and_by_function_name(self) -> None:
        for name in ("EndConversationTool", "end_conversation"):
            assert type(get_schema_tool_for_eval(name)) is EndConversationTool

    def test_a_declared_name_and_its_class_name(self) -> None:
        tool = register_schema_tool_for_eval("here")(make_tool(name="knock"))
        for name in ("knock", "PingTool"):
            assert type(get_schema_tool_for_eval(name, domain="here")) is tool

    def test_a_class_name_two_tools_share_is_refused(self) -> None:
        for name in ("one", "two"):
            register_schema_tool_for_eval("here")(make_tool(name=name))
        with pytest.raises(UnknownToolError, match=r"names several tools.*use one, two"):
            get_schema_tool_for_eval("PingTool", domain="here")

    def test_falls_back_to_default_and_logs_it(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level("DEBUG", logger="pytest_voiceeval")
        register_schema_tool_for_eval("here")(make_tool())
        tool = get_schema_tool_for_eval("EndConversationTool", domain="here")
        assert isinstance(tool, EndConversationTool)
        assert "'EndConversationTool' is not in domain 'here', taken from 'default'" in caplog.text

    def test_its_own_domain_wins(self, caplog: pytest.LogCaptureFixture) -> None:
        tool = register_schema_tool_for_eval("here")(make_tool("EndConversationTool"))
        assert type(get_schema_tool_for_eval("EndConversationTool", domain="here")) is tool
        assert caplog.text == ""

    def test_an_unknown_tool_lists_what_there_is(self) -> None:
        register_schema_tool_for_eval("here")(make_tool("RebookFlightTool"))
        with pytest.raises(KeyError) as caught:
            get_schema_tool_for_eval("RebokFlightTool", domain="here")
        text = str(caught.value)
        assert text.startswith("no tool 'RebokFlightTool' in domain 'here' or in 'default'.")
        assert "Did you mean RebookFlightTool?" in text
        assert "Available: EndConversationTool, RebookFlightTool, Send" in text

    def test_a_misspelt_function_name_gets_function_names(self) -> None:
        with pytest.raises(UnknownToolError, match="Did you mean end_conversation"):
            get_schema_tool_for_eval("end_conversaton")

    def test_an_unknown_domain(self) -> None:
        register_schema_tool_for_eval("cinema_tickets")(make_tool())
        with pytest.raises(UnknownToolError) as caught:
            get_schema_tool_for_eval("PingTool", domain="cinema_ticket")
        assert "domain 'cinema_ticket' has no pack and no registered tools." in str(caught.value)
        assert "Did you mean cinema_tickets?" in str(caught.value)

    def test_names(self) -> None:
        register_schema_tool_for_eval("here")(make_tool())
        register_schema_tool_for_eval("here")(make_tool("PongTool", name="pong"))
        assert list_schema_tools_for_eval("here") == ["PingTool", "pong"]
        assert {"here.PingTool", "here.pong", "default.EndConversationTool"} <= set(
            list_schema_tools_for_eval()
        )
        with pytest.raises(UnknownToolError, match="domain 'nowhere' has no pack"):
            list_schema_tools_for_eval("nowhere")


class TestBuild:
    def test_what_the_constructor_takes_is_given(self) -> None:
        def init(self: Any, rtvi: Any, shared_state: Any, menu: str = "") -> None:
            StandardSchemaTool.__init__(self)
            self.got = (rtvi, shared_state, menu)

        register_schema_tool_for_eval("here")(make_tool(__init__=init))
        state: dict[str, Any] = {}
        tool: Any = get_schema_tool_for_eval(
            "PingTool", domain="here", rtvi="r", shared_state=state, menu="m"
        )
        assert tool.got == ("r", state, "m")
        assert tool.got[1] is state

    def test_what_it_does_not_take_is_not_given(self) -> None:
        def init(self: Any) -> None:
            StandardSchemaTool.__init__(self)

        register_schema_tool_for_eval("here")(make_tool(__init__=init))
        assert get_schema_tool_for_eval("PingTool", domain="here", rtvi=1, shared_state={})

    def test_other_arguments_are_refused_by_name(self) -> None:
        def init(self: Any, menu: str) -> None:
            StandardSchemaTool.__init__(self)

        register_schema_tool_for_eval("here")(make_tool(__init__=init))
        text = "tool PingTool: .*'menue'|tool PingTool: missing a required argument: 'menu'"
        with pytest.raises(TypeError, match=text) as caught:
            get_schema_tool_for_eval("PingTool", domain="here", menue="x")
        assert str(caught.value).endswith("it takes menu")


PACK = """
from pytest_voiceeval.tools import StandardSchemaTool, register_schema_tool_for_eval


@register_schema_tool_for_eval("{domain}")
class {domain}Tool(StandardSchemaTool):
    description = "d"

    def _execute(self):
        return {{"from": {answer!r}}}

{rest}
"""


@pytest.fixture
def make_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write a user's pack and make it findable."""
    monkeypatch.setenv("VOICEEVAL_PACKS", str(tmp_path))

    def make(domain: str, answer: str = "pack", rest: str = "") -> None:
        folder = tmp_path / domain
        folder.mkdir(exist_ok=True)
        (folder / "pack.toml").write_text('description = "a pack"\n')
        code = PACK.format(domain=domain, answer=answer, rest=rest)
        (folder / "__init__.py").write_text(code)
        monkeypatch.delitem(sys.modules, f"pytest_voiceeval.packs.{domain}", raising=False)

    yield make
    for name in [n for n in sys.modules if n.startswith("pytest_voiceeval.packs.tools_test_")]:
        del sys.modules[name]


class TestPacks:
    def test_a_pack_is_imported_on_first_use(self, make_pack: Any) -> None:
        make_pack("tools_test_first")
        tool = get_schema_tool_for_eval("tools_test_firstTool", domain="tools_test_first")
        assert tool.invoke() == {"from": "pack"}

    def test_listing_imports_it_too(self, make_pack: Any) -> None:
        make_pack("tools_test_list")
        assert list_schema_tools_for_eval("tools_test_list") == ["tools_test_listTool"]

    @pytest.mark.parametrize(
        "rest", ["raise RuntimeError('broken pack')", "import not_a_module_at_all"], ids=str
    )
    def test_the_error_of_a_broken_pack_is_shown_every_time(
        self, make_pack: Any, rest: Any
    ) -> None:
        make_pack("tools_test_broken", rest=rest)
        for _ in range(2):
            with pytest.raises((RuntimeError, ModuleNotFoundError)) as caught:
                get_schema_tool_for_eval("tools_test_brokenTool", domain="tools_test_broken")
            assert "broken pack" in str(caught.value) or "not_a_module" in str(caught.value)
            assert caught.value.__notes__ == [
                "while importing the pack of tool domain 'tools_test_broken'"
            ]

    def test_a_pack_that_is_loaded_anew_replaces_its_tools(self, make_pack: Any) -> None:
        domain = "tools_test_anew"
        make_pack(domain, answer="old")
        assert get_schema_tool_for_eval(f"{domain}Tool", domain=domain).invoke() == {"from": "old"}
        make_pack(domain, answer="new and longer")
        tool = get_schema_tool_for_eval(f"{domain}Tool", domain=domain)
        assert tool.invoke() == {"from": "new and longer"}

    def test_the_tools_of_an_unloaded_module_are_gone(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        module = ModuleType("passing_by")
        monkeypatch.setitem(sys.modules, "passing_by", module)
        register_schema_tool_for_eval("here")(make_tool(__module__="passing_by"))
        assert list_schema_tools_for_eval("here") == ["PingTool"]
        monkeypatch.delitem(sys.modules, "passing_by")
        assert list_schema_tools_for_eval("here") == []
