"""The configuration entry of one server, held once for all parts of its supervisor."""

from collections.abc import Awaitable, Callable

from search_mcp.backends.channel import CannotOpenChannelError
from search_mcp.backends.dependencies import Dependencies
from search_mcp.config.schema import ServerConfig
from search_mcp.wire.structs import replace

MOST_LEARNT = 4
"""Starts whose secrets are hidden in messages; a source may give another value at each start."""


class ServerEntry:
    """The entry after its last edit. Its secrets include the values of its sources at the last starts."""

    def __init__(self, config: ServerConfig, dependencies: Dependencies) -> None:
        self.config = config
        self.filled: ServerConfig | None = None
        """The entry with the values of its sources of secrets, since its last start; `None` if it has none."""
        self._dependencies = dependencies
        self._written_secrets = config.secrets
        self._learnt: list[frozenset[str]] = []  # with those of the sources, at the last starts

    def adopt(self, config: ServerConfig) -> bool:
        """Use an edited entry; return whether it differs."""
        before, self._written_secrets = self.config, config.secrets
        self.config = replace(config, secrets=config.secrets.union(*self._learnt)) if self._learnt else config
        return self.config != before

    async def fill(self) -> ServerConfig:
        """Return the entry with the values of its sources of secrets, and hide them in messages from now on.

        Raises:
            CannotOpenChannelError: a source cannot be read, or its value does not fit its place.
        """
        if self.config.unfilled is None:
            return self.config
        fill = await self._dependencies.run_blocking(_load_filled)
        filled = await fill(replace(self.config, secrets=self._written_secrets), self._dependencies)
        self._conceal(filled.secrets)
        if filled.problem is not None:
            raise CannotOpenChannelError(filled.problem)
        self.filled = replace(filled, secrets=self.config.secrets)
        return self.filled

    def _conceal(self, secrets: frozenset[str]) -> None:
        """Hide values of sources of secrets in messages and in the log; those of earlier starts may be quoted, too."""
        self._dependencies.conceal(secrets - self._written_secrets)
        self._learnt = [*(each for each in self._learnt if each != secrets), secrets][-MOST_LEARNT:]
        self.config = replace(self.config, secrets=self._written_secrets.union(*self._learnt))


def _load_filled() -> Callable[[ServerConfig, Dependencies], Awaitable[ServerConfig]]:
    from search_mcp.backends.secret_sources import filled

    return filled
