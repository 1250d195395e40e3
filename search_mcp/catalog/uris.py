"""Which server a resource URI belongs to.

Decides from what the servers listed and what they mentioned, in this order: the exact URI of the app that shows
a tool, or of a list; the matching template with the longest literal beginning; a URI seen in a result; the
only server with the scheme; a matching template that leaves even the scheme open. Pure.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import app_uris, has_literal_scheme, literal_beginning
from search_mcp.model.calls import BoundedDict
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry
from search_mcp.wire.payload import members, string, typed
from search_mcp.wire.structs import UNSET, Fields, Raw, Struct, UnsetType

SEEN_URIS = 4_000
"""How many URIs of one server's results are remembered: 16 MiB of the longest; the oldest go first."""

COMPILED_TEMPLATES = 10_000
"""How many templates are kept in the form that is matched; the oldest go first."""

LONGEST_URI = 4096
"""Characters; a longer URI is matched with no template."""

MOST_EXPRESSIONS = 8
"""Expressions of a template that are followed; templates of real servers have four at most."""

MOST_FOLLOWED = 500
"""Templates of one server that are followed for one URI, beyond their beginnings and ends: some 20 µs each."""

MOST_BLOCKS = 50_000
"""Blocks of a result, and objects in them, that are searched for URIs; a larger result is not searched."""

_EXPRESSION = r"\{([+#./;?&]?)[^{}/+#?&;]*\}"
_DELIMITER = re.compile(r"[/?#]")
_NO_DELIMITER = re.compile(r"[^/?#]")
_MENTION = re.compile(rb'"resource(?:_link)?"')
_APP_MENTION = re.compile(rb'resourceUri"')


class ResourceMap:
    """The owners of URIs over one catalogue."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._seen: dict[str, BoundedDict[str, int]] = {}  # by server: URIs, with when they were first seen
        self._mentions = 0
        self.contested: dict[str, tuple[str, str]] = {}
        """By server: the first URI that it mentioned after another server did, and that server."""
        self._templates: BoundedDict[str, UriTemplate] = BoundedDict(COMPILED_TEMPLATES)
        self._ordered: tuple[Mapping[str, tuple[str, Entry]], Sequence[str]] = {}, ()

    def owner(self, uri: str) -> str | None:
        """Find the server to ask for a URI, or for completions of a template."""
        # "the scheme and host are case-insensitive and therefore should be normalized to lowercase" (RFC 3986)
        scheme, colon, rest = uri.partition(":")
        spellings = dict.fromkeys((f"{scheme.lower()}{colon}{rest}", uri))
        owners = (find(spelling) for find in self._in_order() for spelling in spellings)
        return next(filter(None, owners), None)

    def _in_order(self) -> Sequence[Callable[[str], str | None]]:
        templates = self._catalog.by_uri(Kind.TEMPLATES)
        return (
            self._catalog.owner,
            lambda uri: self._covering(uri, filter(has_literal_scheme, self._longest_first(templates))),
            self._first_to_mention,
            self._only_server_with_scheme,
            lambda uri: self._covering(uri, (text for text in templates if not has_literal_scheme(text))),
        )

    def _longest_first(self, templates: Mapping[str, tuple[str, Entry]]) -> Sequence[str]:
        """Order templates by the length of their literal beginnings; of equal ones the first in the file goes first."""
        if self._ordered[0] is not templates:
            self._ordered = templates, sorted(templates, key=lambda text: -len(literal_beginning(text)))
        return self._ordered[1]

    def _covering(self, uri: str, templates: Iterable[str]) -> str | None:
        """Give the server of the first template that matches; of one server, only so many are followed."""
        servers = self._catalog.by_uri(Kind.TEMPLATES)
        followed: Counter[str] = Counter()
        for text in templates:
            template, server = self._template(text), servers[text][0]
            if template.begins_and_ends_like(uri):
                followed[server] += 1
                if followed[server] <= MOST_FOLLOWED and template.matches(uri):
                    return server
        return None

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
            content = members(result, "content").get("content", content)  # not what stands beside it
        # A brace before an escaped quote stands in a text, such as JSON that is embedded.
        text = bytes(content)
        if text.count(b"{") - text.count(b'{\\"') > MOST_BLOCKS:
            return
        for uri in _mentioned(content):
            self._see(uri, server)

    def note_app(self, server: str, result: Raw | Fields) -> None:
        """Remember the URI of the app that shows a server's tool result, where that says so itself."""
        if not isinstance(result, dict):
            result = members(result, "_meta") if _APP_MENTION.search(result) else {}
        for uri in app_uris(result):
            self._see(uri, server)

    def _see(self, uri: str, server: str) -> None:
        if len(uri) > LONGEST_URI:
            return
        seen = self._seen.setdefault(server, BoundedDict(SEEN_URIS))
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


class _Block(Struct, gc=False):
    """A block of a result, as far as it may name a resource; everything else is skipped."""

    type: Raw | UnsetType = UNSET
    uri: Raw | UnsetType = UNSET
    resource: Raw | UnsetType = UNSET


def _mentioned(content: Raw) -> Iterator[str]:
    """Give the URIs of the resources that a result's blocks link to or embed."""
    try:
        blocks = typed(content, list[_Block])
    except ValueError:
        return
    for block in blocks:
        kind = bytes(block.type) if block.type is not UNSET else b""
        uri: Raw | None = None
        if kind == b'"resource_link"' and block.uri is not UNSET:
            uri = block.uri
        elif kind == b'"resource"' and block.resource is not UNSET:
            uri = members(block.resource, "uri").get("uri")
        text = string(uri)
        if text is not None:
            yield text


class UriTemplate:
    """What the expansions of a URI template (RFC 6570) look like, roughly: enough to route by.

    Matching takes a few dozen microseconds at most, whatever a backend wrote into the template: one with more
    expressions than are followed matches by its beginning and its end alone.
    """

    def __init__(self, template: str) -> None:
        self._beginning = template[: template.find("{")] if "{" in template else template
        self._end = template[template.rfind("}") + 1 :]
        self._template = template

    def begins_and_ends_like(self, uri: str) -> bool:
        """Whether this URI has the literal texts at both ends of the template, and is not too long to be matched."""
        return len(uri) <= LONGEST_URI and uri.startswith(self._beginning) and uri.endswith(self._end)

    def matches(self, uri: str) -> bool:
        """Whether this URI may be an expansion of the template."""
        if not self.begins_and_ends_like(uri):
            return False
        if self._template.count("{") > MOST_EXPRESSIONS:
            return len(uri) >= len(self._beginning) + len(self._end)
        pieces = re.split(_EXPRESSION, self._template)  # literal, operator, literal, operator, ...
        return _places(uri).match(pieces[::2], pieces[1::2])


class _Places:
    """The places in one URI as bits of a number, so that all of them are looked at in one operation."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._all = (1 << len(uri) + 1) - 1
        self._within = int(
            _DELIMITER.sub("0", _NO_DELIMITER.sub("1", uri))[::-1] or "0", 2
        )  # no delimiter stands there
        self._of_literal: dict[str, int] = {"": self._all}

    def match(self, literals: Sequence[str], operators: Sequence[str]) -> bool:
        """Whether the URI is these literals, with an expression between each two."""
        if not self._uri.startswith(literals[0]):
            return False
        ends = 1 << len(literals[0])  # where the part matched so far may end
        for operator, literal in zip(operators, literals[1:], strict=True):
            ends = (self._stretched(ends, operator) & self._begins(literal)) << len(literal)
            if not ends:
                return False
        return bool(ends >> len(self._uri) & 1)

    def _stretched(self, starts: int, operator: str) -> int:
        """Where an expression may end that starts at one of these places: anywhere, or before a delimiter."""
        if operator:
            return self._all & -(starts & -starts)
        # The sum carries each start to the end of its run of characters that are no delimiters.
        return starts | ((starts & self._within) + self._within ^ self._within)

    def _begins(self, literal: str) -> int:
        """Where this text stands in the URI."""
        if literal not in self._of_literal:
            places, at = 0, self._uri.find(literal)
            while at >= 0:
                places |= 1 << at
                at = self._uri.find(literal, at + 1)
            self._of_literal[literal] = places
        return self._of_literal[literal]


_places = lru_cache(maxsize=4)(_Places)  # one URI is matched with many templates
