"""Give a model the tools of a scenario, and an answer for tools that do not exist."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from loguru import logger

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

try:
    from pipecat.adapters.llm.schemas.function_schema import FunctionSchema
except ModuleNotFoundError:  # before Pipecat 1.14
    from pipecat.adapters.schemas.function_schema import FunctionSchema


def register_schema_tools_to_llm(  # noqa: PLR0917 - the reference's signature
    llm: Any,
    context: Any,
    tools: Sequence[Any],
    cancel_on_interruption: bool = True,
    keep_existing_tools: bool = True,
    register_unknown_tool_handler: bool = True,
) -> None:
    """Show tools to a model and route its calls to them.

    Args:
        llm: A Pipecat LLM service.
        context: The `LLMContext` the model is run on.
        tools: Objects with `schema` (name, description, properties, required) that are called
            with the parameters of one function call.
        cancel_on_interruption: Whether a call is dropped when the caller interrupts.
        keep_existing_tools: Whether the tools already in the context stay. When not, they are
            removed from the service too, so that a late call of one of them is answered as
            unknown instead of running against the next scenario's state. (The reference leaves
            them callable.)
        register_unknown_tool_handler: Whether calls of tools that do not exist get a structured
            answer that lists the ones that do.

    Raises:
        ValueError: Two of the tools have the same name.
    """
    schemas = [tool.schema for tool in tools]
    names = _distinct(schema.name for schema in schemas)
    kept = _advertised(context, without=names) if keep_existing_tools else []
    if not keep_existing_tools:
        _forget(llm, {tool.name for tool in _standard_tools(context)} - names)
    for tool, schema in zip(tools, schemas, strict=True):
        handler = _without_rerun(tool) if getattr(tool, "ends_call", False) else tool
        llm.register_function(schema.name, handler, cancel_on_interruption=cancel_on_interruption)
    context.set_tools([*kept, *(_function_schema(schema) for schema in schemas)])
    if register_unknown_tool_handler:
        llm.register_function(None, answer_unknown_tool)


def _without_rerun(tool: Any) -> Any:
    """Keep Pipecat from running the model again on the answer of a tool that ended the call.

    The goodbye has been said; another run would speak into a closed line.
    """

    async def run(params: Any) -> None:
        from pipecat.frames.frames import FunctionCallResultProperties  # pulls in all of audio

        async def deliver(answer: Any) -> None:
            refused = isinstance(answer, dict) and answer.get("status") == "error"
            await params.result_callback(
                answer, properties=FunctionCallResultProperties(run_llm=refused)
            )

        await tool(replace(params, result_callback=deliver))

    return run


async def answer_unknown_tool(params: Any) -> None:
    """Answer a call of a tool that does not exist, naming those that do.

    Args:
        params: Pipecat's parameters of the call (`function_name`, `context`, `result_callback`).
    """
    available = sorted(tool.name for tool in _standard_tools(params.context))
    logger.warning(f"the model called an unknown tool {params.function_name!r}; it has {available}")
    name = params.function_name
    await params.result_callback(
        {
            "status": "error",
            "error_type": "unknown_tool",
            "message": f"There is no tool named '{name}'. Use one of the available tools instead.",
            "available_tools": available,
        }
    )


def _distinct(names: Iterable[str]) -> set[str]:
    counts = Counter(names)
    twice = sorted(name for name, count in counts.items() if count > 1)
    if twice:
        raise ValueError(f"two tools share the function name {', '.join(map(repr, twice))}")
    return set(counts)


def _standard_tools(context: Any) -> list[Any]:
    # A context without tools holds Pipecat's "not given" marker, which has no such attribute.
    return list(getattr(context.tools, "standard_tools", None) or [])


def _advertised(context: Any, *, without: set[str]) -> list[Any]:
    """What the context shows already, direct functions as the functions they are."""
    direct = {wrapper.name: wrapper.function for wrapper in _direct_functions(context)}
    shown = [tool for tool in _standard_tools(context) if tool.name not in without]
    return [direct.get(tool.name, tool) for tool in shown]


def _direct_functions(context: Any) -> list[Any]:
    return list(getattr(context.tools, "direct_functions", None) or [])


def _forget(llm: Any, names: set[str]) -> None:
    for name in names:
        with suppress(KeyError):  # a direct function, or registered with an earlier service
            llm.unregister_function(name)


def _function_schema(schema: Any) -> FunctionSchema:
    """Pipecat's own schema type from anything with the four attributes."""
    return FunctionSchema(
        name=schema.name,
        description=schema.description,
        properties=dict(schema.properties),
        required=list(schema.required),
    )
