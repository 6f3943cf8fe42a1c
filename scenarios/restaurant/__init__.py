"""Orders and the waiting list of three restaurants, by phone; scored by what the agent hands in."""

from . import scenarios, tools

__all__ = ["scenarios", "tools"]
