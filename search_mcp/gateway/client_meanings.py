"""The meanings of one client's queries: what makes them is loaded with the first search that wants any."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from search_mcp.backends.dependencies import Dependencies
from search_mcp.config.schema import Config
from search_mcp.folders import model_folder
from search_mcp.pool.pool import Pool

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from search_mcp.own_tools.meaning_source import MeaningSource
    from search_mcp.semantic.meanings import Meanings


class ClientMeanings:
    """The meanings of queries as the configuration has it."""

    def __init__(self, config: Config, pool: Pool, dependencies: Dependencies) -> None:
        self._config, self._pool, self._dependencies = config, pool, dependencies
        self._source: MeaningSource | None = None
        self.tasks: TaskGroup | None = None
        """The tasks of the client, while it is served."""

    def configure(self, config: Config) -> None:
        """Apply an edited configuration."""
        self._config = config
        if self._source is not None:
            self._source.of(config)

    def current(self) -> "Meanings | None":
        """Return the meanings of queries now; `None` for a search by words alone."""
        if self._source is None:
            semantic = self._config.settings.search.semantic
            if semantic == "off" or (semantic is None and not (model_folder() / "model.json").is_file()):
                return None
            from search_mcp.own_tools.meaning_source import MeaningSource

            pool = self._pool
            self._source = MeaningSource(pool.in_common.meanings, pool.later, self._dependencies, self._start_soon)
        return self._source.of(self._config)

    def _start_soon(self, work: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        if self.tasks is None:
            return False
        self.tasks.start_soon(work)
        return True

    @property
    def problem(self) -> str:
        """The reason why queries have no meaning now; empty if there is none, or none is known."""
        return self._source.problem if self._source is not None else ""

    async def prepare(self) -> None:
        """Read the secrets of the address that makes vectors, for a command, which runs no tasks."""
        if self.current() is not None and self._source is not None:
            address = self._config.embeddings
            if address is not None and address.unfilled is not None:
                await self._source.fill(address)

    def end(self) -> None:
        """End the process that makes vectors, unless another client uses it."""
        if self._source is not None:
            self._source.end()
