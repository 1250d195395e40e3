"""The description of each server in one line."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.catalog.about import about, first_sentence
from search_mcp.catalog.items import Item
from search_mcp.config.schema import ServerConfig
from search_mcp.model.names import Era
from search_mcp.model.servers import ServerCapabilities

TOOLS = [Item("s", name, "s", name, {}) for name in ("read", "write", "list", "move")]
MARKDOWN = """\
# Everything Server – Server Instructions

> Audience: models

```
$ run this first
```
| a | table |
---
- one item
Use **this** server to [test](https://x.example/a) `clients`
of every kind. It does more.

Another paragraph.
"""


def offer(title: str = "", instructions: str = "") -> ServerCapabilities:
    return ServerCapabilities("2025-11-25", Era.LEGACY, frozenset(), instructions=instructions, title=title)


def described(
    name: str, said: ServerCapabilities | None = None, tools: list[Item] | None = None, /, **config: Any
) -> str:
    return about(ServerConfig(name=name, command="x", **config), said, tools or [], 160)


TITLES = [
    # server, title, whether it says more than the name
    ("time", "mcp-time", False),
    ("filesystem", "secure-filesystem-server", False),
    ("memory", "memory-server", False),
    ("git", "mcp-git", False),
    ("everything", "example-servers/everything", False),
    ("github", "GitHub MCP Server", False),
    ("my_files", "Files", False),
    ("ctx", "Context7", True),
    ("maps", "Google Maps Platform", True),
    ("docs", "Search and read the manuals of a company", True),
]


@pytest.mark.parametrize(("server", "title", "says_more"), TITLES)
def test_a_title_counts_if_it_says_more_than_the_name(server: str, title: str, says_more: bool) -> None:
    assert described(server, offer(title)) == (f'"{title}"' if says_more else "")


def test_the_first_known_text_in_order_describes_a_server() -> None:
    said = offer("A place for notes", "Keeps notes. And more.")
    config = {"description": "My notes. All of them.", "tags": ("work", "text")}
    assert described("s", said, TOOLS, **config) == "My notes."
    del config["description"]
    assert described("s", said, TOOLS, **config) == '"A place for notes"'
    assert described("s", offer("Notable", "Keeps notes. And more."), TOOLS, **config) == '"Keeps notes."'
    assert described("s", offer("Notable"), TOOLS, **config) == "work, text"
    assert described("s", offer("Notable")) == '"Notable"'
    assert described("s", offer("Notable"), TOOLS) == "read, write, list, move"
    assert described("s", None, TOOLS) == "read, write, list, move"
    assert described("s", None) == described("s", offer()) == ""


def test_a_sentence_about_the_instructions_themselves_says_nothing() -> None:
    said = offer("", "These instructions are written for an AI model. It keeps notes.")
    assert described("s", said, TOOLS) == "read, write, list, move"


@pytest.mark.parametrize(
    ("names", "then"),
    [
        pytest.param(
            "list read_file read_text write move copy delete", "list, read_file, write, move, copy, delete, …"
        ),
        pytest.param(
            "git_diff git_diff_all git_log", "git_diff, git_log, git_diff_all", id="behind a common beginning"
        ),
        pytest.param("getIssue getPR listRepos", "getIssue, listRepos, getPR", id="camel case"),
        pytest.param("get_a get_b", "get_a, get_b", id="all with one verb"),
        pytest.param("___", "___", id="no words"),
    ],
)
def test_the_tools_with_different_verbs_come_first(names: str, then: str) -> None:
    assert described("s", None, [Item("s", name, "s", name, {}) for name in names.split()]) == then


SENTENCES = [
    pytest.param(MARKDOWN, "Use this server to test clients of every kind. It does more.", id="Markdown"),
    pytest.param("# Only\n## Headings", "", id="headings only"),
    pytest.param("# Rules\n- Call `list` first.\n- Then read.", "Call list first.", id="a list only"),
    pytest.param("1. Call list first.\n2. Read.", "Call list first.", id="a numbered list only"),
    pytest.param("```\ncode\n", "", id="code that does not end"),
    pytest.param("A\x1b[31m\u202e line.\r\nAnother", "A [31m line. Another", id="marks that no one sees"),
    pytest.param("", "", id="nothing"),
]


@pytest.mark.parametrize(("instructions", "then"), SENTENCES)
def test_the_first_plain_sentence_of_instructions(instructions: str, then: str) -> None:
    assert first_sentence(instructions) == then


PIECES = st.sampled_from(["# ", "- ", "```", "\n", "\n\n", "[", "](", "x", " ", ".", "**", "|", "<", "1) ", "\x00"])


@given(st.lists(PIECES, max_size=50).map("".join), st.text(max_size=30))
def test_any_description_is_one_line(instructions: str, title: str) -> None:
    said = described("s", offer(title, instructions))
    assert len(said) <= 160
    assert said.isprintable()


@pytest.mark.parametrize("piece", ["[", "[a](", "**", "- ", "1. ", "```\n", "\n", "#", "_", "a.", "A. ", " "])
def test_only_the_beginning_of_a_long_text_is_read(piece: str) -> None:
    """The end of the text changes nothing."""
    endless = piece * 10_000
    assert first_sentence(endless) == first_sentence(endless + "The end.")
