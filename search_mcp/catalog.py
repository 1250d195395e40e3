"""All backends' lists merged into one, and what each name in it means.

Decides names, order, uniqueness, and what the user's filters let through. Pure: it is told what the
backends listed and asked what that comes to. Which definitions are fit to be shown is `definitions`'
business, what one client is shown of them `views`'.
"""

import hashlib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from search_mcp.config.schema import ServerConfig
from search_mcp.definitions import LEFT_OUT, OPEN_SCHEMA, declares_read_only, repaired
from search_mcp.model.errors import HiddenByReadOnly, PromptWithheld, ToolWithheld, short_reason
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry, Freshness, Page
from search_mcp.wire import payload
from search_mcp.wire.errors import WireError
from search_mcp.wire.structs import Fields, Struct, altered

OWN_NAMES = ("search_tools", "describe_tools", "call_tool", "call_read_only_tool", "list_servers")
"""What our own tools are called; no backend's tool may be mistaken for one, however its name is folded."""

FEW_ENTRIES = 500
"""As many are merged at once: about five milliseconds."""


class Item(Struct, frozen=True, dict=True):
    """One tool or prompt under its canonical name."""

    server: str
    key: str
    """The backend's own name for it."""
    prefix: str
    own: str
    """The two parts of the canonical name; the prefix may be empty."""
    fields: Fields
    """Its definition as the backend gave it, with the user's overrides."""
    pinned: bool = False
    is_suffixed: bool = False
    """Whether `own` ends in a suffix, or begins with it, because the plain name belongs to another item or server."""

    @cached_property
    def name(self) -> str:
        """The canonical name."""
        return f"{self.prefix}.{self.own}" if self.prefix else self.own

    @cached_property
    def description(self) -> str:
        return payload.string(self.fields.get("description")) or payload.string(self.fields.get("title")) or ""

    @cached_property
    def is_for_models(self) -> bool:
        """Whether a model should know of it; an MCP App may keep tools for its own page."""
        # "`visibility` defaults to `["model", "app"]` if omitted"
        return self._visibility is None or "model" in self._visibility

    @cached_property
    def is_for_apps(self) -> bool:
        """Whether a page of its server may call it."""
        return self._visibility is None or "app" in self._visibility

    @cached_property
    def is_of_app(self) -> bool:
        """Whether its server has an app: one shows it, or is named as its caller."""
        return bool(self.app_uris) or (self._visibility is not None and self.is_for_apps)

    @cached_property
    def app_uris(self) -> Sequence[str]:
        """The URI of the app that shows it, as often as it is written."""
        return app_uris(self.fields)

    @cached_property
    def _visibility(self) -> Sequence[Any] | None:
        app = payload.picked(payload.picked(self.fields.get("_meta"), "ui").get("ui"), "visibility")
        visibility = payload.value(app["visibility"]) if "visibility" in app else None
        return visibility if isinstance(visibility, list) else None

    @cached_property
    def annotations(self) -> Mapping[str, Any]:
        """The hints that are read here."""
        hints = payload.picked(self.fields.get("annotations"), "readOnlyHint", "destructiveHint")
        return {name: payload.value(raw) for name, raw in hints.items()}

    @cached_property
    def is_read_only(self) -> bool:
        """Whether its server declares that a call changes nothing."""
        return declares_read_only(self.fields)

    @cached_property
    def hint(self) -> str:
        """What its server declares that a call does: `read-only`, `destructive` or nothing."""
        # "`destructiveHint`: (This property is meaningful only when `readOnlyHint == false`)"
        if self.is_read_only:
            return "read-only"
        return "destructive" if self.annotations.get("destructiveHint") is True else ""

    @cached_property
    def input_schema(self) -> Mapping[str, Any]:
        schema = payload.value(self.fields.get("inputSchema", OPEN_SCHEMA))
        return schema if isinstance(schema, dict) else {}


def app_uris(shown: Fields) -> Sequence[str]:
    """Read which MCP App shows a tool, or a result: the URI of its page, in either spelling of the extension."""
    meta = payload.picked(shown.get("_meta"), "ui", "ui/resourceUri")
    # "The flat `_meta["ui/resourceUri"]` format is deprecated. Use `_meta.ui.resourceUri` instead."
    spellings = (payload.picked(meta.get("ui"), "resourceUri").get("resourceUri"), meta.get("ui/resourceUri"))
    return [uri for uri in map(payload.string, spellings) if uri is not None]


APP_SCHEME = "ui:"
"""The scheme of MCP Apps: a tool's definition makes no other URI its server's."""


def literal_beginning(template: str) -> str:
    """Give what stands before the first expression of a URI template."""
    return template.partition("{")[0]


def has_literal_scheme(template: str) -> bool:
    """Whether a URI template fixes at least the scheme of what it matches."""
    return ":" in literal_beginning(template)


_FOLDED = re.compile(r"[^A-Za-z0-9]")
_FOLDED_ASCII = bytes(byte if chr(byte).isascii() and chr(byte).isalnum() else ord("_") for byte in range(256))
_REFUSED = re.compile(r"[^A-Za-z0-9_.-]")


def fold(name: str) -> str:
    """Spell a name as the clients do that know only letters, digits and underscores."""
    if name.isascii():  # a hundred times as fast for a name of a thousand dots
        return name.encode().translate(_FOLDED_ASCII).decode()
    return _FOLDED.sub("_", name)


def without_separators(name: str) -> str:
    """Spell a name so that no part of it can be taken for a prefix with its separator."""
    return re.sub(r"[._-]+", "_", name).strip("_")


def stable_suffix(*parts: str) -> str:
    """Six characters that stand for these parts, the same in every session."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:6]


def accepted(name: str) -> str:
    """Spell a part of a canonical name with the characters that one may have."""
    return _REFUSED.sub("_", name)


class Prefixes:
    """Which servers a name belongs to by the prefix that it begins with; the longest prefix decides.

    A server has the prefix that its entry sets (or its name), and its name as well unless that is another server's
    prefix. Servers that do not run or are switched off keep theirs.
    """

    def __init__(self, servers: Iterable[ServerConfig] = ()) -> None:
        configs = list(servers)
        self._exact: dict[str, frozenset[str]] = {}
        for config in configs:
            self._claim(accepted(config.name if config.prefix is None else config.prefix), config.name)
        prefixes = frozenset(self._exact)
        for config in configs:
            if (name := accepted(config.name)) not in prefixes:
                self._claim(name, config.name)
        self._folded: dict[str, frozenset[str]] = {}
        for prefix, owners in self._exact.items():
            self._folded[fold(prefix)] = self._folded.get(fold(prefix), _NOBODY) | owners
        self._longest = max(map(len, self._exact), default=0)

        ordered = sorted(self._folded)
        self._unrivalled = frozenset(
            prefix
            for prefix, owners in self._exact.items()
            if len(owners) == 1 and self._is_unrivalled(prefix, ordered)
        )

    def _is_unrivalled(self, prefix: str, ordered: Sequence[str]) -> bool:
        """Whether no other prefix begins with this one, or is equal to it, once folded."""
        folded = fold(prefix)
        behind = bisect_left(ordered, folded + "_")
        has_longer = behind < len(ordered) and ordered[behind].startswith(folded + "_")
        return not has_longer and len(self._folded[folded]) == 1

    def _claim(self, prefix: str, server: str) -> None:
        if prefix:
            self._exact[prefix] = self._exact.get(prefix, _NOBODY) | {server}

    def split(self, name: str) -> tuple[frozenset[str], str]:
        """Give the owners of the longest prefix that `.` or `__` ends, and what stands behind the separator.

        A prefix as it is written goes before one that is only spelled alike.
        """
        head = accepted(name[: self._longest + 2])
        for separator in reversed(list(_SEPARATOR.finditer(head))):
            prefix = head[: separator.start()]
            owners = self._exact.get(prefix) or self._folded.get(fold(prefix))
            if owners:
                behind = separator.start() + (1 if head[separator.start()] == "." else 2)
                return owners, name[behind:]
        return _NOBODY, name

    def of_folded(self, name: str) -> frozenset[str]:
        """Give the owners of the longest prefix that a name begins with once everything odd in it is a `_`."""
        head = fold(name[: self._longest + 1])
        at = head.rfind("_")
        while at > 0:
            if owners := self._folded.get(head[:at]):
                return owners
            at = head.rfind("_", 0, at)
        return _NOBODY

    def owners(self, name: str) -> frozenset[str]:
        """Give the servers that a spelling can mean; none if it begins with no prefix."""
        return self.split(name)[0] or self.of_folded(name)

    def is_unrivalled(self, prefix: str) -> bool:
        """Whether whatever begins with this prefix is its server's: no other prefix begins like it."""
        return prefix in self._unrivalled

    def admits(self, server: str, name: str) -> bool:
        """Whether a server's item may have this name: neither as written nor folded does it begin like another's."""
        return self.admits_as_written(server, name) and server in (self.of_folded(name) or (server,))

    def admits_as_written(self, server: str, name: str) -> bool:
        """Whether a name, as it is written, begins with no other server's prefix."""
        return server in (self.split(name)[0] or (server,))


_NOBODY: frozenset[str] = frozenset()
_SEPARATOR = re.compile(r"\.|_(?=_)")


class Catalog:
    """What is known of every server's lists, in the order of the configuration."""

    def __init__(self, servers: Sequence[ServerConfig]) -> None:
        self._servers = {server.name: server for server in servers}
        self.prefixes = Prefixes(servers)
        self._pages: dict[tuple[str, Kind], Page | None] = {}
        self._repaired: dict[tuple[str, Kind], list[tuple[Entry, tuple[str, ...]]]] = {}
        self._named: dict[Kind, NamedItems] = {}
        self._merged: dict[Kind, dict[str, tuple[str, Entry]]] = {}
        self.version = 0
        """Grows with every change, so that whoever derives something from it knows when to do so again."""

    def configure(
        self,
        servers: Sequence[ServerConfig],
        replaced: Collection[str],
        switched_off: Sequence[ServerConfig] = (),
    ) -> None:
        """Go over to another configuration; the lists of servers that are gone or replaced go with them.

        Servers that are switched off have no lists, but their prefixes stay theirs.
        """
        self._servers = {server.name: server for server in servers}
        self.prefixes = Prefixes([*servers, *switched_off])
        self._pages = {
            (server, kind): page
            for (server, kind), page in self._pages.items()
            if server in self._servers and server not in replaced
        }
        self._repaired.clear()
        self._named.clear()
        self._merged.clear()
        self.version += 1

    def put(self, server: str, kind: Kind, page: Page | None) -> None:
        """Take note of a server's list; `None` if it cannot be had."""
        before = self._pages.get((server, kind))
        self._pages[server, kind] = page
        if page is not None and before is not None and self._looks_alike(server, before, page):
            return  # as it was remembered, most often
        self._repaired.pop((server, kind), None)
        self._named.pop(kind, None)
        self._merged.pop(kind, None)
        self.version += 1

    def _looks_alike(self, server: str, before: Page, page: Page) -> bool:
        is_pinned = server in self._servers and self._servers[server].pin_tools
        is_pending = before.is_pending if is_pinned else page.is_pending
        return altered(before, freshness=page.freshness, is_pending=is_pending) == page

    def is_known(self, server: str, kind: Kind) -> bool:
        """Whether a server's list was read, or found out not to be readable."""
        return (server, kind) in self._pages

    def has_entries(self, kind: Kind) -> bool:
        """Whether any server listed something of this kind."""
        return any(of is kind and page is not None and page.entries for (_, of), page in self._pages.items())

    def is_admitted(self, server: str, tool: str) -> bool:
        """Whether a server's filters, and the user's trust, let a tool through."""
        return is_allowed(self._servers[server], tool) and tool not in self.withheld(server)

    def hidden_by_read_only(self, server: str) -> Collection[str]:
        """The tools of a server that only its `readOnly` leaves out, by their own names."""
        config = self._servers.get(server)
        if config is None or not config.read_only:
            return ()
        others = [entry.key for entry, _ in self._entries(server, Kind.TOOLS) if not declares_read_only(entry.fields)]
        withheld = self.withheld(server)
        return [tool for tool in others if is_allowed(config, tool) and tool not in withheld]

    def is_hidden_by_read_only(self, server: str, name: str) -> bool:
        """Whether a name, however folded, is that of a tool which only `readOnly` leaves out."""
        hidden = self.hidden_by_read_only(server)
        return any(fold(name) in (fold(key), fold(self._servers[server].rename.get(key, key))) for key in hidden)

    def is_pinned(self, server: str) -> bool:
        """Whether only what was first seen or accepted of a server may be shown and called."""
        return server in self._servers and self._servers[server].pin_tools

    def changed(self, server: str, kind: Kind = Kind.TOOLS) -> frozenset[str]:
        """The tools or prompts of a server that are not what they were when first seen."""
        page = self._pages.get((server, kind))
        return page.changed if page is not None else frozenset()

    def new(self, server: str, kind: Kind = Kind.TOOLS) -> frozenset[str]:
        """The tools or prompts of a server that were not there when it was first seen."""
        page = self._pages.get((server, kind))
        return page.new if page is not None else frozenset()

    def withheld(self, server: str, kind: Kind = Kind.TOOLS) -> frozenset[str]:
        """The tools or prompts of a server that the user has to accept before anybody is shown them."""
        page = self._pages.get((server, kind))
        if page is None or not self.is_pinned(server):
            return frozenset()
        if page.trouble or page.is_pending:
            return frozenset(entry.key for entry in page.entries)
        return page.changed | page.new

    def why_withheld(self, server: str, kind: Kind, key: str, name: str) -> WireError:
        """Say why a tool or prompt that is withheld cannot be used under this name."""
        withheld = ToolWithheld if kind is Kind.TOOLS else PromptWithheld
        return withheld(name, server, *self._servers[server].remedies, is_new=key in self.new(server, kind))

    def why_hidden(self, name: str) -> WireError | None:
        """Say why a tool that its server has is not shown: it is withheld, or `readOnly` leaves it out."""
        item = self.withheld_tools().find(name)
        if item is not None:
            return self.why_withheld(item.server, Kind.TOOLS, item.key, name)
        owners, own = self.prefixes.split(name)
        hiding = [each for each in owners or self._servers if self.is_hidden_by_read_only(each, own)]
        return HiddenByReadOnly(name, hiding[0]) if len(hiding) == 1 else None

    def withheld_tools(self) -> "NamedItems":
        """All of those, for the user to look at."""
        withheld = (
            (config, entry.key, config.rename.get(entry.key, entry.key), entry.fields)
            for config in self._servers.values()
            for withheld in [self.withheld(config.name)]
            for entry, _ in self._entries(config.name, Kind.TOOLS)
            if entry.key in withheld
        )
        return NamedItems(withheld, self.prefixes)

    def everything(self, kind: Kind) -> Iterator[tuple[str, Entry]]:
        """Give every definition of a kind as it was listed, with its server; withheld and filtered ones too."""
        for server in self._servers:
            page = self._pages.get((server, kind))
            yield from ((server, entry) for entry in page.entries) if page is not None else ()

    def is_unlistable(self, server: str, kind: Kind) -> bool:
        """Whether a server's list could not be had."""
        return self._pages.get((server, kind), _NOT_ASKED) is None

    def freshness(self, kind: Kind) -> Freshness:
        """The shortest of the servers': a merged list is as fresh as its stalest part."""
        known = [page.freshness for (_, of), page in self._pages.items() if of is kind and page is not None]
        if not known or any(page is None for (_, of), page in self._pages.items() if of is kind):
            return Freshness()
        return Freshness(min(fresh.ttl_ms for fresh in known), all(fresh.public for fresh in known))

    def tools(self) -> "NamedItems":
        return self.named(Kind.TOOLS)

    def prompts(self) -> "NamedItems":
        return self.named(Kind.PROMPTS)

    def named(self, kind: Kind) -> "NamedItems":
        """Give the tools or prompts of every server."""
        if kind not in self._named:
            withheld = [name for server in self._servers for name in self.withheld(server, kind)]
            noun = "tool" if kind is Kind.TOOLS else "prompt"
            self._named[kind] = NamedItems(self._admitted(kind), self.prefixes, withheld, noun)
        return self._named[kind]

    def merge_long(self, kind: Kind) -> bool:
        """Merge tools or prompts if that takes some time and was not done yet; return whether it was done now."""
        pages = [page for (_, of), page in self._pages.items() if of is kind and page is not None]
        if kind in self._named or sum(len(page.entries) for page in pages) < FEW_ENTRIES:
            return False
        self.named(kind)
        return True

    def by_uri(self, kind: Kind) -> Mapping[str, tuple[str, Entry]]:
        """Resources by URI or templates by their text: server and definition; the first server wins."""
        if kind not in self._merged:
            merged: dict[str, tuple[str, Entry]] = {}
            for server in self._servers:
                for entry, _ in self._entries(server, kind):
                    merged.setdefault(entry.key, (server, entry))
            self._merged[kind] = merged
        return self._merged[kind]

    def has(self, server: str) -> bool:
        """Whether a server is configured and enabled."""
        return server in self._servers

    def owner(self, uri: str) -> str | None:
        """Tell whose a URI is: that of whose tool it is the app, else the first server's that lists it."""
        # "Servers MAY omit UI-only resources from `resources/list`": so another server's listing takes no tool's page.
        if _is_app(uri) and uri in self.tools().apps:
            return self.tools().apps[uri]
        for known in (self.by_uri(Kind.RESOURCES), self.by_uri(Kind.TEMPLATES)):
            if uri in known:
                return known[uri][0]
        return None

    def owners_of_scheme(self, scheme: str) -> Collection[str]:
        """The servers that list a URI or a template with this scheme, whoever else does."""
        return {
            server
            for server, kind in self._pages
            if kind in (Kind.RESOURCES, Kind.TEMPLATES)
            for entry, _ in self._entries(server, kind)
            if entry.key.partition(":")[0] == scheme
        }

    def problems(self) -> Iterator[tuple[str, str]]:
        """Give each server's definitions that were repaired or left out, and why."""
        for (server, kind), page in self._pages.items():
            if page is None:
                yield server, f"its list of {kind.value} cannot be had"
                continue
            for reason in page.rejected:
                yield server, reason
            for entry, remarks in self._entries(server, kind):
                for remark in remarks:
                    yield server, f"{kind.value}: {entry.key}: {remark}"
        for kind in (Kind.TOOLS, Kind.PROMPTS):
            yield from self.named(kind).collisions
        for (server, uri), what in self._claims().items():
            if (owner := self.owner(uri)) != server:
                yield server, f"{what} is also a URI of {owner!r}, which is asked for it"
        for server in self._servers:
            for entry, _ in self._entries(server, Kind.TEMPLATES):
                if not has_literal_scheme(entry.key):
                    yield (
                        server,
                        f"templates: {entry.key}: it fixes no scheme; only what no other server has is asked of it",
                    )

    def changes(self, changed_about: Collection[str] = ()) -> Iterator[tuple[str, str]]:
        """Say in one sentence what of a server is not as it was when first seen, or why nothing can be compared.

        Of the servers of `changed_about`, it is the title or the instructions.
        """
        for server in self._servers:
            yield from ((server, change) for change in self._changes(server, server in changed_about))

    def _changes(self, server: str, is_about_changed: bool) -> Iterator[str]:
        pages = {kind: page for kind in _COMPARED if (page := self._pages.get((server, kind))) is not None}
        is_withheld = "; nothing of it is shown until then" if self.is_pinned(server) else ""
        yield from sorted({page.trouble + is_withheld for page in pages.values() if page.trouble})
        nouns = {kind: kind.value.removesuffix("s") for kind in pages}
        changed = [_named(nouns[kind], page.changed) for kind, page in pages.items() if page.changed]
        new = [_named(nouns[kind], page.new) for kind, page in pages.items() if page.new]
        count = sum(len(page.changed) + len(page.new) for page in pages.values())
        if is_about_changed:
            changed.append("title or instructions")
        if changed or new:
            yield self.sentence_about(server, changed, new, count + 2 * is_about_changed)

    def sentence_about(
        self, server: str, changed: Sequence[str], new: Sequence[str], count: int, accepting: str = "you accept"
    ) -> str:
        """Say what of a server is changed and new, whether that is withheld, and what shows and accepts it."""
        said = [f"changed: {', '.join(changed)}"] if changed else []
        said += [f"{'New' if said else 'new'}: {', '.join(new)}"] if new else []
        show, accept = self._servers[server].remedies
        them, verb = ("it", "It is") if count == 1 else ("them", "They are")
        if self.is_pinned(server):
            said.append(f"{verb} withheld until {accepting} {them}: `{show}` shows {them}, `{accept}` accepts {them}")
        else:
            said.append(f"`{show}` shows {them}, `{accept}` accepts {them}")
        return ". ".join(said)

    def _claims(self) -> Mapping[tuple[str, str], str]:
        """Every URI that a server says is its own, and where it says so first."""
        claims = {
            (server, entry.key): f"{kind.value}: {entry.key}"
            for kind in (Kind.RESOURCES, Kind.TEMPLATES)
            for server in self._servers
            for entry, _ in self._entries(server, kind)
        }
        for item in self.tools():
            for uri in filter(_is_app, item.app_uris):
                claims.setdefault((item.server, uri), f"tools: {item.key}: its app {uri}")
        return claims

    def _entries(self, server: str, kind: Kind) -> Iterable[tuple[Entry, tuple[str, ...]]]:
        """A server's definitions, fit to be shown, with a remark for each repair."""
        page = self._pages.get((server, kind))
        if page is None:
            return ()
        if (server, kind) not in self._repaired:
            fitted = [(entry.key, *repaired(kind, entry)) for entry in page.entries]
            self._repaired[server, kind] = [(Entry(key, fields), remarks) for key, fields, remarks in fitted]
        return self._repaired[server, kind]

    def admissible(self, server: str, kind: Kind) -> frozenset[str]:
        """The tools or prompts of a server that only their being withheld leaves out."""
        admitted = self._admitted(kind, is_withheld=True)
        return frozenset(key for config, key, _, _ in admitted if config.name == server)

    def _admitted(self, kind: Kind, *, is_withheld: bool = False) -> Iterator[tuple[ServerConfig, str, str, Fields]]:
        """What the filters and the repair let through: server, the backend's name, ours, the definition."""
        for config in self._servers.values():
            withheld = self.withheld(config.name, kind)
            for entry, remarks in self._entries(config.name, kind):
                if (entry.key in withheld) is not is_withheld:
                    continue
                if kind is Kind.TOOLS and not is_allowed(config, entry.key):
                    continue
                if LEFT_OUT in remarks:
                    continue
                fields = entry.fields
                if kind is Kind.TOOLS and config.read_only and not declares_read_only(fields):
                    continue
                if kind is Kind.TOOLS and entry.key in config.describe:
                    fields = {**fields, "description": payload.encode(config.describe[entry.key])}
                shown = config.rename.get(entry.key, entry.key) if kind is Kind.TOOLS else entry.key
                yield config, entry.key, shown, fields


def _is_app(uri: str) -> bool:
    return uri.startswith(APP_SCHEME)


_NOT_ASKED = Page(())
_COMPARED = (Kind.TOOLS, Kind.PROMPTS)
MOST_NAMED = 10
"""Names that one sentence holds."""


def _named(noun: str, names: Collection[str]) -> str:
    """Name a few of many things."""
    more = len(names) - MOST_NAMED
    listed = ", ".join([*sorted(names)[:MOST_NAMED], *([f"{more:,} more"] if more > 0 else [])])
    return f"{noun}{'s' if len(names) > 1 else ''} {listed}"


def is_allowed(config: ServerConfig, tool: str) -> bool:
    """Whether a server's `allow` and `deny` globs let a tool through; `deny` has the last word."""
    if config.allow and not any(fnmatchcase(tool, glob) for glob in config.allow):
        return False
    return not (config.deny and any(fnmatchcase(tool, glob) for glob in config.deny))


class NamedItems(Sequence[Item]):
    """Tools or prompts in order, each findable by every spelling that means it and nothing else.

    No item has a name, and no spelling finds an item, that begins with the prefix of another server. Of two that would
    coincide once folded, the owner of the prefix keeps the plain name, whatever the order of the file; the other gets
    a suffix. `withheld` are names that another server may not take either.
    """

    def __init__(
        self,
        admitted: Iterable[tuple[ServerConfig, str, str, Fields]],
        prefixes: Prefixes | None = None,
        withheld: Iterable[str] = (),
        noun: str = "tool",
    ) -> None:
        self._prefixes = Prefixes() if prefixes is None else prefixes
        self._noun = noun
        self._withheld = frozenset(map(fold, withheld))
        self._by_bare: dict[str, list[Item]] = {}
        self.collisions: list[tuple[str, str]] = []
        self._by_name: dict[str, Item] = {}
        # None: more than one, or one of our own
        self._by_fold: dict[str, Item | None] = dict.fromkeys(map(fold, OWN_NAMES))
        self._by_other: dict[str, Item] = {}
        plain = [_plain_item(*each) for each in admitted]
        named = self._name(plain)
        self._items = [item for item in named if item is not None]
        for item, was in zip(named, plain, strict=True):
            if item is not None:
                self._add_spellings(item, was.own)
        for item in self._items:
            self._add_folded_spelling(item)

    def _name(self, plain: Sequence[Item]) -> "list[Item | None]":
        """Give every item its canonical name: owners of a prefix first, then those whose names begin like another's."""
        named: list[Item | None] = [None] * len(plain)
        mine = [position for position, item in enumerate(plain) if self.admits(item, item.name)]
        mine.sort(key=lambda position: _precedence(plain[position]))
        others = sorted(set(range(len(plain))).difference(mine))
        for position in (*mine, *others):
            named[position] = item = self._named(plain[position])
            if item is not None:
                self._by_name[item.name] = self._by_fold[fold(item.name)] = item
        return named

    def _named(self, item: Item) -> Item | None:
        """Decide what one item is called; `None` if another server has the very same bare name."""
        same = self._by_name.get(item.name)
        if same is not None and not item.prefix and not same.prefix:
            problem = (
                f"{item.name} is also the bare name of a {self._noun} of {same.server!r}; give one of them a prefix"
            )
            self.collisions.append((item.server, problem))
            return None
        reason = self._why_suffixed(item)
        if reason is None:
            return item
        plain, attempt = item, 0
        while not item.is_suffixed or fold(item.name) in self._by_fold:
            suffix = stable_suffix(plain.server, plain.key, str(attempt))
            item = altered(plain, own=f"{plain.own}_{suffix}", is_suffixed=True)
            if not self._prefixes.admits(item.server, item.name):  # a name begins with a letter
                item = altered(item, own=f"x{suffix}_{without_separators(plain.own)}")
            attempt += 1
        key, name = short_reason(plain.key), short_reason(plain.name)
        problem = f"its {self._noun} {key} is called {short_reason(item.name)}, because {name} {reason}"
        self.collisions.append((item.server, problem))
        return item

    def _why_suffixed(self, item: Item) -> str | None:
        """Say why an item cannot have its plain name, if it cannot."""
        if not self.admits(item, item.name):
            owners = self._prefixes.split(item.name)[0] - {item.server} or self._prefixes.of_folded(item.name)
            return f"begins like the names of server {', '.join(map(repr, sorted(owners)))}"
        folded = fold(item.name)
        if folded not in self._by_fold:
            return None
        other = self._by_fold[folded]
        return f"reads like {short_reason(folded if other is None else other.name)}, which is " + (
            "search-mcp's own" if other is None else f"another {self._noun} of {other.server!r}"
        )

    def _add_spellings(self, item: Item, plain_own: str) -> None:
        """Let an item be found by what else means it: with `__`, by its server's own name, without its suffix."""
        self._by_bare.setdefault(fold(plain_own), []).append(item)
        # By the server's own name too, whatever `prefix` says, unless that means something else.
        for spelling in (_double(item), f"{item.server}.{item.own}"):
            rival = self._by_fold.get(spelling)
            if spelling != item.name and (rival is None or rival.server == item.server):
                self._add_spelling(item, spelling)
        if item.prefix and plain_own != item.own:
            for spelling in (f"{item.prefix}.{plain_own}", f"{item.prefix}__{plain_own}"):
                rival = self._by_fold.get(fold(spelling))
                if rival is None or not self._prefixes.admits_as_written(rival.server, spelling):
                    self._add_spelling(item, spelling)

    def _add_folded_spelling(self, item: Item) -> None:
        folded = fold(_double(item))
        if self._by_fold.get(folded) is item:
            return
        if self._prefixes.is_unrivalled(item.prefix) or self._prefixes.admits(item.server, folded):
            self._by_fold[folded] = None if folded in self._by_fold else item

    def _add_spelling(self, item: Item, spelling: str) -> None:
        if self.admits_as_written(item, spelling):
            self._by_other.setdefault(spelling, item)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def find(self, spelling: str) -> Item | None:
        """Look up a name: canonical, with `__`, by the server's own name, or folded where that is unambiguous."""
        return self._by_name.get(spelling) or self._by_other.get(spelling) or self._find_folded(spelling)

    def _find_folded(self, spelling: str) -> Item | None:
        """Look up a name as clients fold it; one that carries a server's prefix as written never means another's."""
        item = self._by_fold.get(fold(spelling))
        return item if item is not None and self._prefixes.admits_as_written(item.server, spelling) else None

    def find_bare(self, name: str) -> Item | None:
        """Look up a name without its server's prefix: good if only one server has it, and for models."""
        items = self.sharing(name)
        if len(items) != 1 or not items[0].is_for_models or fold(name) in self._withheld:
            return None
        return items[0]

    def sharing(self, name: str) -> Sequence[Item]:
        """Give every item that a bare name may mean."""
        folded = fold(name)
        if folded in self._by_fold:  # it means one of our own, or could be more than one full name
            return ()
        owners = self._prefixes.owners(name)
        return [item for item in self._by_bare.get(folded, ()) if not owners or item.server in owners]

    def admits(self, item: Item, name: str) -> bool:
        """Whether an item may be called so: a name that begins with another server's prefix is not its."""
        return self._begins_with_its_own(item, name) or self._prefixes.admits(item.server, name)

    def admits_as_written(self, item: Item, name: str) -> bool:
        """Whether an item may be called so where its name ends in a suffix that no other name has."""
        return self._begins_with_its_own(item, name) or self._prefixes.admits_as_written(item.server, name)

    def _begins_with_its_own(self, item: Item, name: str) -> bool:
        """Whether a name is its server's at a glance, as nearly all are."""
        if not self._prefixes.is_unrivalled(item.prefix) or not name.startswith(item.prefix):
            return False
        return name.startswith((".", "__"), len(item.prefix))

    def carries_prefix(self, name: str) -> bool:
        """Whether a name begins with a server's prefix, so that it means nothing else."""
        return bool(self._prefixes.split(name)[0])

    def names(self) -> Iterable[str]:
        return [item.name for item in self._items]

    # MCP Apps

    @cached_property
    def apps(self) -> Mapping[str, str]:
        """The server of each app that shows a tool, by the app's URI; the first server wins."""
        return {uri: item.server for item in reversed(self._items) for uri in item.app_uris}

    @cached_property
    def servers_with_apps(self) -> Collection[str]:
        return {item.server for item in self._items if item.is_of_app}

    @cached_property
    def for_apps(self) -> Mapping[str, Item]:
        """The tools that pages may call, by their servers' own names for them: a page knows no other.

        A name that two servers with apps have is nobody's.
        """
        callable_items = [item for item in self._items if item.is_for_apps and item.server in self.servers_with_apps]
        having = Counter(item.key for item in callable_items)
        return {item.key: item for item in callable_items if having[item.key] == 1 and self.admits(item, item.key)}


def _double(item: Item) -> str:
    """Spell an item's name with `__`, as many clients are shown it."""
    return f"{item.prefix}__{item.own}" if item.prefix else item.own


def _precedence(item: Item) -> tuple[bool, str, str]:
    """Order items whose prefixes are equal once folded: the one that is spelled so already goes first.

    Not the first of the file, so that its order means nothing; only of bare names, which have no owner, it decides.
    """
    return fold(item.prefix) != item.prefix, item.prefix, item.server if item.prefix else ""


def _plain_item(config: ServerConfig, key: str, shown: str, fields: Fields) -> Item:
    """Make an item under its plain name, whoever else has that."""
    prefix = accepted(config.name if config.prefix is None else config.prefix)
    pinned = key in config.pinned or shown in config.pinned
    return Item(config.name, key, prefix, accepted(shown), fields, pinned)
