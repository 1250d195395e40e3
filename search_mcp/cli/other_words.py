"""Commands of other tools that search-mcp does not have, each with a sentence about its own."""

from collections.abc import Mapping, Sequence
from typing import Final

from search_mcp import installer

_CHECK: Final = "`search-mcp check` starts the servers and shows their problems"
_CONFIG: Final = (
    "`search-mcp config path` prints the path of the file, and `search-mcp ui` changes servers in the browser"
)
_LIST: Final = "`search-mcp list` lists the tools"
_PAGE: Final = "`search-mcp ui` opens the page"
_REMOVE: Final = (
    "`search-mcp remove NAME` removes a server, and `search-mcp uninstall` search-mcp itself from your clients"
)
_SERVERS: Final = "`search-mcp servers` shows the servers, and `search-mcp clients` the clients"
_RESTART: Final = (
    "`search-mcp ui` restarts a server, as does an edit of its entry; "
    "`search-mcp engine stop` stops the engine and its servers until a client sends a message"
)
_INSTEAD: Final[Mapping[str, str]] = {
    "accept": "`search-mcp check --accept NAME` shows the changes of a server, and accepts them",
    "config edit": _CONFIG,
    "config show": "`search-mcp config path` prints the path of the file, and `search-mcp servers` shows its servers",
    "config distrust": "`search-mcp config trust --undo` stops using a project's config file",
    "connect": "`search-mcp install CLIENT` registers search-mcp in a client",
    "dashboard": _PAGE,
    "delete": _REMOVE,
    "doctor": _CHECK,
    "edit": _CONFIG,
    "inspect": "`search-mcp describe TOOL` shows a tool, and `search-mcp check NAME` a server",
    "login": "`search-mcp auth login NAME` logs in to a server",
    "logout": "`search-mcp auth logout NAME` logs out of a server",
    "ls": _SERVERS,
    "ps": "`search-mcp engine status` shows the servers that run for your clients",
    "rename": "write the new name into the config file, whose path `search-mcp config path` prints; to rename a tool, "
    'write "rename": {"OLD": "NEW"} into the entry of its server',
    "restart": _RESTART,
    "rm": _REMOVE,
    "run": "clients start search-mcp themselves, with `search-mcp serve`",
    "start": "`search-mcp enable NAME` enables a server, and `search-mcp check NAME` starts it once",
    "stats": "`search-mcp usage` shows the calls, and `search-mcp tokens` the cost of the tools",
    "status": f"`search-mcp servers` shows the servers; {_CHECK}",
    "stop": "`search-mcp disable NAME` disables a server, `search-mcp engine stop` stops the engine and all servers",
    "tools": _LIST,
    "trust": "`search-mcp config trust` trusts a project's config file",
    "validate": "`search-mcp config validate` reports mistakes in the config file",
    "web": _PAGE,
}
_OF_UPDATES: Final = ("update", "upgrade", "self-update")


def instead_of(words: Sequence[str]) -> tuple[str, str, str] | None:
    """Return the unknown command of a command line, its sentence, and a command to copy; None for any other."""
    for word in (" ".join(words[:2]), *words[:1]):
        if word in _INSTEAD:
            return word, _INSTEAD[word], ""
        if word in _OF_UPDATES:
            return word, *installer.update()
    return None
