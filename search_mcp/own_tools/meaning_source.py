"""The process that makes vectors for one client, by its configuration; clients with the same choice share a process.

Decides which process that is, and when it is ended. Loaded with the first search, and only if a model or an address is
configured.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable, MutableMapping
from functools import partial
from typing import TYPE_CHECKING, Any

from search_mcp.backends.dependencies import Dependencies
from search_mcp.config.schema import EmbeddingsAddress
from search_mcp.folders import model_folder, vectors_file
from search_mcp.model.calls import CallLater
from search_mcp.semantic import choice
from search_mcp.semantic.lines import Address, Local
from search_mcp.semantic.meanings import Give, Meanings

if TYPE_CHECKING:
    from search_mcp.config.schema import Config

log = logging.getLogger(__name__)

Shared = MutableMapping[Hashable, Meanings]
StartSoon = Callable[[Callable[[], Coroutine[Any, Any, None]]], bool]
"""Starts a task; false if there is no task group to run it."""


class MeaningSource:
    """The meanings of queries for one client."""

    def __init__(self, shared: Shared, later: CallLater, dependencies: Dependencies, start_soon: StartSoon) -> None:
        self._shared, self._later, self._dependencies, self._start_soon = shared, later, dependencies, start_soon
        self._key: Hashable = None
        self._meanings: Meanings | None = None
        self._address: EmbeddingsAddress | None = None
        self._filled: tuple[EmbeddingsAddress, Address] | None = None  # the address with sources, and without
        self._reason = self._reported = ""

    @property
    def problem(self) -> str:
        """The reason why queries have no meaning now; empty if there is none, or none is known."""
        return self._reason or (self._meanings.problem if self._meanings is not None else "")

    def of(self, config: "Config") -> Meanings | None:
        """Return the meanings for a configuration; `None` if texts are ranked by words alone, for a logged reason."""
        chosen = choice.choose(choice.setting_of(config), model_folder())
        self._reason = chosen.reason
        self._report(chosen.reason)
        if chosen.opening is None:
            self.end()
            return None
        address = config.embeddings
        if address == self._address:
            address = self._address
        self._address = address
        # A key from a source of secrets may be another one for each client. Its process keeps both objects.
        own = (id(self), id(address)) if address is not None and address.unfilled is not None else None
        key = chosen.key, own
        if key != self._key or self._meanings is None:
            self.end()
            self._use(key, chosen.opening, address)
        return self._meanings

    def end(self) -> None:
        """Use no process any more; it ends unless another client uses it."""
        if self._meanings is not None:
            self._meanings.users -= 1
            if not self._meanings.users:
                self._meanings.end()
                del self._shared[self._key]
        self._meanings = self._key = None

    def _use(self, key: Hashable, opening: Local | Address, address: EmbeddingsAddress | None) -> None:
        meanings = self._shared.get(key)
        if meanings is None:
            loop = asyncio.get_running_loop()
            open_ = partial(self._open, opening, address)
            command = choice.command(vectors_file())
            meanings = self._shared[key] = Meanings(command, open_, self._later, loop.call_soon_threadsafe)
        meanings.users += 1
        self._meanings, self._key = meanings, key

    def _open(self, opening: Local | Address, address: EmbeddingsAddress | None, give: Give) -> None:
        if address is None or address.unfilled is None:
            give(opening)
        elif self._filled is not None and self._filled[0] is address:
            give(self._filled[1])
        elif not self._start_soon(partial(self._fill_and_give, address, give)):
            give(None)

    async def _fill_and_give(self, address: EmbeddingsAddress, give: Give) -> None:
        await self.fill(address)
        give(self._filled[1] if self._filled is not None and self._filled[0] is address else None)

    async def fill(self, address: EmbeddingsAddress) -> None:
        """Read the sources of secrets of an address."""
        from search_mcp.backends import secret_sources

        try:
            filled = await secret_sources.filled_address(address, self._dependencies)
        except secret_sources.SourceError as exc:
            self._note(str(exc))
            return
        self._dependencies.conceal(filled.secrets)
        self._note(filled.problem or "")
        if not filled.problem:
            self._filled = address, choice.line_of(filled)

    def _note(self, problem: str) -> None:
        if self._meanings is not None:
            self._meanings.problem = problem
        self._report(problem)

    def _report(self, reason: str) -> None:
        if reason and reason != self._reported:
            log.warning("! search by meaning: %s; tools are ranked by words", reason)
        self._reported = reason or self._reported
