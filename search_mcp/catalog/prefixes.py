"""The name prefixes of all servers, and the owners of names by prefix."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from search_mcp.catalog.items import accepted, fold
from search_mcp.catalog.profiles import without_registration
from search_mcp.config.schema import ServerConfig


class Prefixes:
    """Maps names to servers by prefix; the longest prefix decides.

    A server owns its effective prefix, and also its name unless that is another server's prefix. Servers that do not
    run, or are switched off, keep theirs.
    """

    def __init__(self, servers: Iterable[ServerConfig] = ()) -> None:
        configs = list(servers)
        self._exact: dict[str, frozenset[str]] = {}
        for config in configs:
            self._claim(accepted(config.effective_prefix), config.name)
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

    def __eq__(self, other: object) -> bool:  # everything else is derived from them
        return isinstance(other, Prefixes) and self._exact == other._exact

    __hash__ = None  # type: ignore[assignment]

    def _is_unrivalled(self, prefix: str, ordered: Sequence[str]) -> bool:
        """Return whether no other prefix begins with this one, or is equal to it, when folded."""
        folded = fold(prefix)
        behind = bisect_left(ordered, folded + "_")
        has_longer = behind < len(ordered) and ordered[behind].startswith(folded + "_")
        return not has_longer and len(self._folded[folded]) == 1

    def _claim(self, prefix: str, server: str) -> None:
        if prefix:
            self._exact[prefix] = self._exact.get(prefix, _NOBODY) | {server}

    def split(self, name: str) -> tuple[frozenset[str], str]:
        """Return the owners of the longest prefix before `.` or `__`, and the rest behind the separator.

        A prefix that is equal as written takes precedence over one that is equal when folded.
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
        """Return the owners of the longest prefix that a name begins with when folded."""
        head = fold(name[: self._longest + 1])
        at = head.rfind("_")
        while at > 0:
            if owners := self._folded.get(head[:at]):
                return owners
            at = head.rfind("_", 0, at)
        return _NOBODY

    def owners(self, name: str) -> frozenset[str]:
        """Return the servers that a spelling can mean; none if it begins with no prefix."""
        return self._written_owners(name) or self._folded_owners(name)

    def is_unrivalled(self, prefix: str) -> bool:
        """Return whether all names with this prefix are its server's, because no other prefix begins with it."""
        return prefix in self._unrivalled

    def admits(self, server: str, name: str) -> bool:
        """Return whether a server's item may have this name: no other prefix matches it, as written or folded."""
        return not self.rivals(server, name)

    def rivals(self, server: str, name: str) -> frozenset[str]:
        """Return the other servers that a name of a server's item would belong to."""
        owners = self._written_owners(name)
        if not owners or server in owners:
            owners = self._folded_owners(name)
        return _NOBODY if server in owners else owners

    def admits_as_written(self, server: str, name: str) -> bool:
        """Return whether a name, as it is written, begins with no other server's prefix."""
        return server in (self._written_owners(name) or (server,))

    def _written_owners(self, name: str) -> frozenset[str]:
        """Return the owners of a name's prefix, which clients may put the registration of search-mcp before."""
        return self.split(name)[0] or self.split(without_registration(name) or "")[0]

    def _folded_owners(self, name: str) -> frozenset[str]:
        return self.of_folded(name) or self.of_folded(without_registration(name) or "")


_NOBODY: frozenset[str] = frozenset()
_SEPARATOR = re.compile(r"\.|_(?=_)")
