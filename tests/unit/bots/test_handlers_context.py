"""The control messages about prompt, tools, history and output."""

from __future__ import annotations

import asyncio
import copy
import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_voiceeval.bots import handlers, handlers_context
from pytest_voiceeval.bots.handlers_tools import answer_unknown_tool


class FakeWorker:
    """A pipeline worker that writes down what happens to it."""

    def __init__(self, log: list[Any], *, drains: bool = True) -> None:
        self.log = log
        self.drains = drains

    async def queue_frame(self, frame: Any) -> None:
        self.log.append(frame)

    async def flush_pipeline(self, timeout: float) -> bool:
        self.log.append("flush")
        return self.drains


class FakeRtvi:
    """What handlers use of an RTVI processor."""

    def __init__(self, worker: FakeWorker | None = None) -> None:
        self.pipeline_worker = worker

    async def interrupt_bot(self) -> None:
        assert self.pipeline_worker is not None
        self.pipeline_worker.log.append("interrupt")


class FakeAggregator:
    """One half of the context aggregators."""

    def __init__(self, messages: list[Any] | None = None, log: list[Any] | None = None) -> None:
        self.messages = messages or []
        self.log = [] if log is None else log
        self.has_function_calls_in_progress = False

    async def reset(self) -> None:
        self.log.append("reset")

    def set_messages(self, messages: list[Any]) -> None:
        self.messages = messages


class FakeContext:
    """An `LLMContext`: pipecat's marker for "no tools" has no `standard_tools`."""

    def __init__(self) -> None:
        self.tools: Any = object()

    def set_tools(self, tools: list[Any]) -> None:
        self.tools = SimpleNamespace(standard_tools=tools)

    @property
    def names(self) -> list[str]:
        return [tool.name for tool in getattr(self.tools, "standard_tools", [])]


class FakeLlm:
    """An LLM service's function table."""

    def __init__(self) -> None:
        self.functions: dict[str | None, Any] = {}

    def register_function(self, name: str | None, handler: Any, **options: Any) -> None:
        self.functions[name] = handler

    def unregister_function(self, name: str) -> None:
        del self.functions[name]


def tool(name: str, **fields: Any) -> Any:
    schema = SimpleNamespace(name=name, description="d", properties={"a": {}}, required=("a",))
    return SimpleNamespace(name=name, schema=schema, **fields)


def make_tool(name: str, **arguments: Any) -> Any:
    if name == "Missing":
        raise KeyError("no tool 'Missing'")
    return tool(name.lower(), arguments=arguments)


class Bot:
    """The parts of a bot, and its `update_system_prompt` and `reset` handlers."""

    def __init__(self, **options: Any) -> None:
        self.log: list[Any] = []
        self.rtvi = FakeRtvi(FakeWorker(self.log, drains=options.pop("drains", True)))
        self.user, self.assistant = FakeAggregator(log=self.log), FakeAggregator(log=self.log)
        self.original = [{"role": "system", "content": "old"}]
        self.llm, self.context = FakeLlm(), FakeContext()
        self.ref = handlers.SharedStateRef({"db": {"x": 1}, "actions": [1]})
        task_ref = handlers.TaskRef()
        services = [None, object(), SimpleNamespace(reset=lambda: self.log.append("service"))]
        parts = (task_ref, self.user, self.assistant, self.original, services)
        _, self._reset = handlers.create_reset_context_action(*parts)
        _, self._update = handlers.create_update_system_prompt_action(
            *parts,
            llm=self.llm,
            context=self.context,
            tool_factory=make_tool,
            shared_state_ref=self.ref,
            **options,
        )

    async def reset(self) -> Any:
        return await self._reset(self.rtvi, {})

    async def update(self, **arguments: Any) -> Any:
        return await self._update(self.rtvi, arguments)


class TestReset:
    async def test_back_to_the_original_messages(self) -> None:
        bot = Bot()
        assert await bot.reset() is True
        for aggregator in (bot.user, bot.assistant):
            assert aggregator.messages == bot.original
            assert aggregator.messages[0] is not bot.original[0]
        assert bot.ref.state == {"db": {"x": 1}, "actions": [1]}

    async def test_a_running_reply_is_stopped_first(self) -> None:
        bot = Bot()
        await bot.reset()
        assert bot.log == ["interrupt", "flush", "reset", "reset", "service"]

    async def test_a_stuck_pipeline_does_not_block_it(self) -> None:
        assert await Bot(drains=False).reset() is True

    async def test_without_a_worker(self) -> None:
        bot = Bot()
        bot.rtvi = FakeRtvi()
        assert await bot.reset() is True
        assert bot.log == ["reset", "reset", "service"]

    async def test_async_service(self) -> None:
        called = []

        class Service:
            async def reset(self) -> None:
                called.append(1)

        aggregator = FakeAggregator()
        _, reset = handlers.create_reset_context_action(
            handlers.TaskRef(), aggregator, aggregator, [], [Service()]
        )
        await reset(FakeRtvi(), {})
        assert called == [1]


class TestUpdateSystemPrompt:
    async def test_begins_a_scenario(self) -> None:
        bot = Bot()
        state = bot.ref.state
        tools = json.dumps({"Alpha": {"limit": 3}, "Beta": {}})
        assert await bot.update(prompt="new", tools=tools, tool_domain="d") is True
        assert bot.original == [{"role": "system", "content": "new"}]
        assert bot.user.messages == bot.assistant.messages == bot.original
        assert bot.ref.state is state
        assert state == {"__rtvi__": bot.rtvi, "__tool_domain__": "d"}
        assert bot.context.names == ["alpha", "beta"]
        assert bot.llm.functions["alpha"].arguments == {
            "domain": "d",
            "rtvi": bot.rtvi,
            "shared_state": state,
            "limit": 3,
        }

    @pytest.mark.parametrize(
        ("options", "arguments", "message"),
        [
            pytest.param({}, {}, {"role": "system", "content": "p"}, id="no-suffix"),
            pytest.param(
                {"system_prompt_suffix": "s"},
                {},
                {"role": "system", "content": "p\ns"},
                id="suffix",
            ),
            pytest.param(
                {"system_prompt_suffix": "s", "system_role": "user"},
                {"add_suffix": False},
                {"role": "user", "content": "p"},
                id="suffix-off-and-role",
            ),
        ],
    )
    async def test_prompt_message(self, options: Any, arguments: Any, message: Any) -> None:
        bot = Bot(**options)
        await bot.update(prompt="p", **arguments)
        assert bot.original == [message]

    async def test_previous_tools_are_gone(self) -> None:
        bot = Bot()
        await bot.update(prompt="p", tools='{"Alpha": {}, "Beta": {}}')
        await bot.update(prompt="p", tools='{"Beta": {}}')
        assert bot.context.names == ["beta"]
        assert set(bot.llm.functions) == {"beta", None}

    async def test_channel_for_tools_can_be_given(self) -> None:
        channel = object()
        bot = Bot(rtvi=channel)
        await bot.update(prompt="p", tools='{"Alpha": {}}')
        assert bot.ref.state["__rtvi__"] is channel
        assert bot.llm.functions["alpha"].arguments["rtvi"] is channel

    async def test_bot_without_tool_calling(self) -> None:
        bot = Bot(enable_tool_calling=False)
        assert await bot.update(prompt="p", tools='{"Missing": {}}') is True
        assert bot.context.names == []

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            pytest.param({}, "`prompt` must be a text that is not empty", id="no-prompt"),
            pytest.param({"prompt": ""}, "`prompt` must be a text that is not empty", id="empty"),
            pytest.param({"prompt": 3}, "`prompt` must be a text that is not empty", id="number"),
            pytest.param({"prompt": "p", "tools": "{"}, "`tools` is not JSON: ", id="tools-json"),
            pytest.param(
                {"prompt": "p", "tools": "[]"},
                "`tools` must be an object by tool name, got list",
                id="tools-list",
            ),
            pytest.param(
                {"prompt": "p", "tools": '{"Alpha": 1}'},
                "the arguments of tool 'Alpha' must be an object: int",
                id="tool-arguments",
            ),
            pytest.param(
                {"prompt": "p", "tools": '{"Alpha": {}, "Missing": {}}', "tool_domain": "d"},
                "tool 'Missing' of domain 'd': KeyError: \"no tool 'Missing'\"",
                id="unknown-tool",
            ),
        ],
    )
    async def test_a_failure_tells_why_and_changes_nothing(self, arguments: Any, text: str) -> None:
        bot = Bot()
        bot.context.set_tools([tool("kept").schema])
        before = copy.deepcopy((bot.original, bot.ref.state))
        with pytest.raises(handlers.ControlMessageError) as caught:
            await bot.update(**arguments)
        assert str(caught.value).startswith(text)
        assert (bot.original, bot.ref.state) == before
        assert bot.context.names == ["kept"]
        assert bot.llm.functions == {}

    async def test_two_tools_of_one_name(self) -> None:
        bot = Bot()
        with pytest.raises(ValueError, match="two tools share the function name 'alpha'"):
            await bot.update(prompt="p", tools='{"Alpha": {}, "ALPHA": {}}')
        assert bot.ref.state == {"db": {"x": 1}, "actions": [1]}


class TestRegisterTools:
    def test_existing_tools_stay_by_default(self) -> None:
        llm, context = FakeLlm(), FakeContext()
        handlers.register_schema_tools_to_llm(llm, context, [tool("a"), tool("b")])
        handlers.register_schema_tools_to_llm(llm, context, [tool("b"), tool("c")])
        assert context.names == ["a", "b", "c"]
        assert set(llm.functions) == {"a", "b", "c", None}

    def test_direct_functions_stay_functions(self) -> None:
        def direct() -> None: ...

        context = FakeContext()
        wrapper = SimpleNamespace(name="direct", function=direct)
        shown = [SimpleNamespace(name="direct")]
        context.tools = SimpleNamespace(standard_tools=shown, direct_functions=[wrapper])
        handlers.register_schema_tools_to_llm(FakeLlm(), context, [tool("a")])
        assert context.tools.standard_tools[0] is direct

    def test_schema_is_pipecats(self) -> None:
        context = FakeContext()
        handlers.register_schema_tools_to_llm(FakeLlm(), context, [tool("a")])
        assert context.tools.standard_tools[0].to_default_dict() == {
            "name": "a",
            "description": "d",
            "parameters": {"type": "object", "properties": {"a": {}}, "required": ["a"]},
        }

    async def test_unknown_tool_is_answered_with_the_known_ones(self) -> None:
        answers = []

        async def answer(result: Any) -> None:
            answers.append(result)

        context = FakeContext()
        context.set_tools([tool("b").schema, tool("a").schema])
        await answer_unknown_tool(
            SimpleNamespace(function_name="x", context=context, result_callback=answer)
        )
        assert answers == [
            {
                "status": "error",
                "error_type": "unknown_tool",
                "message": "There is no tool named 'x'. Use one of the available tools instead.",
                "available_tools": ["a", "b"],
            }
        ]


def history_of(aggregator: FakeAggregator) -> Any:
    _, handler = handlers.create_get_context_history_action(handlers.TaskRef(), aggregator)
    return handler(FakeRtvi(), {})


class TestHistory:
    async def test_is_json_text(self) -> None:
        messages = [{"role": "user", "content": 'Grüße, it\'s "me"', "x": None, "y": True}]
        reply = await history_of(FakeAggregator(messages))
        assert json.loads(reply["context"]) == messages

    async def test_waits_for_function_calls(self) -> None:
        aggregator = FakeAggregator([{"content": "IN_PROGRESS"}])
        aggregator.has_function_calls_in_progress = True

        async def finish() -> None:
            await asyncio.sleep(0.06)
            aggregator.messages = [{"content": "done"}]
            aggregator.has_function_calls_in_progress = False

        async with asyncio.TaskGroup() as group:
            group.create_task(finish())
            reply = await history_of(aggregator)
        assert json.loads(reply["context"]) == [{"content": "done"}]

    async def test_but_not_for_ever(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(handlers_context, "FUNCTION_CALL_DEADLINE", 0.1)
        aggregator = FakeAggregator([{"content": "IN_PROGRESS"}])
        aggregator.has_function_calls_in_progress = True
        assert "IN_PROGRESS" in (await history_of(aggregator))["context"]

    def test_deadline(self) -> None:
        assert handlers_context.FUNCTION_CALL_DEADLINE == 3.0

    async def test_live_context_is_not_changed(self) -> None:
        messages = [{"audio": {"data": "QUJD"}}]
        await history_of(FakeAggregator(messages))
        assert messages == [{"audio": {"data": "QUJD"}}]


class TestConfigureOutput:
    @pytest.fixture(autouse=True)
    def frames(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # The real module takes 0.3 s to import, and its warning would be an error here.
        frame = SimpleNamespace(
            LLMConfigureOutputFrame=lambda skip_tts: SimpleNamespace(
                skip_tts=skip_tts, interruptible=True
            )
        )
        monkeypatch.setitem(sys.modules, "pipecat.frames.frames", frame)

    def ask(self, worker: FakeWorker, arguments: Any, *, known: bool = True) -> Any:
        task_ref = handlers.TaskRef(task=worker if known else None)
        _, handler = handlers.create_configure_output_action(task_ref)
        return handler(FakeRtvi(None if known else worker), arguments)

    @pytest.mark.parametrize("known", [True, False], ids=["task-ref", "processor"])
    @pytest.mark.parametrize("audio", [True, False])
    async def test_is_set_from_the_top_of_the_pipeline(self, audio: bool, known: bool) -> None:
        worker = FakeWorker([])
        assert await self.ask(worker, {"audio": audio}, known=known) is True
        frame, then = worker.log
        assert then == "flush"
        # an interruption on its way would drop it
        assert (frame.skip_tts, frame.interruptible) == (not audio, False)

    @pytest.mark.parametrize("arguments", [{}, {"audio": "no"}, {"audio": 0}])
    async def test_argument_must_be_a_bool(self, arguments: Any) -> None:
        with pytest.raises(handlers.ControlMessageError, match="`audio` must be true or false"):
            await self.ask(FakeWorker([]), arguments)

    async def test_stuck_pipeline(self) -> None:
        with pytest.raises(handlers.ControlMessageError, match=r"took no frame within 2\.0 s"):
            await self.ask(FakeWorker([], drains=False), {"audio": True})
