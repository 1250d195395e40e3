"""Plain queries over the tools of the five reference servers: results, and whether the first tool fits.

`reference.tools.jsonl` holds the tools of @modelcontextprotocol/server-everything, -filesystem and -memory 2026.8.31,
mcp-server-git 2026.10.19 and mcp-server-time 2026.10.19 with their annotations, one per line.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from search_mcp.search import Document, Effect, Index

TOOLS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "reference.tools.jsonl").read_text(encoding="utf-8").splitlines()
]
TITLES = {  # of the servers
    "everything": "Everything Reference Server",
    "filesystem": "secure-filesystem-server",
    "git": "mcp-git",
    "memory": "memory-server",
    "time": "mcp-time",
}


def indexed(tools: Iterable[dict[str, Any]]) -> Index:
    index = Index()
    by_server: dict[str, list[Document]] = {}
    for tool in tools:
        server, name = tool["server"], tool["tool"]
        by_server.setdefault(server, []).append(
            Document(
                f"{server}.{name}",
                server,
                name,
                tool["description"],
                tool["inputSchema"],
                TITLES[server],
                effect=Effect.declared(
                    tool["annotations"].get("readOnlyHint"), tool["annotations"].get("destructiveHint")
                ),
            )
        )
    for server, documents in by_server.items():
        index.add(server, documents)
    return index


INDEX = indexed(TOOLS)

READS = "read_file read_text_file"
DIFFS = "git_diff git_diff_unstaged git_diff_staged"
REMEMBERS = "add_observations create_entities"

FOUND = [
    # query, and tools of which one must be among the first three
    ("what time is it in Tokyo", "get_current_time"),
    ("current time", "get_current_time"),
    ("convert 3pm London to Tokyo time", "convert_time"),
    ("read file", READS),
    ("read several files at once", "read_multiple_files"),
    ("list directory", "list_directory"),
    ("show the folder tree", "directory_tree"),
    ("rename a file", "move_file"),
    ("make a new folder", "create_directory"),
    ("find all python files", "search_files"),
    ("how big is this file", "get_file_info list_directory_with_sizes"),
    ("write text to a file", "write_file"),
    ("replace a line in a file", "edit_file"),
    ("commit", "git_commit"),
    ("commit my changes", "git_commit"),
    ("switch branch", "git_checkout"),
    ("make a branch", "git_create_branch"),
    ("list git branches", "git_branch"),
    ("stage a file", "git_add"),
    ("unstage everything", "git_reset"),
    ("undo my commit", "git_reset"),
    ("show recent commits", "git_log"),
    ("which files changed since last commit", f"git_status {DIFFS}"),
    ("what did I change but not stage yet", "git_diff_unstaged"),
    ("remember that Anna likes tea", REMEMBERS),
    ("remember something about a person", REMEMBERS),
    ("save a note", f"{REMEMBERS} write_file"),
    ("forget what I told you about Anna", "delete_observations delete_entities"),
    ("show the whole knowledge graph", "read_graph"),
    ("add two numbers", "get-sum"),
    ("compress a file", "gzip-file-as-resource"),
    ("environment variables", "get-env"),
]
FOREIGN = [
    # query in another language, and the tool that must be the first
    ("Wie spät ist es in Berlin?", "get_current_time"),
    ("Wie viel Uhr ist es in Berlin?", "get_current_time"),
    ("que hora es en Madrid", "get_current_time"),
    ("Que horas são em Lisboa?", "get_current_time"),
    ("Который час в Москве?", "get_current_time"),
    ("몇 시예요", "get_current_time"),
    ("addiere zwei Zahlen", "get-sum"),
    ("Summe von zwei Zahlen", "get-sum"),
    ("additionner deux nombres", "get-sum"),
    ("сумма двух чисел", "get-sum"),
    ("2つの数を足して", "get-sum"),
    ("两数之和", "get-sum"),
]

MISSED = [
    ("show me what is in config.json", READS),  # other tools contain "show" and "json"
    ("what do you know about Anna", "search_nodes open_nodes read_graph"),  # only fillers and a name
]


@pytest.mark.parametrize(
    ("query", "right"), [*FOUND, *(pytest.param(*row, marks=pytest.mark.xfail(strict=True)) for row in MISSED)]
)
def test_a_right_tool_is_among_the_first_three(query: str, right: str) -> None:
    found = [hit.name.partition(".")[2] for hit in INDEX.search(query, 3)]
    assert not set(right.split()).isdisjoint(found), found


@pytest.mark.parametrize(("query", "right"), FOREIGN)
def test_an_everyday_request_in_another_language_finds_its_tool_first(query: str, right: str) -> None:
    answer = INDEX.answer(query, 1)
    assert [hit.name.partition(".")[2] for hit in answer.hits] == [right]
    assert answer.fits


ORDERED = [
    # query, and the tool that must rank before the others
    ("which files changed since last commit", "git_diff_unstaged", "git_commit"),
    ("welche Commits gibt es", "git_log", "git_commit"),
    ("don't delete any relations, just read the graph", "read_graph", "delete_relations"),
    ("remember that Anna likes tea", "add_observations", "search_files"),
    ("remember something about a person", "add_observations", "open_nodes delete_observations delete_entities"),
    ("save a note", "add_observations", "git_diff_unstaged"),
    ("observations", "add_observations", "delete_observations"),
    ("relations", "create_relations", "delete_relations"),
]


@pytest.mark.parametrize(("query", "first", "later"), ORDERED)
def test_a_tool_that_fits_ranks_before_tools_that_write_or_destroy(query: str, first: str, later: str) -> None:
    names = [hit.name.partition(".")[2] for hit in INDEX.search(query, len(INDEX))]
    assert first in names
    assert all(name not in names or names.index(first) < names.index(name) for name in later.split()), names


CLEAR = [
    "what time is it in Tokyo",
    "time in Tokyo",
    "Tokyo time",
    "read file",
    "read a file",
    "commit",
    "commit my changes",
    "list directory",
    "rename a file",
    "rename",
    "switch branch",
    "add two numbers",
    "compress a file",
    "environment variables",
    "list git branches",
    "make a new folder",
    "which files changed since last commit",
]
UNCLEAR = [
    "send an email to Bob",
    "open a web page",
    "delete a file",
    "book a flight to Paris",
    "take a screenshot",
    "play some music",
    "send a slack message",
    "run a shell command",
    "generate an image",
    "remove a file",
    "erase the folder",
]


@pytest.mark.parametrize("query", CLEAR)
def test_a_tool_fits_a_clear_query(query: str) -> None:
    assert INDEX.answer(query, 5).fits


@pytest.mark.parametrize("query", UNCLEAR)
def test_no_tool_fits_an_unrelated_query(query: str) -> None:
    assert not INDEX.answer(query, 5).fits


@pytest.mark.parametrize("query", ["which files changed", "current time in git", "remember a person"])
def test_the_explained_score_is_the_one_that_ranks(query: str) -> None:
    for hit in INDEX.search(query, 10):
        explanation = INDEX.explain(query, hit.name)
        assert explanation is not None
        assert explanation.score == pytest.approx(hit.score)


def test_the_order_of_the_catalogue_does_not_matter() -> None:
    backwards = indexed(reversed(TOOLS))
    for query in [*CLEAR, *UNCLEAR, *(query for query, _ in FOUND)]:
        assert backwards.answer(query, 10) == INDEX.answer(query, 10)
