"""Which server a resource URI belongs to.

Decides from what the servers listed and what they mentioned in their results, in the order of DESIGN:
the exact URI of a list, a URI seen in a result, a template that matches, the only server with the
scheme. Pure.
"""

import re
from collections import OrderedDict
from collections.abc import Mapping

from search_mcp.catalog import Catalog
from search_mcp.jsonrpc import Fields, Raw, value
from search_mcp.model import Entry, Kind

SEEN_URIS = 10_000
"""How many URIs of results are remembered; the oldest go first."""

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_MENTION = re.compile(rb'"type"\s*:\s*"resource(?:_link)?"')
_RESERVED_OPERATORS = "+#/?&;."


class ResourceMap:
    """The owners of URIs over one catalogue."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._seen: OrderedDict[str, str] = OrderedDict()
        self._patterns: dict[str, re.Pattern[str]] = {}

    def owner(self, uri: str) -> str | None:
        """Find the server to ask for a URI, or for completions of a template."""
        listed = self._catalog.by_uri(Kind.RESOURCES).get(uri) or self._catalog.by_uri(Kind.TEMPLATES).get(uri)
        if listed is not None:
            return listed[0]
        if uri in self._seen:
            return self._seen[uri]
        for template, (server, _) in self._catalog.by_uri(Kind.TEMPLATES).items():
            if self._pattern(template).fullmatch(uri):
                return server
        return self._only_server_with_scheme(uri)

    def note(self, server: str, result: Raw | Fields) -> None:
        """Remember the URIs that a server's tool result links to or embeds."""
        content = result.get("content") if isinstance(result, dict) else result
        if content is None or not _MENTION.search(memoryview(content)):
            return
        decoded = value(content)
        blocks = decoded.get("content") if isinstance(decoded, dict) else decoded
        for block in blocks if isinstance(blocks, list) else ():
            mentioned = block.get("resource", block) if isinstance(block, dict) else {}
            uri = mentioned.get("uri") if isinstance(mentioned, dict) else None
            if isinstance(uri, str):
                self._seen[uri] = server
                self._seen.move_to_end(uri)
        while len(self._seen) > SEEN_URIS:
            self._seen.popitem(last=False)

    def known(self) -> list[str]:
        """Every URI and template that is listed, for suggestions."""
        return [*self._catalog.by_uri(Kind.RESOURCES), *self._catalog.by_uri(Kind.TEMPLATES)]

    def _pattern(self, template: str) -> re.Pattern[str]:
        if template not in self._patterns:
            self._patterns[template] = template_pattern(template)
        return self._patterns[template]

    def _only_server_with_scheme(self, uri: str) -> str | None:
        scheme = uri.partition(":")[0]
        lists: list[Mapping[str, tuple[str, Entry]]] = [
            self._catalog.by_uri(Kind.RESOURCES),
            self._catalog.by_uri(Kind.TEMPLATES),
        ]
        owners = {server for known in lists for key, (server, _) in known.items() if key.partition(":")[0] == scheme}
        return owners.pop() if len(owners) == 1 else None


def template_pattern(template: str) -> re.Pattern[str]:
    """Turn a URI template (RFC 6570) into what its expansions look like, roughly: enough to route by."""
    pieces: list[str] = []
    done = 0
    for expression in _EXPRESSION.finditer(template):
        pieces.append(re.escape(template[done : expression.start()]))
        reserved = expression[1][:1] in _RESERVED_OPERATORS and expression[1] != ""
        pieces.append(".*" if reserved else "[^/?#]*")
        done = expression.end()
    pieces.append(re.escape(template[done:]))
    return re.compile("".join(pieces), re.DOTALL)
