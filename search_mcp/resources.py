"""Which server a resource URI belongs to.

Decides from what the servers listed and what they mentioned, in this order: the exact URI of a list or of
the app that shows a tool, a URI seen in a result, a template that matches, the only server with the scheme.
Pure.
"""

import re

from search_mcp.catalog import Catalog, app_uris
from search_mcp.jsonrpc import Fields, Raw, object_or_empty, value
from search_mcp.model import Kind, Newest

SEEN_URIS = 10_000
"""How many URIs of results, and how many templates, are remembered; the oldest go first."""

LONGEST_URI = 4096
"""Characters; a longer URI is matched with no template."""

_EXPRESSION = r"\{([+#./;?&]?)[^{}/+#?&;]*\}"
_DELIMITER = re.compile(r"[/?#]")
_MENTION = re.compile(rb'"resource(?:_link)?"')
_APP_MENTION = re.compile(rb'resourceUri"')


class ResourceMap:
    """The owners of URIs over one catalogue."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._seen: Newest[str, str] = Newest(SEEN_URIS)
        self._templates: Newest[str, UriTemplate] = Newest(SEEN_URIS)

    def owner(self, uri: str) -> str | None:
        """Find the server to ask for a URI, or for completions of a template."""
        known = self._catalog.owner(uri) or self._seen.get(uri)
        if known is not None:
            return known
        for template, (server, _) in self._catalog.by_uri(Kind.TEMPLATES).items():
            if self._template(template).matches(uri):
                return server
        return self._only_server_with_scheme(uri)

    def note(self, server: str, result: Raw | Fields) -> None:
        """Remember the URIs that a server's tool result links to or embeds."""
        content = result.get("content") if isinstance(result, dict) else result
        if content is None or not _MENTION.search(content):
            return
        if not isinstance(result, dict):
            content = object_or_empty(result).get("content", content)  # not what stands beside it
        blocks = value(content)
        for block in blocks if isinstance(blocks, list) else ():
            match block:
                case {"type": "resource_link", "uri": str(uri)} | {"type": "resource", "resource": {"uri": str(uri)}}:
                    self._see(uri, server)

    def note_app(self, server: str, result: Raw | Fields) -> None:
        """Remember the URI of the app that shows a server's tool result, where that says so itself."""
        if not isinstance(result, dict):
            result = object_or_empty(result) if _APP_MENTION.search(result) else {}
        for uri in app_uris(result):
            self._see(uri, server)

    def _see(self, uri: str, server: str) -> None:
        if len(uri) <= LONGEST_URI:
            self._seen[uri] = server

    def known(self) -> list[str]:
        """Every URI and template that is listed, for suggestions."""
        return [*self._catalog.by_uri(Kind.RESOURCES), *self._catalog.by_uri(Kind.TEMPLATES)]

    def _template(self, text: str) -> "UriTemplate":
        if text not in self._templates:
            self._templates[text] = UriTemplate(text)
        return self._templates[text]

    def _only_server_with_scheme(self, uri: str) -> str | None:
        scheme = uri.partition(":")[0]
        owners = set(self._catalog.owners_of_scheme(scheme))
        if scheme == "ui":  # "The resource prefix `ui://` will be reserved for MCP Apps", which need not be listed
            owners |= set(self._catalog.tools().servers_with_apps)
        return owners.pop() if len(owners) == 1 else None


class UriTemplate:
    """What the expansions of a URI template (RFC 6570) look like, roughly: enough to route by.

    Matching takes time in proportion to the URI and the template, whatever a backend wrote into it.
    """

    def __init__(self, template: str) -> None:
        pieces = re.split(_EXPRESSION, template)  # literal, operator, literal, operator, ...
        self._literals, self._operators = pieces[::2], pieces[1::2]

    def matches(self, uri: str) -> bool:
        """Whether this URI may be an expansion of the template."""
        if len(uri) > LONGEST_URI or not uri.startswith(self._literals[0]):
            return False
        ends = {len(self._literals[0])}  # where the part matched so far may end
        for operator, literal in zip(self._operators, self._literals[1:], strict=True):
            ends = {end + len(literal) for end in _stretched(uri, ends, operator) if uri.startswith(literal, end)}
        return len(uri) in ends


def _stretched(uri: str, starts: set[int], operator: str) -> set[int]:
    """Where an expression may end that starts at one of these places: anywhere, or before a delimiter."""
    ends: set[int] = set()
    reached = -1  # every place up to here is in, or was left out for good
    for start in sorted(starts):
        if start <= reached:
            continue
        delimiter = None if operator else _DELIMITER.search(uri, start)
        reached = delimiter.start() if delimiter else len(uri)
        ends.update(range(start, reached + 1))
    return ends
