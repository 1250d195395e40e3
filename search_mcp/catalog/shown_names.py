"""The names of tools and prompts for a client profile."""

from collections.abc import Iterable, Iterator

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import Item, fold, stable_suffix, without_separators
from search_mcp.catalog.named_items import NamedItems
from search_mcp.catalog.profiles import Profile, without_registration
from search_mcp.catalog.signature import signature
from search_mcp.model.errors import ToolNotUnique
from search_mcp.model.names import Kind
from search_mcp.model.similar import nearest
from search_mcp.wire.structs import Fields, Raw

MOST_SUGGESTIONS = 5


class ShownNames:
    """The shown names of items for one profile, and the lookup of names that a client uses."""

    def __init__(self, items: NamedItems, profile: Profile) -> None:
        self.light_definitions: dict[int, dict[str, Fields]] = {}
        """Short definitions of items by their names, for each length of descriptions; see `rendering`."""
        self.lists: dict[object, Raw] = {}
        """Lists with these names, by everything else that they are made of; see `gateway.listings`."""
        self._signatures: dict[str, str] = {}
        self._shown: dict[str, str] = {}
        self._by_shown: dict[str, Item] = {}
        self._items, self._profile = items, profile
        self._folded = folded = set(map(fold, items.made_of.ours))
        canonical = {item.name: item for item in items}  # valid for every client, so reserved
        for item in items:
            name = whole = shown_name(item, profile)
            if not items.admits(item, whole):  # it can be taken for one of another server
                name = whole = _unmistakable(whole, profile.max_length, item)
            attempt = 0
            while (spelling := fold(name)) in folded or canonical.get(name, item) is not item:
                name = _shortened(whole, profile.max_length, item, attempt)
                attempt += 1
            folded.add(spelling)
            self._shown[item.name] = name
            self._by_shown[name] = item

    def __getitem__(self, item: Item) -> str:
        return self._shown[item.name]

    def signature(self, item: Item) -> str:
        """Write how a tool is called; it is kept with the names."""
        if (known := self._signatures.get(item.name)) is None:
            written = signature(self[item], item.input_schema, description=item.description)
            known = self._signatures[item.name] = written
        return known

    def names(self) -> Iterable[str]:
        """Return all names that are shown to models, in order."""
        return [name for name, item in self._by_shown.items() if item.is_for_models]

    def spelled(self, name: str) -> Item | None:
        """Look up a full name, as shown or in another spelling."""
        return self._by_shown.get(name) or self._items.find(name)

    def find(self, name: str) -> Item | None:
        """Look up a full name, else a unique bare one; a client's prefix for search-mcp is removed if needed."""
        item = self.spelled(name) or self.bare(name)
        rest = without_registration(name) if item is None and not self._items.carries_prefix(name) else None
        return item if rest is None else self.spelled(rest) or self.bare(rest)

    def bare(self, name: str) -> Item | None:
        """Look up a name without a prefix, which must be unique."""
        return self._items.find_bare(name)

    def ambiguity(self, name: str) -> ToolNotUnique | None:
        """Return the error about a bare name that tools of several servers have; `None` if it is no such name."""
        sharing = self._sharing(name)
        servers = dict.fromkeys(item.server for item in sharing)
        return ToolNotUnique(name, [*servers], [self[item] for item in sharing]) if len(servers) > 1 else None

    def _sharing(self, name: str) -> list[Item]:
        return [item for item in self._items.sharing(name) if item.is_for_models]

    def near(self, name: str, others: Iterable[str] = ()) -> list[str]:
        """Suggest names for an unknown one: the meanings of an ambiguous bare name, then the most similar names."""
        sharing = [self[item] for item in self._sharing(name)]
        return list(dict.fromkeys([*sharing, *nearest(name, [*self.names(), *others])]))[:MOST_SUGGESTIONS]

    def for_apps(self) -> Iterator[tuple[str, Item]]:
        """Yield the tools that apps may call with the names they use, if the client accepts such a name.

        A name that means another tool to a model, possibly folded, is left out.
        """
        folded = set(self._folded)
        for name, item in self._items.for_apps.items():
            if self._profile.shown_name("", name) != name or len(name) > self._profile.max_length:
                continue
            meant = self.spelled(name)
            if meant is item or (meant is None and fold(name) not in folded):
                folded.add(fold(name))
                yield name, item


class Spellings:
    """The shown names of one catalog for all profiles, cached until it changes."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._made: dict[tuple[Kind, Profile], tuple[int, ShownNames]] = {}

    def of(self, kind: Kind, profile: Profile) -> ShownNames:
        """Return the shown names of the current tools or prompts."""
        version, names = self._made.get((kind, profile), (-1, None))
        if names is None or version != self.catalog.version:
            items = self.catalog.named(kind)
            names = items.shown_names.get(profile)
            if names is None:
                names = items.shown_names[profile] = ShownNames(items, profile)
            self._made[kind, profile] = self.catalog.version, names
        return names


def shown_name(item: Item, profile: Profile) -> str:
    """Return an item's name for a client; over the client's limit, a readable head and a hash."""
    name = profile.shown_name(item.prefix, item.own)
    return name if len(name) <= profile.max_length else _shortened(name, profile.max_length, item)


def _unmistakable(name: str, limit: int, item: Item) -> str:
    """Change a name so that it begins with no server's prefix, folded or not."""
    return f"x{stable_suffix(item.server, item.key)}_{without_separators(name)}"[:limit].rstrip("_")


def _shortened(name: str, limit: int, item: Item, attempt: int = 0) -> str:
    tail = "_" + stable_suffix(item.server, item.key, *([str(attempt)] if attempt else []))
    return name[: limit - len(tail)].rstrip("_.-") + tail
