"""What a tool answers: refusals, crashes and empty results, in the shapes a model can read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

NO_RECORDS = "No matching records found."
NO_DATA = "Completed with no data returned."


class ToolError(Exception):
    """A refusal a tool answers with: raise it in `_execute` instead of building the answer.

    Args:
        error_type: The machine-readable kind, such as `not_found`.
        message: One sentence for the model: what was wrong and what was expected.
    """

    def __init__(self, error_type: str, message: str) -> None:
        super().__init__(message)
        self.error_type = error_type
        self.message = message

    def answer(self) -> dict[str, Any]:
        """The error answer the model receives."""
        return error_answer(self.error_type, self.message)


def error_answer(error_type: str, message: str) -> dict[str, Any]:
    """`{"status": "error", "error_type", "message"}`."""
    return {"status": "error", "error_type": error_type, "message": message}


def crash_answer(error: BaseException) -> dict[str, Any]:
    """The answer for an exception nobody foresaw: `execution_error`, `"<Type>: <text>"`.

    The type is named even when the exception carries no text.
    """
    text = _text_of(error)
    kind = type(error).__name__
    return error_answer("execution_error", f"{kind}: {text}" if text else kind)


def is_error(answer: Any) -> bool:
    """Whether an answer is an error answer, by its `status`."""
    return isinstance(answer, Mapping) and answer.get("status") == "error"


def normalize_answer(answer: Any) -> Any:
    """Give an empty answer words, because Pipecat hands the model `COMPLETED` for a falsy one.

    Returns:
        A truthy answer unchanged. `[]` and `{}` become a success without records, anything
        else falsy (`None`, `""`, `0`, `False`) a success without data.
    """
    if answer:
        return answer
    if isinstance(answer, list):
        return {"status": "success", "results": [], "count": 0, "message": NO_RECORDS}
    if isinstance(answer, dict):
        return {"status": "success", "results": {}, "message": NO_RECORDS}
    return {"status": "success", "result": answer, "message": NO_DATA}


def require_json(answer: Any) -> Any:
    """Return `answer`, or raise `TypeError` saying why it cannot be sent as JSON."""
    try:
        json.dumps(answer, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"the answer of the tool is not JSON: {error}"
        raise TypeError(message) from error
    return answer


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a broken __str__ must not break the answer
        return "(its text cannot be printed)"
