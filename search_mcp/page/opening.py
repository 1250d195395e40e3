"""The page of an engine process, which is loaded when it is first asked for."""

from typing import TYPE_CHECKING

from search_mcp.background import run_in_thread
from search_mcp.engine.hello import Json

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from search_mcp.engine.host import Host
    from search_mcp.page.page import Page


class OpenPage:
    """Opens the page of this process, once, and lets browsers in."""

    def __init__(self) -> None:
        self._page: Page | None = None

    async def __call__(self, host: "Host", first: Json, tasks: "TaskGroup") -> Json:
        """Let one more browser in; return the address for it.

        Raises:
            ConfigError: the configuration cannot be read.
            OSError: the page cannot listen.
        """
        await run_in_thread(_load)  # its libraries take a while, and clients are served meanwhile
        from search_mcp.page.page import Page

        if self._page is None:
            self._page = Page(host, first, tasks)
        return await self._page.invite()


def _load() -> None:
    import search_mcp.page.page  # noqa: F401
