"""Servers, their lists and the catalogue of them, for the tests of the catalogue."""

from collections.abc import Mapping
from typing import Any

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.named_items import NamedItems
from search_mcp.config.schema import ServerConfig
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry, ServerList
from search_mcp.wire import payload

OBJECT = {"type": "object"}
CLOCK, CHART = "ui://clock/view.html", "ui://chart/view.html"


def server(name: str, **settings: Any) -> ServerConfig:
    return ServerConfig(name=name, command="x", **settings)


def entry(key: str, **members: object) -> Entry:
    return Entry(key, {name: payload.encode(member) for name, member in members.items()})


def tool(name: str, **members: object) -> Entry:
    return entry(name, **{"name": name, "inputSchema": OBJECT, **members})


def shown_by(name: str, uri: str) -> Entry:
    return tool(name, _meta={"ui": {"resourceUri": uri}})


def tools(*names: str) -> ServerList:
    return ServerList(tuple(tool(name) for name in names))


def catalog(*lists: tuple[ServerConfig, ServerList | None], kind: Kind = Kind.TOOLS) -> Catalog:
    merged = Catalog([config for config, _ in lists])
    for config, page in lists:
        merged.put(config.name, kind, page)
    return merged


def listed(given_: Mapping[str, list[str]], **settings: Any) -> NamedItems:
    """Return the tools of servers that list these names."""
    return catalog(*((server(name, **settings), tools(*names)) for name, names in given_.items())).tools()


def merge(servers: dict[str, tuple[str | None, list[str]]]) -> Catalog:
    return catalog(*((server(name, prefix=prefix), tools(*keys)) for name, (prefix, keys) in servers.items()))


def names(items: NamedItems) -> list[str]:
    return [item.name for item in items]
