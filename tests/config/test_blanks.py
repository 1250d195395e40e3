"""Values that an example leaves to its reader."""

import pytest

from search_mcp.config.blanks import blanks, is_blank, setting


@pytest.mark.parametrize(
    "value",
    [
        "<YOUR_TOKEN>",
        "Bearer <token>",
        "postgres://<user>:<password>@localhost/db",
        "<PERSONAL ACCESS TOKEN HERE>",
        "YOUR_API_KEY",
        "Bearer YOUR_MCP_TOKEN",
        "your-tavily-api-key",
        "https://your-domain.atlassian.net",
        "YOUR API KEY",
        "API_KEY_HERE",
        "ghp_xxxxxxxxxxxx",
        "XXXX-XXXX",
        "sk-...",
        "ghp_…",
        "changeme",
        "REPLACE_ME",
        "${input:token}",
    ],
)
def test_the_placeholder_of_an_example_is_blank(value: str) -> None:
    assert is_blank(value)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "ghp_abc123",
        "${GITHUB_TOKEN}",
        "${keyring:search-mcp/a/TOKEN}",
        "yours",
        "Answer your questions. Look here",
        "Ada <ada@example.com>",
        "./...",
        "maxxx",
        "change_medium",
        "a < b",
        "true",
        0,
        None,
    ],
)
def test_any_other_value_is_not(value: object) -> None:
    assert not is_blank(value)


def test_blanks_are_found_in_variables_and_headers() -> None:
    entry = {"command": "<x>", "env": {"A": "<x>", "B": "1"}, "headers": {"Authorization": "Bearer <x>"}}
    assert [*blanks(entry)] == [("env", "A"), ("headers", "Authorization")]
    assert [*blanks({"command": "x"})] == []


def test_the_command_names_the_file() -> None:
    assert setting("my server", "TOKEN") == "search-mcp secret 'my server' TOKEN"
    assert setting("a", "TOKEN", "/x/y.json") == "search-mcp secret a TOKEN --config /x/y.json"
