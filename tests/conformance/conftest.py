"""What the runs of the suite start from: the same as the tests of real peers."""

from real.conftest import aggregator, new_run, node

__all__ = ["aggregator", "new_run", "node"]
