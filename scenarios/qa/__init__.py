"""Questions with one right answer, by phone; scored by the LLM judge."""

from . import scenarios, tools

__all__ = ["scenarios", "tools"]
