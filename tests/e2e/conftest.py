"""The helpers of the integration tests serve here too."""

from tests.integration.conftest import results, run

__all__ = ["results", "run"]
