"""The server that owns a resource URI, from the lists and results of all servers.

The owner is the first of these servers:

1. the server whose tool shows the URI as its app
2. the server that lists a skill with the URI in its directory
3. the server that lists the URI
4. the server that returned an unlisted skill with the URI in its directory
5. the server with a matching template that has a literal scheme; the longest literal beginning wins
6. the server that first mentioned the URI in a result
7. the only server with URIs of this scheme
8. the server with a matching template without a literal scheme

Pure.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import app_uris, has_literal_scheme, literal_beginning
from search_mcp.catalog.list_limits import LONGEST_URI
from search_mcp.catalog.skill_uris import directory_of, is_within
from search_mcp.model.calls import BoundedDict
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry
from search_mcp.wire.payload import members, string, typed
from search_mcp.wire.structs import UNSET, Fields, Raw, Struct, UnsetType, field

SEEN_URIS = 4_000
"""Most URIs in one server's results that are remembered, at most 32 MiB, and most unlisted skills; the oldest are
dropped."""

MOST_EXPRESSIONS = 8
"""Most expressions of a template that are matched; real templates have at most four."""

MOST_FOLLOWED = 500
"""Most templates of one server that are matched in full with one URI, at about 20 µs each."""

MOST_COMPARED = 2_000_000
"""Most pairs of a URI and a template that are compared for `check`, in about a second."""
_STEPS_OF_MATCH = 50
"""A match in full takes as long as so many comparisons of beginning and end."""

MOST_BLOCKS = 50_000
"""Most blocks of a result, and objects in them; a larger result is not searched for URIs."""

_EXPRESSION = r"\{([+#./;?&]?)[^{}/+#?&;]*\}"
_DELIMITER = re.compile(r"[/?#]")
_NO_DELIMITER = re.compile(r"[^/?#]")
_MENTION = re.compile(rb'"resource(?:_link)?"')
_APP_MENTION = re.compile(rb'resourceUri"')


class ResourceMap:
    """The owners of URIs for one catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._seen: dict[str, BoundedDict[str, int]] = {}  # by server: URIs, with the order of discovery
        self._mentions = 0
        self._unlisted: BoundedDict[str, str] = BoundedDict(SEEN_URIS)  # by directory of a skill: its server
        self.contested: dict[str, tuple[str, str]] = {}
        """By server: the first URI in its results that another server had mentioned before, and that server."""
        self._listed: Mapping[str, tuple[str, Entry]] = {}  # the templates that the two below are made of
        self._templates: Sequence[tuple[UriTemplate, str]] = ()
        self._vague_templates: Sequence[tuple[UriTemplate, str]] = ()

    def owner(self, uri: str) -> str | None:
        """Return the server for a URI, or for completions of a template."""
        # "the scheme and host are case-insensitive and therefore should be normalized to lowercase" (RFC 3986)
        scheme, colon, rest = uri.partition(":")
        spellings = dict.fromkeys((f"{scheme.lower()}{colon}{rest}", uri))
        owners = (find(spelling) for find in self._in_order() for spelling in spellings)
        return next(filter(None, owners), None)

    def _in_order(self) -> Sequence[Callable[[str], str | None]]:
        self._sort_templates(self._catalog.by_uri(Kind.TEMPLATES))
        return (
            self._catalog.owner,
            self._of_unlisted_skill,
            lambda uri: _covering(uri, self._templates),
            self._first_to_mention,
            self._only_server_with_scheme,
            lambda uri: _covering(uri, self._vague_templates),
        )

    def _sort_templates(self, listed: Mapping[str, tuple[str, Entry]]) -> None:
        """Sort templates by the length of their literal beginnings, then by the order of the file."""
        if self._listed is not listed:
            self._listed = listed
            texts = sorted(listed, key=lambda text: -len(literal_beginning(text)))
            self._templates = [(UriTemplate(text), listed[text][0]) for text in texts if has_literal_scheme(text)]
            vague = (text for text in listed if not has_literal_scheme(text))
            self._vague_templates = [(UriTemplate(text), listed[text][0]) for text in vague]

    def _first_to_mention(self, uri: str) -> str | None:
        """Return the server whose results mentioned a URI first."""
        first = {seen[uri]: server for server, seen in self._seen.items() if uri in seen and self._catalog.has(server)}
        return first[min(first)] if first else None

    def note_skill(self, server: str, uri: str) -> bool:
        """Record that a server returned an unlisted skill; its files are read there from now on.

        Returns whether the server owns the skill's directory. If not, the skill must not be given to a client.
        """
        directory = directory_of(uri)
        if directory is None or not self._catalog.has(server):
            return False
        owner = self._catalog.owner(uri) or self._of_unlisted_skill(uri)
        if owner is not None or self._catalog.skills().rival(server, directory) is not None:
            return owner == server
        self._unlisted[directory] = server
        return True

    def _of_unlisted_skill(self, uri: str) -> str | None:
        of_directories = self._unlisted.items()
        found = (server for directory, server in of_directories if is_within(uri, directory))
        return next(filter(self._catalog.has, found), None)

    def note(self, server: str, result: Raw | Fields) -> bool:
        """Record the URIs that a server's tool result links to or embeds; return whether `contested` names it now.

        A URI that another server mentioned before keeps that owner, and is recorded in `contested`.
        """
        content = result.get("content") if isinstance(result, dict) else result
        if content is None or not _MENTION.search(content):  # as in most results
            return False
        content = _searched(result, "content")
        return content is not None and self._see_all(filter(None, map(_uri_of, _blocks(content))), server)

    def note_prompt(self, server: str, result: Raw | Fields) -> bool:
        """Record the URIs that the messages of a server's prompt link to or embed; otherwise as `note`."""
        messages = _searched(result, "messages")
        return messages is not None and self._see_all(filter(None, map(_uri_of, _blocks_of(messages))), server)

    def note_task(self, server: str, result: Raw | Fields) -> bool:
        """Record the URIs in a task's result, which is all of `result` or its member `result`; otherwise as `note`."""
        of_task = _searched(result, "result")
        return self.note(server, result if of_task is None else of_task)

    def note_app(self, server: str, result: Raw | Fields) -> bool:
        """Record the URI of the app that shows a server's tool result, if the result names it; otherwise as `note`."""
        if not isinstance(result, dict):
            result = members(result, "_meta") if _APP_MENTION.search(result) else {}
        return self._see_all(app_uris(result), server)

    def _see_all(self, uris: Iterable[str], server: str) -> bool:
        was_contested = server in self.contested
        for uri in uris:
            self._see(uri, server)
        return server in self.contested and not was_contested

    def _see(self, uri: str, server: str) -> None:
        if len(uri) > LONGEST_URI:
            return
        seen = self._seen.setdefault(server, BoundedDict(SEEN_URIS))
        if uri not in seen and server not in self.contested and (first := self._first_to_mention(uri)) is not None:
            self.contested[server] = uri, first
        self._mentions += 1
        seen[uri] = seen.get(uri, self._mentions)

    def known(self) -> list[str]:
        """Return all listed URIs and templates, for suggestions."""
        kinds = (Kind.RESOURCES, Kind.TEMPLATES, Kind.SKILLS)
        return list(dict.fromkeys(uri for kind in kinds for uri in self._catalog.by_uri(kind)))

    def _only_server_with_scheme(self, uri: str) -> str | None:
        scheme = uri.partition(":")[0]
        owners = set(self._catalog.owners_of_scheme(scheme))
        if scheme == "ui":  # "The resource prefix `ui://` will be reserved for MCP Apps", which need not be listed
            owners |= set(self._catalog.tools().servers_with_apps)
        return owners.pop() if len(owners) == 1 else None


def _covering(uri: str, templates: "Iterable[tuple[UriTemplate, str]]") -> str | None:
    """Return the server of the first matching template; a limited number is matched for each server."""
    followed: Counter[str] = Counter()
    for template, server in templates:
        if template.begins_and_ends_like(uri):
            followed[server] += 1
            if followed[server] <= MOST_FOLLOWED and template.matches(uri):
                return server
    return None


def taken(catalog: Catalog) -> Iterator[tuple[str, str]]:
    """Yield servers that own what a template of another server covers, each with a sentence about it.

    They list a URI, or have a template with a longer literal beginning.
    """
    templates = [(UriTemplate(text), text, owner) for text, (owner, _) in catalog.by_uri(Kind.TEMPLATES).items()]
    covering = [each for each in templates if has_literal_scheme(each[1])]
    found: dict[tuple[str, str, str], list[str]] = {}
    steps = 0
    for kind in (Kind.RESOURCES, Kind.TEMPLATES):
        for uri, (server, _) in catalog.by_uri(kind).items():
            example = re.sub(_EXPRESSION, "x", uri)
            steps += len(covering)
            for template, text, owner in covering if steps <= MOST_COMPARED else ():
                if owner == server or not template.begins_and_ends_like(example):
                    continue
                steps += _STEPS_OF_MATCH
                is_first = kind is Kind.RESOURCES or len(literal_beginning(uri)) > len(literal_beginning(text))
                if is_first and catalog.owner(uri) == server and template.matches(example):
                    found.setdefault((server, owner, text), []).append(uri)
    for (server, owner, text), uris in found.items():
        more = f" and {len(uris) - 1:,} more of its URIs are" if len(uris) > 1 else " is"
        yield server, f"{uris[0]}{more} read here, not at {owner!r}, whose template {text} fits, too"


class _Block(Struct, gc=False):
    """The members of a result's block that may name a resource; others are not decoded."""

    type: Raw | UnsetType = UNSET
    uri: Raw | UnsetType = UNSET
    resource: Raw | UnsetType = UNSET


class _Message(Struct, gc=False):
    """The member of a prompt's message that may name a resource."""

    content: _Block = field(default_factory=_Block)


def _searched(result: Raw | Fields, name: str) -> Raw | None:
    """Return a member of a result if it may mention a resource; `None` if it does not, or is too large to search."""
    if not isinstance(result, dict):
        result = members(result, name) if _MENTION.search(result) else {}
    member = result.get(name)
    if member is None or not _MENTION.search(member):
        return None
    # A brace before an escaped quote is part of a string, such as embedded JSON.
    text = bytes(member)
    return member if text.count(b"{") - text.count(b'{\\"') <= MOST_BLOCKS else None


def _blocks(content: Raw) -> list[_Block]:
    """Decode the content of a tool's result; empty if it is malformed."""
    try:
        return typed(content, list[_Block])
    except ValueError:
        return []


def _blocks_of(messages: Raw) -> list[_Block]:
    """Decode the content of a prompt's messages; empty if they are malformed."""
    try:
        return [message.content for message in typed(messages, list[_Message])]
    except ValueError:
        return []


def _uri_of(block: _Block) -> str | None:
    """Return the URI of the resource that a block links to or embeds."""
    kind = bytes(block.type) if block.type is not UNSET else b""
    uri: Raw | None = None
    if kind == b'"resource_link"' and block.uri is not UNSET:
        uri = block.uri
    elif kind == b'"resource"' and block.resource is not UNSET:
        uri = members(block.resource, "uri").get("uri")
    return string(uri)


class UriTemplate:
    """Matches URIs with a URI template (RFC 6570), approximately, for routing.

    Matching takes at most a few dozen microseconds for any template; one with too many expressions is matched by its
    beginning and end only.
    """

    def __init__(self, template: str) -> None:
        self._beginning = template[: template.find("{")] if "{" in template else template
        self._end = template[template.rfind("}") + 1 :]
        self._template = template

    def begins_and_ends_like(self, uri: str) -> bool:
        """Return whether a URI has the literal beginning and end of the template, and is not too long."""
        return len(uri) <= LONGEST_URI and uri.startswith(self._beginning) and uri.endswith(self._end)

    def matches(self, uri: str) -> bool:
        """Return whether a URI may be an expansion of the template."""
        if not self.begins_and_ends_like(uri):
            return False
        if self._template.count("{") > MOST_EXPRESSIONS:
            return len(uri) >= len(self._beginning) + len(self._end)
        pieces = re.split(_EXPRESSION, self._template)  # literal, operator, literal, operator, ...
        return _places(uri).match(pieces[::2], pieces[1::2])


class _Places:
    """The positions in one URI as bits of a number, so that one operation handles all of them."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._all = (1 << len(uri) + 1) - 1
        self._within = int(
            _DELIMITER.sub("0", _NO_DELIMITER.sub("1", uri))[::-1] or "0", 2
        )  # no delimiter at this position
        self._of_literal: dict[str, int] = {"": self._all}

    def match(self, literals: Sequence[str], operators: Sequence[str]) -> bool:
        """Return whether the URI consists of these literals, with an expression between each two."""
        if not self._uri.startswith(literals[0]):
            return False
        ends = 1 << len(literals[0])  # positions where the matched part may end
        for operator, literal in zip(operators, literals[1:], strict=True):
            ends = (self._stretched(ends, operator) & self._begins(literal)) << len(literal)
            if not ends:
                return False
        return bool(ends >> len(self._uri) & 1)

    def _stretched(self, starts: int, operator: str) -> int:
        """Return where an expression that starts at one of these positions may end: anywhere, or before a delimiter."""
        if operator:
            return self._all & -(starts & -starts)
        # The sum carries each start to the end of its run of characters that are not delimiters.
        return starts | ((starts & self._within) + self._within ^ self._within)

    def _begins(self, literal: str) -> int:
        """Return the positions of a text in the URI."""
        if literal not in self._of_literal:
            places, at = 0, self._uri.find(literal)
            while at >= 0:
                places |= 1 << at
                at = self._uri.find(literal, at + 1)
            self._of_literal[literal] = places
        return self._of_literal[literal]


_places = lru_cache(maxsize=4)(_Places)  # a URI is matched with many templates
