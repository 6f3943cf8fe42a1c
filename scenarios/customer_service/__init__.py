"""Customer service of an internet shop and provider, by phone; scored by the recorded actions."""

from . import scenarios, tools

__all__ = ["scenarios", "tools"]
