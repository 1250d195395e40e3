"""Remarks for a person on the definitions of all servers: what is wrong with them, and what has changed.

Definitions that were repaired, renamed or left out, and URIs that belong to another server. Pure.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import has_literal_scheme, is_app
from search_mcp.model.errors import ask_user
from search_mcp.model.names import Kind
from search_mcp.model.sentences import enumerated

ALREADY_SEEN = "Models see the new text already"
"""The meaning of a difference without `pinTools`: accepting it only ends the report."""


def problems(catalog: Catalog) -> Iterator[tuple[str, str]]:
    """Yield a remark for each definition that was repaired, renamed or left out, with its server."""
    for (server, kind), page in catalog.pages.items():
        if page is None:
            yield server, f"its list of {kind.value} could not be read"
            continue
        yield from ((server, reason) for reason in page.rejected)
        for entry, remarks in catalog.entries(server, kind):
            yield from ((server, f"{kind.value}: {entry.key}: {remark}") for remark in remarks)
    for server in catalog.servers:
        yield from ((server, sentence) for sentence, _ in catalog.unmatched(server))
    for kind in (Kind.TOOLS, Kind.PROMPTS):
        yield from catalog.named(kind).collisions
    for server, uri, rival in catalog.skills().left_out if catalog.lists_skills() else ():
        yield server, f"skills: {uri}: left out: its folder contains URIs of server {rival!r}"
    for (server, uri), what in _claims(catalog).items():
        if (owner := catalog.owner(uri)) != server:
            yield server, f"{what} is also a URI of {owner!r}, which owns it"
    for server in catalog.servers:
        for entry, _ in catalog.entries(server, Kind.TEMPLATES):
            if not has_literal_scheme(entry.key):
                reason = "it has no literal scheme; it is used only for URIs that no other server has"
                yield server, f"templates: {entry.key}: {reason}"


def _claims(catalog: Catalog) -> Mapping[tuple[str, str], str]:
    """Return all URIs that each server claims, with the first place of the claim."""
    claims = {
        (server, entry.key): f"{kind.value}: {entry.key}"
        for kind in (Kind.RESOURCES, Kind.TEMPLATES)
        for server in catalog.servers
        for entry, _ in catalog.entries(server, kind)
    }
    for item in catalog.tools():
        for uri in filter(is_app, item.app_uris):
            claims.setdefault((item.server, uri), f"tools: {item.key}: its app {uri}")
    return claims


def changes(catalog: Catalog, changed_about: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield a sentence for each server with changes since it was first seen, or that cannot be compared.

    The title or the instructions of the servers in `changed_about` changed.
    """
    for server in catalog.servers:
        yield from ((server, change) for change in _changes(catalog, server, server in changed_about))


def _changes(catalog: Catalog, server: str, is_about_changed: bool) -> Iterator[str]:
    compared = {kind: catalog.pages.get((server, kind)) for kind in (Kind.TOOLS, Kind.PROMPTS)}
    pages = {kind: page for kind, page in compared.items() if page is not None}
    is_withheld = "; nothing of it is shown until then" if catalog.is_pinned(server) else ""
    yield from sorted({page.trouble + is_withheld for page in pages.values() if page.trouble})
    changed = [_named(kind, page.changed) for kind, page in pages.items() if page.changed]
    new = [_named(kind, page.new) for kind, page in pages.items() if page.new]
    count = sum(len(page.changed) + len(page.new) for page in pages.values())
    if is_about_changed:
        changed.append("title or instructions")
        count += 2
    if changed or new:
        them, verb = ("it", "It is") if count == 1 else ("them", "They are")
        until = f"{verb} withheld until you accept {them}" if catalog.is_pinned(server) else ALREADY_SEEN
        yield f"{_differing(changed, new)}. {until}: {catalog.servers[server].review(them)}"


def changes_for_model(catalog: Catalog, server: str, changed: Sequence[str], new: Sequence[str]) -> str:
    """Write what is changed and new, whether it is withheld, and what the user can do."""
    if not changed and not catalog.is_pinned(server):  # a server may list a tool only to clients with roots
        return _differing(changed, new)
    withheld = ["Withheld until the user accepts it"] if catalog.is_pinned(server) else []
    return ". ".join([_differing(changed, new), *withheld, ask_user(catalog.servers[server].check("--accept"))])


def _differing(changed: Sequence[str], new: Sequence[str]) -> str:
    """Write what is changed and what is new."""
    said = [f"changed: {', '.join(changed)}"] if changed else []
    said += [f"{'New' if said else 'new'}: {', '.join(new)}"] if new else []
    return ". ".join(said)


def _named(kind: Kind, names: Collection[str]) -> str:
    return f"{kind.value if len(names) > 1 else kind.value.removesuffix('s')} {enumerated(sorted(names))}"
