"""`StandardSchemaTool`: names, schema, the Pipecat entry and `invoke`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_voiceeval.tools import StandardSchemaTool, ToolError, ToolSchema


class EchoTool(StandardSchemaTool):
    """Answers what it is told to, or raises it."""

    description = "Echo."

    def __init__(self, answer: Any = None, **kw: Any) -> None:
        super().__init__(**kw)
        self.answer = answer
        self.after: list[Any] = []

    def _execute(self, **arguments: Any) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer if self.answer is not None else arguments

    async def _after_result(self, params: Any) -> None:
        self.after.append(params)
        params.log.append(("after", None))


class SlowEchoTool(EchoTool):
    """The same, async as tools written for the reference are."""

    async def _execute(self, **arguments: Any) -> Any:
        await asyncio.sleep(0.001)
        return super()._execute(**arguments)


@pytest.fixture(params=[EchoTool, SlowEchoTool], ids=["sync", "async"])
def echo(request: Any) -> Any:
    return request.param


CRASH = {"status": "error", "error_type": "execution_error", "message": "ValueError: no"}


class TestNames:
    def test_derived_from_the_class(self) -> None:
        assert EchoTool().name == "echo"

    def test_class_attribute(self) -> None:
        assert type("X", (EchoTool,), {"name": "shout"})().name == "shout"

    def test_argument_wins(self) -> None:
        cls = type("X", (EchoTool,), {"name": "shout"})
        assert cls(name="whisper", description="Softly.").name == "whisper"

    def test_property(self) -> None:
        cls = type("X", (EchoTool,), {"name": property(lambda self: "computed")})
        assert cls().name == "computed"

    @pytest.mark.parametrize(
        ("kwargs", "attribute"), [({"name": ""}, "name"), ({"description": ""}, "description")]
    )
    def test_empty_is_refused(self, kwargs: Any, attribute: Any) -> None:
        with pytest.raises(ValueError, match=f"EchoTool: {attribute} must be a text"):
            EchoTool(**kwargs)

    def test_a_description_is_needed(self) -> None:
        class MuteTool(StandardSchemaTool):
            def _execute(self) -> None: ...

        with pytest.raises(ValueError, match="MuteTool: description must be a text"):
            MuteTool()

    def test_execute_is_needed(self) -> None:
        cls = type("X", (StandardSchemaTool,), {"description": "d"})
        with pytest.raises(TypeError, match="_execute"):
            cls()


class TestSchema:
    def test_without_parameters(self) -> None:
        assert EchoTool().schema == ToolSchema("echo", "Echo.", {}, ())

    def test_as_openai_shows_it(self) -> None:
        class SayTool(EchoTool):
            properties = {"text": {"type": "string", "description": "What."}}  # noqa: RUF012
            required_properties = ["text"]  # noqa: RUF012

        assert SayTool().schema.to_openai() == {
            "type": "function",
            "function": {
                "name": "say",
                "description": "Echo.",
                "parameters": {
                    "type": "object",
                    "properties": {"text": {"type": "string", "description": "What."}},
                    "required": ["text"],
                },
            },
        }


class TestCall:
    async def test_delivers_once_then_the_after_hook(self, echo: Any, make_call: Any) -> None:
        call = make_call({"a": 1})
        await echo()(call)
        assert call.log == [("result", {"a": 1}), ("after", None)]

    @pytest.mark.parametrize("arguments", [None, {}], ids=repr)
    async def test_no_arguments(self, echo: Any, make_call: Any, arguments: Any) -> None:
        call = make_call(arguments)
        await echo({"ok": 1})(call)
        assert call.results == [{"ok": 1}]

    async def test_an_empty_answer_gets_words(self, echo: Any, make_call: Any) -> None:
        call = make_call()
        await echo([])(call)
        assert call.results[0]["message"] == "No matching records found."
        assert call.log[-1] == ("after", None)

    async def test_a_crash_is_delivered_once_without_the_hook(
        self, echo: Any, make_call: Any
    ) -> None:
        call = make_call()
        await echo(ValueError("no"))(call)
        assert call.log == [("result", CRASH)]

    async def test_a_refusal_is_an_answer_without_the_hook(self, echo: Any, make_call: Any) -> None:
        call = make_call()
        await echo(ToolError("not_found", "nothing there"))(call)
        assert call.log == [
            (
                "result",
                {"status": "error", "error_type": "not_found", "message": "nothing there"},
            )
        ]

    async def test_an_error_answer_gets_no_hook(self, echo: Any, make_call: Any) -> None:
        call = make_call()
        await echo({"status": "error", "error_type": "x", "message": "y"})(call)
        assert [kind for kind, _ in call.log] == ["result"]

    @pytest.mark.parametrize(
        ("arguments", "kind"), [("text", "str"), ([1], "list"), (7, "int")], ids=repr
    )
    async def test_arguments_that_are_no_object(
        self, echo: Any, make_call: Any, arguments: Any, kind: Any
    ) -> None:
        call = make_call(arguments)
        await echo()(call)
        message = f"arguments must be an object, got {kind}"
        expected = {"status": "error", "error_type": "invalid_parameter", "message": message}
        assert call.log == [("result", expected)]

    async def test_an_answer_that_is_no_json(self, echo: Any, make_call: Any) -> None:
        call = make_call()
        await echo({"x": object()})(call)
        (answer,) = call.results
        assert answer["error_type"] == "execution_error"
        assert answer["message"].startswith("TypeError: the answer of the tool is not JSON")

    async def test_keys_that_are_no_text_are_an_error_answer(
        self, echo: Any, make_call: Any
    ) -> None:
        call = make_call({1: 2})
        await echo()(call)
        assert call.results[0]["message"] == "TypeError: keywords must be strings"

    async def test_a_failing_delivery_is_not_repeated(self, echo: Any) -> None:
        deliveries = []

        class Broken:
            arguments = None

            async def result_callback(self, result: Any) -> None:
                deliveries.append(result)
                raise ConnectionError("gone")

        with pytest.raises(ConnectionError, match="gone"):
            await echo({"ok": 1})(Broken())
        assert deliveries == [{"ok": 1}]

    async def test_a_failing_hook_is_logged(
        self, make_call: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        class HookTool(EchoTool):
            async def _after_result(self, params: Any) -> None:
                raise RuntimeError("hook")

        call = make_call()
        await HookTool({"ok": 1})(call)
        assert call.results == [{"ok": 1}]
        assert "hook: the step after its result failed" in caplog.text

    async def test_a_cancelled_call_stays_cancelled(self, make_call: Any) -> None:
        call = make_call()
        with pytest.raises(asyncio.CancelledError):
            await EchoTool(asyncio.CancelledError())(call)
        assert call.log == []


class TestInvoke:
    def test_answers(self, echo: Any) -> None:
        assert echo().invoke(a=1) == {"a": 1}

    def test_does_not_normalise_and_does_not_call_the_hook(self, echo: Any) -> None:
        tool = echo([])
        assert tool.invoke() == []
        assert tool.after == []

    @pytest.mark.parametrize(
        ("error", "answer"),
        [
            (ValueError("no"), CRASH),
            (
                ToolError("not_found", "gone"),
                {"status": "error", "error_type": "not_found", "message": "gone"},
            ),
        ],
        ids=["crash", "refusal"],
    )
    def test_never_raises(self, echo: Any, error: Any, answer: Any) -> None:
        assert echo(error).invoke() == answer

    def test_an_answer_that_is_no_json(self, echo: Any) -> None:
        answer = echo({"x": {1}}).invoke()
        assert answer["message"].startswith("TypeError: the answer of the tool is not JSON")

    async def test_inside_a_running_loop(self, echo: Any) -> None:
        assert echo().invoke(a=1) == {"a": 1}

    def test_wrong_arguments_are_an_error_answer(self) -> Any:
        class StrictTool(StandardSchemaTool):
            description = "Strict."

            def _execute(self, text: str) -> Any:
                return {"text": text}

        answer = StrictTool().invoke(txt="hi")
        assert answer["error_type"] == "execution_error"
        assert "unexpected keyword argument 'txt'" in answer["message"]

    def test_an_argument_may_be_called_self(self) -> Any:
        class OpenTool(EchoTool):
            def _execute(self, /, **arguments: Any) -> Any:
                return arguments

        assert OpenTool().invoke(self=1) == {"self": 1}

    def test_a_crash_is_logged_with_its_traceback(self, caplog: pytest.LogCaptureFixture) -> None:
        EchoTool(ValueError("no")).invoke()
        assert "echo crashed" in caplog.text
        assert "Traceback" in caplog.text
