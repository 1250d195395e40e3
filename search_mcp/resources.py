"""Which server a resource URI belongs to.

Decides from what the servers listed and what they mentioned, in this order: the exact URI of a list or of
the app that shows a tool; the matching template with the longest literal beginning; a URI seen in a result; the
only server with the scheme; a matching template that leaves even the scheme open. Pure.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from search_mcp.catalog import Catalog, app_uris, has_literal_scheme, literal_beginning
from search_mcp.jsonrpc import Fields, Raw, object_or_empty, value
from search_mcp.model import Entry, Kind, Newest

SEEN_URIS = 4_000
"""How many URIs of one server's results are remembered: 16 MiB of the longest; the oldest go first."""

COMPILED_TEMPLATES = 10_000
"""How many templates are kept in the form that is matched; the oldest go first."""

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
        self._seen: dict[str, Newest[str, int]] = {}  # by server: URIs, with when they were first seen
        self._mentions = 0
        self.contested: dict[str, tuple[str, str]] = {}
        """By server: the first URI that it mentioned after another server did, and that server."""
        self._templates: Newest[str, UriTemplate] = Newest(COMPILED_TEMPLATES)
        self._ordered: tuple[Mapping[str, tuple[str, Entry]], Sequence[str]] = {}, ()

    def owner(self, uri: str) -> str | None:
        """Find the server to ask for a URI, or for completions of a template."""
        templates = self._catalog.by_uri(Kind.TEMPLATES)
        return (
            self._catalog.owner(uri)
            or self._covering(uri, filter(has_literal_scheme, self._longest_first(templates)))
            or self._first_to_mention(uri)
            or self._only_server_with_scheme(uri)
            or self._covering(uri, (text for text in templates if not has_literal_scheme(text)))
        )

    def _longest_first(self, templates: Mapping[str, tuple[str, Entry]]) -> Sequence[str]:
        """Order templates by the length of their literal beginnings; of equal ones the first in the file goes first."""
        if self._ordered[0] is not templates:
            self._ordered = templates, sorted(templates, key=lambda text: -len(literal_beginning(text)))
        return self._ordered[1]

    def _covering(self, uri: str, templates: Iterable[str]) -> str | None:
        """Give the server of the first template that matches."""
        matching = next((text for text in templates if self._template(text).matches(uri)), None)
        return None if matching is None else self._catalog.by_uri(Kind.TEMPLATES)[matching][0]

    def _first_to_mention(self, uri: str) -> str | None:
        """Give the server whose results mentioned a URI first: no later mention takes it."""
        first = {seen[uri]: server for server, seen in self._seen.items() if uri in seen and self._catalog.has(server)}
        return first[min(first)] if first else None

    def note(self, server: str, result: Raw | Fields) -> None:
        """Remember the URIs that a server's tool result links to or embeds.

        One that another server mentioned before stays that server's, and is kept in `contested`.
        """
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
        if len(uri) > LONGEST_URI:
            return
        seen = self._seen.setdefault(server, Newest(SEEN_URIS))
        if uri not in seen and server not in self.contested and (first := self._first_to_mention(uri)) is not None:
            self.contested[server] = uri, first
        self._mentions += 1
        seen[uri] = seen.get(uri, self._mentions)

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
