"""The views of the page, for the tests of all of them."""

from urllib.parse import urlencode

VIEWS = ("servers", "server", "waiting", "try", "clients", "client", "connect", "usage", "add")
"""The path of each view; a new view belongs here."""


def address(view: str, server: str) -> str:
    """Return the path of a view with its query: the views of one server are of this one."""
    queries = {"server": {"name": server}, "client": {"name": "codex"}, "connect": {"client": "codex"}}
    return f"{view}?{urlencode(queries[view])}" if view in queries else view
