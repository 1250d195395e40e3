"""The views of the page, for the tests of all of them."""

from urllib.parse import urlencode

from page.routes import paths

NAMES = ("servers", "server", "waiting", "try", "clients", "usage", "add")
"""The path of each view; a new view belongs here."""
VIEWS = tuple(each for each in NAMES if each in paths("GET"))


def address(view: str, server: str) -> str:
    """Return the path of a view with its query; of the views of one server, that of this one."""
    return f"{view}?{urlencode({'name': server})}" if view == "server" else view
