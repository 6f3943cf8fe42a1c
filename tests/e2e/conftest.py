"""The helpers of the integration tests serve here too."""

from tests.integration.conftest import bytecode, results, run

__all__ = ["bytecode", "results", "run"]
