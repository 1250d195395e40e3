"""`check --accept`: the user takes changed tools for what they should be."""

from collections.abc import Sequence

from search_mcp.cli.problem import Misuse, Problem, did_you_mean
from search_mcp.cli.terminal import Terminal
from search_mcp.config import Config, ServerConfig
from search_mcp.suggest import nearest
from search_mcp.trust import TrustStore


def accept(names: Sequence[str], config: Config, trust: TrustStore, screen: Terminal) -> None:
    """Accept all changed tools of a server, or one of them by its full name, as they were when last reported.

    Raises:
        Misuse: there is no such server, or nothing that changed has that name.
        Problem: it cannot be remembered.
    """
    chosen = [_chosen(name, config, trust) for name in names]
    for server, tools in chosen:
        try:
            trust.accept(server, tools)
        except OSError as exc:
            what = f"{server.name}: what is accepted cannot be remembered in {trust.folder} ({exc.strerror})"
            raise Problem(what, "check that you may write there") from exc
        what = f"accepted {', '.join(tools)}" if tools else "nothing was reported as changed"
        screen.note(f"{server.name}: {what}")


def _chosen(name: str, config: Config, trust: TrustStore) -> tuple[ServerConfig, list[str]]:
    changed = {server.name: sorted(trust.changed(server)) for server in config.servers}
    by_tool: dict[str, tuple[ServerConfig, list[str]]] = {}
    for server in config.servers:
        if server.name == name:
            return server, changed[name]
        by_tool |= {f"{server.name}.{tool}": (server, [tool]) for tool in changed[server.name]}
    if name not in by_tool:
        known = [*changed, *by_tool]
        otherwise = f"there are {', '.join(known)}" if known else "there are no servers"
        raise Misuse(f"{name!r} is no server, and no tool that changed", did_you_mean(nearest(name, known), otherwise))
    return by_tool[name]
