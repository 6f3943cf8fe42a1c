"""The control message handlers: dispatch, and the messages about the shared state."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_voiceeval.bots import handlers
from pytest_voiceeval.scenario.initialization import register_initialization_function
from pytest_voiceeval.scenario.sync import register_sync_applier
from pytest_voiceeval.scoring.db_hash import get_dict_hash

DOMAIN = "handlers_test"


@register_initialization_function(DOMAIN)
def set_count(db: dict[str, Any], value: int) -> None:
    db["count"] = value


@register_initialization_function(DOMAIN)
def explode(db: dict[str, Any]) -> None:
    raise RuntimeError("no fuel")


@register_sync_applier(DOMAIN)
def add_up(db: dict[str, Any], delta: dict[str, Any]) -> None:
    for key, value in delta.items():
        db[key] = db.get(key, 0) + value


class FakeRtvi:
    """An RTVI processor: takes messages, keeps the replies by message id."""

    def __init__(self, *actions: handlers.ClientMessageHandler) -> None:
        self.replies: dict[str, tuple[str, Any]] = {}
        self.order: list[str] = []
        handlers.register_client_message_handlers(self, actions)

    def add_event_handler(self, event: str, handler: Any) -> None:
        assert event == "on_client_message"
        self.handler = handler

    async def ask(self, type_: str, data: Any = None, id_: str = "m1") -> tuple[str, Any]:
        await self.handler(self, SimpleNamespace(type=type_, data=data, msg_id=id_))
        return self.replies[id_]

    async def send_server_response(self, message: Any, data: Any) -> None:
        self._keep(message, ("response", data))

    async def send_error_response(self, message: Any, error: str) -> None:
        self._keep(message, ("error", error))

    def _keep(self, message: Any, reply: tuple[str, Any]) -> None:
        assert message.msg_id not in self.replies, "answered twice"
        self.replies[message.msg_id] = reply
        self.order.append(message.msg_id)


def answering(type_: str, answer: Any) -> handlers.ClientMessageHandler:
    async def handler(rtvi: Any, arguments: dict[str, Any]) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer(arguments) if callable(answer) else answer

    return (type_, handler)


class TestDispatch:
    @pytest.mark.parametrize(
        ("data", "reply"),
        [
            pytest.param({"a": 1}, ("response", {"a": 1}), id="arguments"),
            pytest.param(None, ("response", {}), id="no-arguments"),
            pytest.param(
                [1],
                ("error", "ControlMessageError: the arguments must be an object, got list"),
                id="not-an-object",
            ),
        ],
    )
    async def test_handler_gets_the_arguments(self, data: Any, reply: Any) -> None:
        assert await FakeRtvi(answering("echo", lambda d: d)).ask("echo", data) == reply

    async def test_unknown_type(self) -> None:
        rtvi = FakeRtvi(answering("echo", 1))
        assert await rtvi.ask("nope") == ("error", "unknown message type: nope")

    @pytest.mark.parametrize(
        ("error", "text"),
        [
            pytest.param(ValueError("bad"), "ValueError: bad", id="class-and-message"),
            pytest.param(KeyError("x"), "KeyError: 'x'", id="key-error"),
        ],
    )
    async def test_handler_that_raises(self, error: Exception, text: str) -> None:
        assert await FakeRtvi(answering("t", error)).ask("t") == ("error", text)

    @pytest.mark.parametrize(
        "reply", [{"x": float("nan")}, {"x": object()}, {(1, 2): 1}], ids=["nan", "object", "key"]
    )
    async def test_reply_that_is_not_json_is_an_error(self, reply: Any) -> None:
        kind, text = await FakeRtvi(answering("t", reply)).ask("t")
        assert kind == "error"
        assert text.startswith("ControlMessageError: the reply cannot be sent as JSON:")

    async def test_messages_are_handled_in_their_order(self) -> None:
        started = asyncio.Event()
        release = asyncio.Event()

        async def slow(rtvi: Any, arguments: dict[str, Any]) -> bool:
            started.set()
            await release.wait()
            return True

        rtvi = FakeRtvi(("slow", slow), answering("fast", 1))
        async with asyncio.TaskGroup() as group:
            group.create_task(rtvi.ask("slow", id_="first"))
            await started.wait()
            group.create_task(rtvi.ask("fast", id_="second"))
            await asyncio.sleep(0)
            assert rtvi.order == []
            release.set()
        assert rtvi.order == ["first", "second"]

    def test_two_handlers_for_one_type(self) -> None:
        with pytest.raises(ValueError, match=r"two handlers: \['t', 't'\]"):
            FakeRtvi(answering("t", 1), answering("t", 2))


def summary_of(state: dict[str, Any]) -> FakeRtvi:
    return FakeRtvi(
        handlers.create_get_scenario_summary_action(
            handlers.TaskRef(), handlers.SharedStateRef(state)
        )
    )


class TestSummary:
    DB = {"a": 1.0, "session": {"id": "x"}}  # noqa: RUF012

    @pytest.mark.parametrize(
        ("state", "arguments", "reply"),
        [
            pytest.param({}, {}, {"actions": [], "db_hash": None}, id="no-db"),
            pytest.param({"db": {}}, {}, {"actions": [], "db_hash": None}, id="empty-db"),
            pytest.param(
                {"db": {}},
                {"include_db": True},
                {"actions": [], "db_hash": None, "db": None},
                id="empty-db-included",
            ),
            pytest.param(
                {"db": DB, "actions": [{"action_type": "x"}], "_call_counts": {"x": 1}},
                {},
                {"actions": [{"action_type": "x"}], "db_hash": get_dict_hash({"a": 1})},
                id="hash-only",
            ),
            pytest.param(
                {"db": DB},
                {"include_db": True},
                {"actions": [], "db_hash": get_dict_hash({"a": 1}), "db": DB},
                id="with-db",
            ),
        ],
    )
    async def test_reply(self, state: Any, arguments: Any, reply: Any) -> None:
        assert await summary_of(state).ask("get_scenario_summary", arguments) == ("response", reply)

    async def test_database_without_a_hash_names_the_path(self) -> None:
        rtvi = summary_of({"db": {"fares": {"F1": [1.0, float("nan")]}}})
        kind, text = await rtvi.ask("get_scenario_summary")
        assert kind == "error"
        assert text.startswith("StateError: ")
        assert "fares" in text
        assert "F1" in text


def initializing(state: dict[str, Any]) -> FakeRtvi:
    return FakeRtvi(handlers.create_apply_initialization_action(handlers.SharedStateRef(state)))


def count(value: int) -> dict[str, Any]:
    return {"func_name": "set_count", "arguments": {"value": value}, "side": "agent"}


class TestInitialization:
    async def ask(self, state: dict[str, Any], arguments: Any) -> tuple[bool, list[str]]:
        kind, reply = await initializing(state).ask("apply_initialization", arguments)
        assert kind == "response"
        return reply["success"], reply["errors"]

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            pytest.param(
                {"actions": {"a": 1}}, "`actions` payload must be a list, got dict.", id="actions"
            ),
            pytest.param(
                {"shared_state_init": "{"}, "Invalid shared_state_init JSON: ", id="not-json"
            ),
            pytest.param(
                {"shared_state_init": "[1]"},
                "shared_state_init must decode to a dict, got list.",
                id="not-an-object",
            ),
            pytest.param(
                {"actions": [count(1)]},
                "No shared_state['db'] available; cannot apply 1 initialization action(s).",
                id="no-db",
            ),
            pytest.param(
                {"shared_state_init": '{"db_path": 3}'},
                "db_path must be a text, got int.",
                id="path",
            ),
        ],
    )
    async def test_refusals(self, arguments: Any, error: str) -> None:
        success, errors = await self.ask({}, arguments)
        assert not success
        assert len(errors) == 1
        assert errors[0].startswith(error)

    @pytest.mark.parametrize("arguments", [{}, {"actions": None}], ids=["empty", "null-actions"])
    async def test_load_only(self, arguments: Any) -> None:
        assert await self.ask({"db": {}}, arguments) == (True, [])

    async def test_merge_keeps_what_belongs_to_the_bot(self) -> None:
        state = {"__rtvi__": "rtvi", "__tool_domain__": DOMAIN, "old": 1, "kept": 2}
        init = {"old": 9, "db": {"x": 1}, "__rtvi__": None}
        assert await self.ask(state, {"shared_state_init": json.dumps(init)}) == (True, [])
        assert state == {
            "__rtvi__": "rtvi",
            "__tool_domain__": DOMAIN,
            "old": 9,
            "kept": 2,
            "db": {"x": 1},
        }

    async def test_actions_go_on_after_a_failure(self) -> None:
        state: dict[str, Any] = {"db": {}}
        actions = [
            count(1),
            {"func_name": "nonexistent", "arguments": {}, "side": "user"},
            {"func_name": "explode", "arguments": {}, "side": "agent"},
            count(2),
        ]
        success, errors = await self.ask(state, {"domain": DOMAIN, "actions": actions})
        assert not success
        assert len(errors) == 2
        assert "'nonexistent'" in errors[0]
        assert "'explode' raised: RuntimeError: no fuel" in errors[1]
        assert state["db"] == {"count": 2}


class TestDbPath:
    @pytest.fixture(autouse=True)
    def root(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        root = tmp_path / "data"
        (root / "shards").mkdir(parents=True)
        (root / "one.json").write_text('{"x": 1}')
        (root / "shards" / "flights.json").write_text('{"F1": 1}')
        (tmp_path / "secret.json").write_text('{"key": 1}')
        monkeypatch.setenv("EVAL_DATA_ROOT", str(root))
        return root

    async def load(self, path: str, state: dict[str, Any]) -> list[str]:
        arguments = {"shared_state_init": json.dumps({"db_path": path})}
        _, reply = await initializing(state).ask("apply_initialization", arguments)
        return reply["errors"]

    @pytest.mark.parametrize(
        ("path", "db"),
        [
            pytest.param("one.json", {"x": 1}, id="file"),
            pytest.param("one", {"x": 1}, id="file-without-ending"),
            pytest.param("shards", {"flights": {"F1": 1}}, id="folder"),
        ],
    )
    async def test_is_replaced_by_the_database(self, path: str, db: Any) -> None:
        state: dict[str, Any] = {}
        assert await self.load(path, state) == []
        assert state == {"db": db}

    async def test_is_dropped_when_there_is_a_database(self) -> None:
        state: dict[str, Any] = {"db": {"mine": 1}}
        assert await self.load("missing", state) == []
        assert state == {"db": {"mine": 1}}

    async def test_missing(self, root: Path) -> None:
        (error,) = await self.load("gone/1.json", {})
        assert error.startswith(
            "FileNotFoundError: Scenario DB not found for db_path='gone/1.json'"
        )
        assert str(root) in error
        assert "EVAL_DATA_ROOT" in error

    @pytest.mark.parametrize(
        "path", ["../secret", "shards/../../secret.json", "/etc/passwd", "..\\secret", ""]
    )
    async def test_stays_inside_the_data_root(self, path: str) -> None:
        state: dict[str, Any] = {}
        (error,) = await self.load(path, state)
        assert "does not name a file below the data root" in error
        assert state == {}


class TestSyncDelta:
    async def ask(self, state: dict[str, Any], arguments: Any) -> dict[str, Any]:
        ref = handlers.SharedStateRef(state)
        rtvi = FakeRtvi(handlers.create_apply_sync_delta_action(ref))
        kind, reply = await rtvi.ask("apply_sync_delta", arguments)
        assert kind == "response"
        return reply

    @pytest.mark.parametrize(
        ("db", "arguments", "after"),
        [
            pytest.param({"n": 1}, {}, {"n": 1}, id="empty"),
            pytest.param(
                {"a": {}}, {"delta": {"a.b": {"c": 1}}}, {"a": {"b": {"c": 1}}}, id="path"
            ),
            pytest.param({"n": 1}, {"domain": DOMAIN, "delta": {"n": 2}}, {"n": 3}, id="applier"),
        ],
    )
    async def test_applied(self, db: Any, arguments: Any, after: Any) -> None:
        state = {"db": db}
        assert await self.ask(state, arguments) == {"success": True, "errors": []}
        assert state == {"db": after}

    @pytest.mark.parametrize(
        ("state", "delta", "error"),
        [
            pytest.param(
                {"db": {}}, [1], "`delta` payload must be a dict, got list.", id="not-an-object"
            ),
            pytest.param(
                {},
                {"a": 1},
                "No shared_state['db'] available; cannot apply sync delta of 1 key(s)",
                id="no-db",
            ),
            pytest.param({"db": {}}, {"a.b": 1}, "KeyError: ", id="missing-parent"),
        ],
    )
    async def test_failures_are_told(self, state: Any, delta: Any, error: str) -> None:
        reply = await self.ask(state, {"delta": delta})
        assert reply["success"] is False
        assert reply["errors"][0].startswith(error)
