"""What every test starts from: properties that repeat themselves in CI, and one event loop."""

import os

import pytest
from hypothesis import settings

settings.register_profile("here", deadline=None)
settings.register_profile("ci", parent=settings.get_profile("here"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
