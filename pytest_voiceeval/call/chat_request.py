"""What a request to a model holds, and what is left out for endpoints that refuse it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.caller_stats import Handled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_voiceeval.call.caller_model import CallerModel
    from pytest_voiceeval.call.chat_faults import ChatError

    Json = dict[str, Any]

REFUSALS = frozenset({400, 404, 422, 501})
"""Statuses with which endpoints refuse a part of a request. OpenRouter uses 404 for tools."""

NEW_LIMIT_NAME = "max_completion_tokens"
"""What OpenAI's newer models take in place of ``max_tokens``."""

_TOOLS = re.compile(r"\btools?\b|tool[-_ ](choice|use|call)|function[-_ ]?call", re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """What an endpoint takes, as far as is known.

    Attributes:
        tools: Whether it takes tools.
        limit_name: Its name for the most tokens of an answer.
        without: Parameters it refused.
    """

    tools: bool = True
    limit_name: str = "max_tokens"
    without: frozenset[str] = frozenset()

    def request(self, model: CallerModel, messages: Sequence[Json], tools: Sequence[Json]) -> Json:
        """The body of a request."""
        wanted: Json = {
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": model.temperature,
            "top_p": model.top_p,
            "seed": model.seed,
            self.limit_name: model.max_tokens,
        }
        if "stream" in self.without:
            wanted.pop("stream_options")
        body: Json = {"model": model.model, "messages": list(messages)}
        body |= {
            key: value
            for key, value in wanted.items()
            if value is not None and key not in self.without
        }
        if tools and self.tools:
            body["tools"] = list(tools)
        return body

    def adapted(self, body: Json, fault: ChatError) -> tuple[Dialect, Handled, str] | None:
        """What to do without after a refusal; None if the fault names nothing that was sent.

        Args:
            body: The request that was refused.
            fault: The refusal.

        Returns:
            The dialect to go on with, how to count that, and the parameter.
        """
        if fault.status not in REFUSALS:
            return None
        words = fault.words
        if (
            self.limit_name in body
            and NEW_LIMIT_NAME in words
            and self.limit_name != NEW_LIMIT_NAME
        ):
            changed = replace(self, limit_name=NEW_LIMIT_NAME)
            return changed, Handled.PARAMETER_REFUSED, self.limit_name
        # the longer name first, for one holds the other
        for name in ("stream_options", "stream", "temperature", "top_p", "seed", self.limit_name):
            if name in body and re.search(rf"\b{name}\b", words):
                changed = replace(self, without=self.without | {name})
                return changed, Handled.PARAMETER_REFUSED, name
        if "tools" in body and _TOOLS.search(words):
            return replace(self, tools=False), Handled.TOOLS_REFUSED, ""
        return None
