"""The lists of all servers, merged: names, order, filters, and withheld definitions.

`repair` makes definitions valid, `named_items` gives tools and prompts unique names, and `rendering` writes the lists
for a client. Pure.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from search_mcp.catalog.items import (
    OWN_NAMES,
    READ_RESULT,
    RESTART,
    Item,
    fold,
    is_allowed,
    is_app,
    literal_beginning,
    unmatched,
    with_result_size,
)
from search_mcp.catalog.list_limits import FEW_ENTRIES
from search_mcp.catalog.named_items import Admitted, NamedItems, NamedOnce, plain_item
from search_mcp.catalog.prefixes import Prefixes
from search_mcp.catalog.repair import declares_read_only, is_left_out, repaired
from search_mcp.config.schema import ServerConfig
from search_mcp.model.errors import HiddenByReadOnly, PromptWithheld, ToolWithheld
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry, Freshness, ServerList
from search_mcp.wire import payload
from search_mcp.wire.errors import WireError
from search_mcp.wire.structs import Fields, replace

if TYPE_CHECKING:
    from search_mcp.catalog.skills import Claim, Skills


class Catalog:
    """The known lists of all servers, in the order of the configuration."""

    def __init__(self, servers: Sequence[ServerConfig], named_once: NamedOnce | None = None) -> None:
        """`named_once` has the tools and prompts of other clients, which equal ones are taken from."""
        self._named_once = named_once or NamedOnce()
        self.servers: Mapping[str, ServerConfig] = {server.name: server for server in servers}
        self.prefixes = Prefixes(servers)
        self.pages: dict[tuple[str, Kind], ServerList | None] = {}
        """The lists that are known; `None` for one that could not be read."""
        self._switched_off: dict[tuple[str, Kind], ServerList | None] = {}  # as they were read
        self._repaired: dict[tuple[str, Kind], list[tuple[Entry, tuple[str, ...]]]] = {}
        self._named: dict[Kind, NamedItems] = {}
        self._merged: dict[Kind, dict[str, tuple[str, Entry]]] = {}
        self._skills: Skills | None = None
        self.version = 0
        """Increases with every change, so that values derived from the catalog can be cached."""

    def configure(
        self,
        servers: Sequence[ServerConfig],
        replaced: Collection[str],
        switched_off: Sequence[ServerConfig] = (),
    ) -> None:
        """Apply another configuration; lists of removed or replaced servers are dropped.

        Servers that are switched off, or that the client does not use, have no lists, but keep their prefixes.
        """
        self.servers = {server.name: server for server in servers}
        self.prefixes = Prefixes([*servers, *switched_off])
        read, self.pages, self._switched_off = {**self.pages, **self._switched_off}, {}, {}
        for (server, kind), page in read.items():
            if server in self.servers and server not in replaced:
                self.pages[server, kind] = self._without_switched_off(server, kind, page)
        self._repaired.clear()
        self._named.clear()
        self._merged.clear()
        self._skills = None
        self.version += 1

    @property
    def limits_results(self) -> bool:
        """Whether the user limits the length of any server's results."""
        return any(server.max_result_characters is not None for server in self.servers.values())

    @property
    def result_size(self) -> int | None:
        """The largest size of results, in characters, that is declared for a server's tools."""
        declared = (server.result_size for server in self.servers.values())
        return max((size for size in declared if size is not None), default=None)

    def put(self, server: str, kind: Kind, page: ServerList | None) -> None:
        """Store a server's list; `None` if it could not be read."""
        page = self._without_switched_off(server, kind, page)
        before = self.pages.get((server, kind))
        self.pages[server, kind] = page
        if page is not None and before is not None and self._looks_alike(server, before, page):
            return  # usually, it is as it was cached
        self._repaired.pop((server, kind), None)
        self._named.pop(kind, None)
        self._merged.pop(kind, None)
        if kind in _WITH_URIS:
            self._skills = None
            self._merged.pop(Kind.SKILLS, None)
        self.version += 1

    def _without_switched_off(self, server: str, kind: Kind, page: ServerList | None) -> ServerList | None:
        """Return a list that was read, or an empty one in place of a list that is switched off."""
        if not self.is_switched_off(server, kind):
            return page
        self._switched_off[server, kind] = page
        return _NOT_ASKED if page is None else ServerList((), page.freshness, read_at=page.read_at)

    def _looks_alike(self, server: str, before: ServerList, page: ServerList) -> bool:
        is_pinned = server in self.servers and self.servers[server].pin_tools
        is_pending = before.is_pending if is_pinned else page.is_pending
        return replace(before, freshness=page.freshness, read_at=page.read_at, is_pending=is_pending) == page

    def is_known(self, server: str, kind: Kind) -> bool:
        """Return whether a server's list was read, or could not be read."""
        return (server, kind) in self.pages

    def count(self, server: str) -> int | None:
        """Return the number of tools of a server that are shown; `None` if they are not known."""
        page, config, withheld = self.pages.get((server, Kind.TOOLS)), self.servers[server], self.withheld(server)
        if page is None:
            return None
        shown = [entry for entry in page.entries if entry.key not in withheld and is_allowed(config, entry.key)]
        return sum(declares_read_only(entry.fields) for entry in shown) if config.read_only else len(shown)

    def has_entries(self, kind: Kind) -> bool:
        """Return whether any server has an entry of this kind."""
        return any(of is kind and page is not None and page.entries for (_, of), page in self.pages.items())

    def is_switched_off(self, server: str, kind: Kind) -> bool:
        """Return whether the user hides a server's prompts, resources or templates; their list counts as empty then."""
        return server in self.servers and kind in self.servers[server].switched_off

    def is_admitted(self, server: str, tool: str) -> bool:
        """Return whether a tool passes its server's filters and is not withheld."""
        return is_allowed(self.servers[server], tool) and tool not in self.withheld(server)

    def unmatched(self, server: str) -> Iterator[tuple[str, bool]]:
        """Yield a sentence about each name in an entry that fits no tool of its server, and whether it should hide one.

        Nothing is yielded as long as its list is not known, or not wholly.
        """
        page = self.pages.get((server, Kind.TOOLS))
        if page is not None and not page.rejected:
            yield from unmatched(self.servers[server], {entry.key: None for entry in page.entries})

    def hidden_by_read_only(self, server: str) -> Collection[str]:
        """Return the tools of a server that are hidden by its `readOnly` only, by their own names."""
        config = self.servers.get(server)
        if config is None or not config.read_only:
            return ()
        others = [entry.key for entry, _ in self.entries(server, Kind.TOOLS) if not declares_read_only(entry.fields)]
        withheld = self.withheld(server)
        return [tool for tool in others if is_allowed(config, tool) and tool not in withheld]

    def is_hidden_by_read_only(self, server: str, name: str) -> bool:
        """Return whether a name, possibly folded, is that of a tool that is hidden by `readOnly` only."""
        hidden = self.hidden_by_read_only(server)
        return any(fold(name) in (fold(key), fold(self.servers[server].rename.get(key, key))) for key in hidden)

    @property
    def can_restart(self) -> bool:
        """Whether a server is under development, so that `restart_server` exists."""
        return any(server.watch for server in self.servers.values())

    def is_pinned(self, server: str) -> bool:
        """Return whether only definitions that were first seen or accepted may be shown and called."""
        return server in self.servers and self.servers[server].pin_tools

    def changed(self, server: str, kind: Kind = Kind.TOOLS) -> frozenset[str]:
        """Return the tools or prompts of a server that changed since they were first seen."""
        page = self.pages.get((server, kind))
        return page.changed if page is not None else frozenset()

    def new(self, server: str, kind: Kind = Kind.TOOLS) -> frozenset[str]:
        """Return the tools or prompts of a server that are new since it was first seen."""
        page = self.pages.get((server, kind))
        return page.new if page is not None else frozenset()

    def withheld(self, server: str, kind: Kind = Kind.TOOLS) -> frozenset[str]:
        """Return the tools or prompts of a server that are not shown until the user accepts them."""
        page = self.pages.get((server, kind))
        if page is None or not self.is_pinned(server):
            return frozenset()
        if page.trouble or page.is_pending:
            return frozenset(entry.key for entry in page.entries)
        return page.changed | page.new

    def why_withheld(self, server: str, kind: Kind, key: str, name: str) -> WireError:
        """Return the error for using a withheld tool or prompt by this name."""
        withheld = ToolWithheld if kind is Kind.TOOLS else PromptWithheld
        return withheld(name, server, self.servers[server].check("--accept"), is_new=key in self.new(server, kind))

    def why_hidden(self, name: str) -> WireError | None:
        """Return the error for a tool that is withheld, or hidden by `readOnly`; `None` for any other."""
        item = self.withheld_tools().find(name)
        if item is not None:
            return self.why_withheld(item.server, Kind.TOOLS, item.key, name)
        owners, own = self.prefixes.split(name)
        hiding = [each for each in owners or self.servers if self.is_hidden_by_read_only(each, own)]
        return HiddenByReadOnly(name, hiding[0]) if len(hiding) == 1 else None

    def withheld_tools(self) -> "NamedItems":
        """Return the withheld tools of all servers, for the user to review."""
        withheld = (
            (config, entry.key, config.rename.get(entry.key, entry.key), entry.fields)
            for config in self.servers.values()
            for withheld in [self.withheld(config.name)]
            for entry, _ in self.entries(config.name, Kind.TOOLS)
            if entry.key in withheld
        )
        return NamedItems(Admitted([plain_item(*each) for each in withheld], self.prefixes))

    def everything(self, kind: Kind) -> Iterator[tuple[str, Entry]]:
        """Yield all listed definitions of a kind with their servers, including withheld and filtered ones."""
        for server in self.servers:
            page = self.pages.get((server, kind))
            yield from ((server, entry) for entry in page.entries) if page is not None else ()

    def is_unlistable(self, server: str, kind: Kind) -> bool:
        """Return whether a server's list could not be read."""
        return self.pages.get((server, kind), _NOT_ASKED) is None

    def freshness(self, kind: Kind, now: float) -> Freshness:
        """Return the shortest freshness that is left to any server's list of a kind, by the clock that it was read by.

        "the client SHOULD consider the result fresh for that many milliseconds after receiving the response": the time
        since search-mcp received the list is over.
        """
        pages = [page for (_, of), page in self.pages.items() if of is kind]
        known = [page for page in pages if page is not None]
        if not known or len(known) < len(pages):
            return Freshness()
        left_ms = min(page.freshness.ttl_ms - math.ceil((now - page.read_at) * 1000) for page in known)
        return Freshness(max(0, left_ms), all(page.freshness.public for page in known))

    def tools(self) -> "NamedItems":
        return self.named(Kind.TOOLS)

    def prompts(self) -> "NamedItems":
        return self.named(Kind.PROMPTS)

    def named(self, kind: Kind) -> "NamedItems":
        """Return the tools or prompts of all servers."""
        if kind not in self._named:
            withheld = frozenset(name for server in self.servers for name in self.withheld(server, kind))
            plain = [plain_item(*each) for each in self._admitted(kind)]
            noun = "tool" if kind is Kind.TOOLS else "prompt"
            optional = ((RESTART, self.can_restart), (READ_RESULT, self.limits_results))
            ours = (*OWN_NAMES, *(name for name, exists in optional if exists))
            self._named[kind] = self._named_once(Admitted(plain, self.prefixes, withheld, noun, ours))
        return self._named[kind]

    def merge_long(self, kind: Kind) -> bool:
        """Merge tools or prompts if they are many and not merged yet; return whether they were merged now."""
        pages = [page for (_, of), page in self.pages.items() if of is kind and page is not None]
        if kind in self._named or sum(len(page.entries) for page in pages) < FEW_ENTRIES:
            return False
        self.named(kind)
        return True

    def by_uri(self, kind: Kind) -> Mapping[str, tuple[str, Entry]]:
        """Return resources, templates or skills by URI, each with its server; the first server wins."""
        if kind is Kind.SKILLS and kind not in self._merged:
            self._merged[kind] = {skill.uri: (skill.server, skill.entry) for skill in self.skills()}
        if kind not in self._merged:
            merged: dict[str, tuple[str, Entry]] = {}
            for server in self.servers:
                for entry, _ in self.entries(server, kind):
                    merged.setdefault(entry.key, (server, entry))
            self._merged[kind] = merged
        return self._merged[kind]

    def skills(self) -> "Skills":
        """Return the skills of all servers that are shown."""
        if self._skills is None:
            listed = {
                server: [entry for entry, remarks in self.entries(server, Kind.SKILLS) if not is_left_out(remarks)]
                for server in self.servers
            }
            # Loaded with the first skill, not at every start.
            from search_mcp.catalog.skills import Skills

            self._skills = Skills(listed, self._claims_of_directories)
        return self._skills

    def lists_skills(self) -> bool:
        """Return whether any server lists a skill."""
        return self.has_entries(Kind.SKILLS)

    def _claims_of_directories(self) -> "Iterator[Claim]":
        for server in self.servers:
            yield from ((entry.key, server, False) for entry, _ in self.entries(server, Kind.RESOURCES))
            for entry, _ in self.entries(server, Kind.TEMPLATES):
                yield literal_beginning(entry.key), server, False

    def has(self, server: str) -> bool:
        """Return whether a server is configured and enabled."""
        return server in self.servers

    def owner(self, uri: str) -> str | None:
        """Return the owner of a URI.

        It is the server of the tool whose app it is, else of the skill in whose directory it is, else the first server
        that lists it.
        """
        # "Servers MAY omit UI-only resources from `resources/list`": another server's list must not take over an app.
        if is_app(uri) and uri in self.tools().apps:
            return self.tools().apps[uri]
        if self.lists_skills() and (of_skill := self.skills().owner(uri)) is not None:
            return of_skill
        for known in (self.by_uri(Kind.RESOURCES), self.by_uri(Kind.TEMPLATES)):
            if uri in known:
                return known[uri][0]
        return None

    def owners_of_scheme(self, scheme: str) -> Collection[str]:
        """Return all servers that list a URI, a template or a skill with this scheme."""
        return {
            server
            for server, kind in self.pages
            if kind in _WITH_URIS
            for entry, _ in self.entries(server, kind)
            if entry.key.partition(":")[0] == scheme
        }

    def entries(self, server: str, kind: Kind) -> Iterable[tuple[Entry, tuple[str, ...]]]:
        """Return a server's repaired definitions, with a remark for each repair."""
        page = self.pages.get((server, kind))
        if page is None:
            return ()
        if (server, kind) not in self._repaired:
            fitted = [(entry, *repaired(kind, entry)) for entry in page.entries]
            self._repaired[server, kind] = [
                (entry if fields is entry.fields else Entry(entry.key, fields), remarks)
                for entry, fields, remarks in fitted
            ]
        return self._repaired[server, kind]

    def every_tool(self, server: str) -> list[Item]:
        """Return all tools that a server lists, also hidden ones; those that are shown with their canonical names."""
        shown = {item.key: item for item in self.tools() if item.server == server}
        return [
            shown.get(entry.key) or plain_item(*_tool(self.servers[server], entry))
            for entry, _ in self.entries(server, Kind.TOOLS)
        ]

    def admissible(self, server: str, kind: Kind) -> frozenset[str]:
        """Return the tools or prompts of a server that are not shown only because they are withheld."""
        admitted = self._admitted(kind, is_withheld=True)
        return frozenset(key for config, key, _, _ in admitted if config.name == server)

    def _admitted(self, kind: Kind, *, is_withheld: bool = False) -> Iterator[tuple[ServerConfig, str, str, Fields]]:
        """Yield the definitions that are shown: server, the backend's name, the new name, the fields."""
        for config in self.servers.values():
            withheld = self.withheld(config.name, kind)
            for entry, remarks in self.entries(config.name, kind):
                if (entry.key in withheld) is not is_withheld:
                    continue
                if kind is Kind.TOOLS and not is_allowed(config, entry.key):
                    continue
                if is_left_out(remarks):
                    continue
                if kind is Kind.TOOLS and config.read_only and not declares_read_only(entry.fields):
                    continue
                yield _tool(config, entry) if kind is Kind.TOOLS else (config, entry.key, entry.key, entry.fields)


def _tool(config: ServerConfig, entry: Entry) -> tuple[ServerConfig, str, str, Fields]:
    """Return a tool with the user's name and description of it."""
    fields = entry.fields
    if entry.key in config.describe:
        fields = {**fields, "description": payload.encode(config.describe[entry.key])}
    return config, entry.key, config.rename.get(entry.key, entry.key), with_result_size(fields, config.result_size)


_NOT_ASKED = ServerList(())
_WITH_URIS = (Kind.RESOURCES, Kind.TEMPLATES, Kind.SKILLS)
