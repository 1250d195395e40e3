"""Notes of `check` and `servers` below the table, one line each; they report no faults."""

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from search_mcp.catalog.items import is_allowed
from search_mcp.cli.checks.versions import unpinned
from search_mcp.cli.counting import MOST_NAMED, counted, enumerated
from search_mcp.cli.problem import command
from search_mcp.cli.session import Session
from search_mcp.config.addresses import is_loopback
from search_mcp.config.schema import EmbeddingsAddress, ServerConfig
from search_mcp.model.names import Kind, State


def of_session(session: Session, names: Sequence[str] = ()) -> Sequence[str]:
    """Return the notes on the enabled servers, and on the whole file unless only servers of these names are enabled."""
    failed = {each.server for each in session.statuses() if each.state is State.FAILED}
    started = [each for each in session.config.servers if each.enabled and each.name not in failed]
    of_all = () if names else of_search(session.config.embeddings)
    return [*of_hidden(session), *of_versions(started), *of_all]


def of_hidden(session: Session) -> Sequence[str]:
    """Return the notes on what the user hides of the enabled servers."""
    servers, catalog = [each for each in session.config.servers if each.enabled], session.catalog
    left_out = {each.name: len(catalog.hidden_by_read_only(each.name)) for each in servers if each.read_only}
    listed = ((each, tool.key) for each in servers for tool, _ in catalog.entries(each.name, Kind.TOOLS))
    off = [(each.name, tool) for each, tool in listed if not is_allowed(each, tool)]
    return [*of_read_only(left_out), *of_tools(off), *of_switched_off(servers)]


def of_tools(off: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Name the tools that `tools` hides, given with their servers, or count those of a server with many."""
    tools = {server: [tool for owner, tool in off if owner == server] for server, _ in off}
    if said := [f"{each} ({enumerated(of) if len(of) <= MOST_NAMED else len(of)})" for each, of in tools.items()]:
        yield f"Tools switched off: {enumerated(said)}."


def of_read_only(left_out: Mapping[str, int]) -> Iterator[str]:
    """List the servers with `readOnly`, with the number of tools that are left out."""
    if left_out:
        said = [f"{name} ({counted(count, 'tool')} left out)" if count else name for name, count in left_out.items()]
        yield f'Read-only ("readOnly"): {enumerated(said)}.'


def of_switched_off(servers: Sequence[ServerConfig]) -> Iterator[str]:
    """Name the servers whose prompts or resources the user hides."""
    for kind in (Kind.PROMPTS, Kind.RESOURCES):
        if hiding := [each.name for each in servers if kind in each.switched_off]:
            yield f'{kind.value.capitalize()} hidden by "{kind.value}": false: {enumerated(hiding)}.'


def of_versions(servers: Sequence[ServerConfig]) -> Iterator[str]:
    """List the servers whose package has no exact version, with an example of an exact one."""
    found = {server.name: pinned for server in servers if (pinned := unpinned(server)) is not None}
    if found:
        example = min(found.values(), key=len)
        named = enumerated([*found])
        yield f"Without an exact version: {named}; each start may run newer code. Add a version, for example: {example}"


def of_search(address: EmbeddingsAddress | None) -> Iterator[str]:
    """Name the other computer to which the search sends texts."""
    if address is None or address.problem is not None:
        return
    parts = urlsplit(address.public_url)
    host = parts.hostname or ""
    if not is_loopback(host):
        how = "over https" if parts.scheme.lower() == "https" else "unencrypted"
        yield (
            f"Search by meaning sends the names and descriptions of your tools and skills, and every query, to {host} "
            f"({how})."
        )


def of_failures(servers: Sequence[ServerConfig]) -> str:
    """Say where more is to be seen of servers that failed."""
    check, page = command(servers, "check", "NAME"), command(servers, "ui")
    return f"The whole errors: `{check}`, or on a page: `{page}`."
