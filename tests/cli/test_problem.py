"""Errors of calls, as a person reads them."""

import pytest

from search_mcp.cli.problem import of_call
from search_mcp.model.errors import NeedsLogin, NotCompared, ToolWithheld
from search_mcp.wire.errors import WireError

PINNED = 'did not list its tools, so they cannot be compared with the accepted ones, as "pinTools" requires'
FOR_THE_USER = [
    (
        ToolWithheld("a.read", "a", "search-mcp check --accept a"),
        "Tool withheld: a.read has changed since it was first seen; run `search-mcp check --accept a`",
    ),
    (NotCompared("a", "tools", "search-mcp check a"), f"MCP server 'a' {PINNED}; run `search-mcp check a`"),
    (
        NeedsLogin("a", "search-mcp auth login a", "the token expired"),
        "MCP server 'a' needs a login (the token expired); run `search-mcp auth login a`",
    ),
]


@pytest.mark.parametrize(("error", "then"), FOR_THE_USER)
def test_a_person_is_told_what_to_run_and_not_to_ask_the_user(error: WireError, then: str) -> None:
    assert str(of_call(error, "a.read", ())) == then
