"""The command that starts this search-mcp from any folder."""

import pytest

from search_mcp.clients.command import is_temporary, own_command

STARTED = [
    ("/home/a/.local/bin/search-mcp", ("/found",)),
    ("search-mcp", ("/found",)),
    ("search-mcp.exe", ("/found",)),
    ("/lib/search_mcp/__main__.py", ("/python", "-P", "-m", "search_mcp")),
    ("-c", ("/python", "-P", "-m", "search_mcp")),
]


@pytest.mark.parametrize(("started_as", "command"), STARTED)
def test_own_command(started_as: str, command: tuple[str, ...]) -> None:
    assert own_command(started_as, "/python", lambda _: "/found") == command


def test_a_script_that_is_not_found() -> None:
    assert own_command("search-mcp", "/python", lambda _: None) == ("/python", "-P", "-m", "search_mcp")


PROGRAMS = [
    ("/home/a/.cache/uv/archive-v0/Wx3/bin/search-mcp", True),
    (r"C:\Users\a\AppData\Local\uv\cache\archive-v0\Wx3\Scripts\search-mcp.exe", True),
    ("/home/a/.cache/uv/environments-v2/search-mcp-1f/bin/python", True),
    ("/home/a/.cache/pipx/0123456789abcdef/bin/search-mcp", True),
    ("/home/a/.local/pipx/.cache/0123456789abcdef/bin/search-mcp", True),
    (r"C:\Users\a\AppData\Local\pipx\pipx\Cache\0123456789abcdef\Scripts\search-mcp.exe", True),
    ("/home/a/.local/pipx/venvs/search-mcp/bin/search-mcp", False),
    ("/home/a/.local/share/uv/tools/search-mcp/bin/search-mcp", False),
    ("/home/a/.local/bin/search-mcp", False),
]


@pytest.mark.parametrize(("program", "temporary"), PROGRAMS)
def test_is_temporary(program: str, temporary: bool) -> None:
    assert is_temporary(program) == temporary
