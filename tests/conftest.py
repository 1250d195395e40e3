"""What every test starts from: properties that repeat themselves, folders of its own, one event loop.

`--hypothesis-profile=explore` tries other examples each time.
"""

import os
import sys
from collections.abc import Iterator

import pytest
from fork_server import ForkServer
from hypothesis import settings

settings.register_profile("explore", deadline=None, print_blob=True)
settings.register_profile("repeat", parent=settings.get_profile("explore"), derandomize=True)
settings.load_profile("repeat")


@pytest.fixture(scope="session", autouse=True)
def folders_of_our_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Neither read nor write the catalogue cache and the logs of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        yield


@pytest.fixture(scope="session")
def fork_server(folders_of_our_own: None) -> Iterator[ForkServer | None]:
    """A process that runs commands of search-mcp without starting an interpreter, where there can be one."""
    if sys.platform != "linux":
        yield None
        return
    server = ForkServer({**os.environ, "PYTHONUTF8": "1"})
    yield server
    server.close()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
