"""Trials of servers that the page adds: started for the person who looks, listed, and stopped again.

A trial writes what it read to the cache, as every start does, so that clients need not wait for it.
"""

from dataclasses import dataclass

from search_mcp.cli.command_cache import FreshLists
from search_mcp.cli.files.addition import Addition
from search_mcp.cli.session import Session, patient_gateway
from search_mcp.config import location
from search_mcp.config.parsing import FaultyFile
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.folders import cache_folder
from search_mcp.model.names import Kind
from search_mcp.model.reasons import STDERR_TAIL_MARK
from search_mcp.model.servers import Status
from search_mcp.model.standing import Standing, standing_of
from search_mcp.page.facts import Facts
from search_mcp.wire import payload
from search_mcp.wire.structs import replace


@dataclass(frozen=True)
class Trial:
    """What came of the start of a server."""

    standing: Standing
    stderr: str
    """The end of what it wrote to stderr before it failed."""
    tools: tuple[tuple[str, str], ...]
    """The server's own name of each tool, and its description."""


def with_new(facts: Facts, addition: Addition) -> Config:
    """Return the configuration with the servers of an addition only, enabled.

    Raises:
        ConfigError: it would not be valid.
    """
    try:
        config = location.interpret(addition.changed.data, facts.config_path, facts.first["variables"])
    except FaultyFile as exc:
        config = exc.rest
    new = (replace(each, enabled=True) for each in config.servers if each.name in addition.names)
    return replace(config, servers=tuple(new))


async def tried(facts: Facts, config: Config) -> list[Trial]:
    """Start the servers of a configuration, list their tools, and stop them."""
    host = facts.host
    host.log_to.apply(config)
    cache = FreshLists(cache_folder())
    dependencies = replace(host.dependencies_for(config, facts.first), cache=cache)
    folder = str(facts.config_path.parent)
    gateway = patient_gateway(config, dependencies, host.pool, startup=cache.startup, shared_folder=folder)
    session = Session(config, gateway, cache, {}, runs=True)
    async with gateway.running():
        session.start()
        try:
            await session.settle(Kind)
            statuses = zip(config.servers, session.statuses(), strict=True)
            return [_trial(session, server, status) for server, status in statuses]
        finally:
            gateway.reconfigure(replace(config, servers=()))  # so that a shared server ends at once, too


def _trial(session: Session, server: ServerConfig, status: Status) -> Trial:
    redact, tools = server.redactor, session.catalog.entries(server.name, Kind.TOOLS)
    texts = [(each.key, payload.string(each.fields.get("description")) or "") for each, _ in tools]
    return Trial(
        standing_of(status),
        redact((status.reason or "").partition(STDERR_TAIL_MARK)[2]),
        tuple((redact(name), redact(description)) for name, description in texts),
    )
