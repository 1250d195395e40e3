"""Tools or prompts with unique names, and the lookup of all their spellings."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, WeakValueDictionary

from search_mcp.catalog.items import OWN_NAMES, Item, accepted, fold, stable_suffix, without_separators
from search_mcp.catalog.prefixes import Prefixes
from search_mcp.config.schema import ServerConfig
from search_mcp.model.sentences import shortened
from search_mcp.wire.structs import Fields, Struct, field, replace

if TYPE_CHECKING:
    from search_mcp.catalog.profiles import Profile


class Admitted(Struct, frozen=True):
    """Everything that `NamedItems` are made of; equal ones make equal items."""

    items: Sequence[Item]
    """Each with its plain name, which need not be unique."""
    prefixes: Prefixes = field(default_factory=Prefixes)
    withheld: frozenset[str] = frozenset()
    """Names that are not given to other servers."""
    noun: str = "tool"
    ours: tuple[str, ...] = OWN_NAMES
    """The names of search-mcp's own tools."""


class NamedItems(Sequence[Item]):
    """Tools or prompts in order, with a lookup by all unambiguous spellings of their names.

    No name or spelling of an item begins with the prefix of another server. If two names are equal when folded, the
    owner of the prefix keeps the plain name, in any order of the file, and the other gets a suffix.
    """

    def __init__(self, admitted: Admitted) -> None:
        self.made_of = admitted
        self.shown_names: WeakValueDictionary[Profile, Any] = WeakValueDictionary()
        """The `ShownNames` of each profile in use."""
        self._prefixes, self._noun = admitted.prefixes, admitted.noun
        self._withheld = frozenset(map(fold, admitted.withheld))
        self._by_bare: dict[str, list[Item]] = {}
        self.collisions: list[tuple[str, str]] = []
        self._by_name: dict[str, Item] = {}
        # None: ambiguous, or one of search-mcp's own tools
        self._by_fold: dict[str, Item | None] = dict.fromkeys(map(fold, admitted.ours))
        self._by_other: dict[str, Item] = {}
        named = self._name(admitted.items)
        self._items = [item for item in named if item is not None]
        for item, was in zip(named, admitted.items, strict=True):
            if item is not None:
                self._add_spellings(item, was.own)
        for item in self._items:
            self._add_folded_spelling(item)

    def _name(self, plain: Sequence[Item]) -> "list[Item | None]":
        """Give all items canonical names: owners of a prefix first, then names with another server's prefix."""
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
        """Return an item with its canonical name; `None` if another server has the same bare name."""
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
            item = replace(plain, own=f"{plain.own}_{suffix}", is_suffixed=True)
            if not self._prefixes.admits(item.server, item.name):  # begin with a letter
                item = replace(item, own=f"x{suffix}_{without_separators(plain.own)}")
            attempt += 1
        key, name = shortened(plain.key), shortened(plain.name)
        problem = f"its {self._noun} {key} is called {shortened(item.name)}, because {name} {reason}"
        self.collisions.append((item.server, problem))
        return item

    def _why_suffixed(self, item: Item) -> str | None:
        """Return the reason why an item cannot have its plain name, if there is one."""
        if not self.admits(item, item.name):
            owners = self._prefixes.rivals(item.server, item.name)
            return f"begins like the names of server {', '.join(map(repr, sorted(owners)))}"
        folded = fold(item.name)
        if folded not in self._by_fold:
            return None
        other = self._by_fold[folded]
        return f"reads like {shortened(folded if other is None else other.name)}, which is " + (
            "search-mcp's own" if other is None else f"another {self._noun} of {other.server!r}"
        )

    def _add_spellings(self, item: Item, plain_own: str) -> None:
        """Add the other spellings of an item: with `__`, with its server's name, without its suffix."""
        self._by_bare.setdefault(fold(plain_own), []).append(item)
        # With the server's name, too, for any `prefix`, unless that is a spelling of another item.
        for spelling in (_double(item), f"{item.server}.{item.own}"):
            rival = self._by_fold.get(spelling)
            if spelling != item.name and (
                rival is None or rival.server == item.server or self._is_not_of(rival, spelling)
            ):
                self._add_spelling(item, spelling)
        if item.prefix and plain_own != item.own:
            for spelling in (f"{item.prefix}.{plain_own}", f"{item.prefix}__{plain_own}"):
                rival = self._by_fold.get(fold(spelling))
                if rival is None or self._is_not_of(rival, spelling):
                    self._add_spelling(item, spelling)

    def _is_not_of(self, rival: Item, spelling: str) -> bool:
        """Return whether a spelling, as it is written, begins with the prefix of another server than the rival's."""
        return not self._prefixes.admits_as_written(rival.server, spelling)

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
        """Look up a folded name; a name with a server's prefix, as written, never finds another server's item."""
        item = self._by_fold.get(fold(spelling))
        return item if item is not None and self._prefixes.admits_as_written(item.server, spelling) else None

    def find_bare(self, name: str) -> Item | None:
        """Look up a name without its server's prefix; it must be unique, and the tool not reserved for apps."""
        items = self.sharing(name)
        if len(items) != 1 or not items[0].is_for_models or fold(name) in self._withheld:
            return None
        return items[0]

    def sharing(self, name: str) -> Sequence[Item]:
        """Return all items that a bare name may mean."""
        folded = fold(name)
        if folded in self._by_fold:  # one of search-mcp's own tools, or a folded full name
            return ()
        owners = self._prefixes.owners(name)
        return [item for item in self._by_bare.get(folded, ()) if not owners or item.server in owners]

    def admits(self, item: Item, name: str) -> bool:
        """Return whether an item may have this name, which must not begin with another server's prefix."""
        return self._begins_with_its_own(item, name) or self._prefixes.admits(item.server, name)

    def admits_as_written(self, item: Item, name: str) -> bool:
        """Return whether an item may have this name as it is written, if it ends in a unique suffix."""
        return self._begins_with_its_own(item, name) or self._prefixes.admits_as_written(item.server, name)

    def _begins_with_its_own(self, item: Item, name: str) -> bool:
        """Return whether a name is clearly its server's, as nearly all are; a fast check."""
        if not self._prefixes.is_unrivalled(item.prefix) or not name.startswith(item.prefix):
            return False
        return name.startswith((".", "__"), len(item.prefix))

    def carries_prefix(self, name: str) -> bool:
        """Return whether a name begins with a server's prefix."""
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
        """The tools that app pages may call, by their names at their servers, which are all that a page knows.

        Names that two servers with apps have are left out.
        """
        callable_items = [item for item in self._items if item.is_for_apps and item.server in self.servers_with_apps]
        having = Counter(item.key for item in callable_items)
        return {item.key: item for item in callable_items if having[item.key] == 1 and self.admits(item, item.key)}


class NamedOnce:
    """The tools and prompts in use, for any number of clients: those made of equal definitions are made once."""

    def __init__(self) -> None:
        self._in_use: WeakSet[NamedItems] = WeakSet()

    def __call__(self, admitted: Admitted) -> NamedItems:
        """Return the items that are made of these definitions."""
        for each in self._in_use:
            if each.made_of == admitted:
                return each
        made = NamedItems(admitted)
        self._in_use.add(made)
        return made


def _double(item: Item) -> str:
    """Return an item's name with `__`, as it is shown to many clients."""
    return f"{item.prefix}__{item.own}" if item.prefix else item.own


def _precedence(item: Item) -> tuple[bool, str, str]:
    """Return a sort key for items whose prefixes are equal when folded: a prefix that folding does not change is first.

    The order of the file decides only for bare names, which have no owner.
    """
    return fold(item.prefix) != item.prefix, item.prefix, item.server if item.prefix else ""


def plain_item(config: ServerConfig, key: str, shown: str, fields: Fields) -> Item:
    """Make an item with its plain name, which need not be unique."""
    prefix = accepted(config.effective_prefix)
    pinned = key in config.pinned or shown in config.pinned
    is_limited = config.max_result_characters is not None
    return Item(config.name, key, prefix, accepted(shown), fields, pinned, is_limited)
