"""Lists that were read several times, or of several backends of one process, kept once in memory."""

from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry, ServerList
from search_mcp.wire.structs import replace


class EqualLists:
    """The newest list of each kind of each server."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, Kind], tuple[Entry, ...]] = {}

    def kept_once(self, server: str, kind: Kind, server_list: ServerList) -> ServerList:
        """Return a list with the entries of the last equal one."""
        known = self._entries.setdefault((server, kind), server_list.entries)
        if known is server_list.entries:
            return server_list
        if known == server_list.entries:
            return replace(server_list, entries=known)
        self._entries[server, kind] = server_list.entries
        return server_list
