"""Edits of the globs in `tools` of an entry, so that a single tool is shown or hidden. Pure."""

import re
from fnmatch import fnmatchcase

from search_mcp.cli.problem import Problem
from search_mcp.clients.document import Document
from search_mcp.clients.merging import ROOT

_GLOB = re.compile(r"[*?[]")


def shown(own: Document, server: str, tool: str) -> Document:
    """Show a tool of a server, by the server's own name for it.

    Raises:
        Problem: a pattern in the file hides it.
    """
    allow, deny = _filters(own, server)
    rest = [each for each in deny if each not in (tool, literal(tool))]
    if (pattern := next((each for each in rest if fnmatchcase(tool, each)), None)) is not None:
        raise Problem(f'the pattern {pattern!r} in "deny" of {server} hides {tool}', f"edit it in {own.source}")
    if rest != deny:
        own = _without_deny(own, server) if not rest else own.put((ROOT, server, "tools", "deny"), rest)
    if allow and not any(fnmatchcase(tool, each) for each in allow):
        own = _with_allow(own, server, [*allow, literal(tool)])
    return own


def hidden(own: Document, server: str, tool: str) -> Document:
    """Hide a tool of a server, by the server's own name for it."""
    allow, deny = _filters(own, server)
    if any(fnmatchcase(tool, each) for each in deny) or (allow and not any(fnmatchcase(tool, each) for each in allow)):
        return own
    others = [each for each in allow if each not in (tool, literal(tool))]
    if others and others != allow and not any(fnmatchcase(tool, each) for each in others):
        return _with_allow(own, server, others)
    if isinstance(own.members((ROOT, server)).get("tools"), list):
        own = own.put((ROOT, server, "tools"), {"allow": allow})
    return own.put((ROOT, server, "tools", "deny"), [*deny, literal(tool)])


def _without_deny(own: Document, server: str) -> Document:
    own = own.drop((ROOT, server, "tools", "deny"))
    return own if own.members((ROOT, server, "tools")) else own.drop((ROOT, server, "tools"))


def _filters(own: Document, server: str) -> tuple[list[str], list[str]]:
    """Return the globs of an entry: those of shown tools (empty for all), and those of hidden tools.

    Raises:
        Problem: they are not lists of text.
    """
    tools = own.members((ROOT, server)).get("tools")
    by_key = {"allow": tools} if isinstance(tools, list) else own.members((ROOT, server, "tools"))
    found = [by_key.get(key) or [] for key in ("allow", "deny")]
    if not all(isinstance(globs, list) and all(isinstance(each, str) for each in globs) for globs in found):
        raise Problem(f'"tools" of {server} cannot be edited', "`search-mcp config validate` shows its fault")
    return found[0], found[1]


def _with_allow(own: Document, server: str, allow: list[str]) -> Document:
    is_list = isinstance(own.members((ROOT, server)).get("tools"), list)
    return own.put((ROOT, server, "tools") if is_list else (ROOT, server, "tools", "allow"), allow)


def literal(tool: str) -> str:
    """Return the glob that matches only this name."""
    return _GLOB.sub(lambda found: f"[{found[0]}]", tool)
