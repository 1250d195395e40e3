"""`tokens`: estimates and sums."""

import gzip
import json
import re
from pathlib import Path

import pytest

from cli.conftest import Place, server
from search_mcp.cli.tokens.estimating import estimate

RECORDED = Path(__file__).parents[3] / "benchmarks" / "search" / "recorded.tools.jsonl.gz"
RECORDED_TOKENS = 121_095
"""Tokens of the definitions below, counted with o200k_base (npm gpt-tokenizer 3)."""


@pytest.fixture
def box(place: Place) -> Place:
    place.configure({"toolbox": server("toolbox"), "pinned": server("toolbox", pinned=["echo"])})
    return place


@pytest.mark.skipif(not RECORDED.exists(), reason="a source distribution has no recorded catalogue")
def test_the_estimate_is_close_to_the_count() -> None:
    tools = map(json.loads, gzip.decompress(RECORDED.read_bytes()).splitlines())
    counted = sum(
        estimate(
            json.dumps(
                {
                    "name": f"{tool['server']}.{tool['tool']}",
                    "description": tool["description"],
                    "inputSchema": tool["inputSchema"],
                },
                ensure_ascii=False,
                separators=(",", ":"),
            )
        )
        for tool in tools
    )
    assert counted == pytest.approx(RECORDED_TOKENS, rel=0.05)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("list files", 2),
        ("list_files", 2),
        ("12345", 2),
        ("internationalisation", 3),
        ("日本語", 2),
        ("\n", 1),
    ],
)
def test_the_estimate_of_a_few_words(text: str, tokens: int) -> None:
    assert estimate(text) == tokens


def test_the_parts_add_up_to_the_total(box: Place) -> None:
    told = box.run("tokens", "--json").json
    modes = ("full", "light", "search")
    for mode in modes:
        of_servers = sum(each[mode] for each in told["servers"])
        assert told["total"][mode] == of_servers + told["ownTools"][mode] + told["instructions"]
    by_name = {each["name"]: each for each in told["servers"]}
    assert by_name["toolbox"]["tools"] == 7
    assert by_name["toolbox"]["full"] > by_name["toolbox"]["light"] > by_name["toolbox"]["search"] == 0
    assert by_name["pinned"]["search"] > 0  # pinned tools are listed in full in every mode
    assert told["directly"] == sum(each["full"] for each in told["servers"])


def test_sessions_and_where_they_break_even(box: Place) -> None:
    told, said = box.run("tokens", "--json").json, box.run("tokens").out
    for session in told["sessions"]:
        searches = session["searches"] * told["search"]
        assert session["full"] == told["total"]["full"]
        assert session["light"] == told["total"]["light"] + searches
        assert session["search"] == told["total"]["search"] + searches
    for mode, even in told["breakEvenSearches"].items():
        assert told["total"][mode] + even * told["search"] <= told["total"]["full"]
        assert told["total"][mode] + (even + 1) * told["search"] > told["total"]["full"]
        assert re.search(f'"{mode}" is cheaper than "full" up to {even:,} search(es)? a session', said)


def test_without_any_tools(place: Place) -> None:
    place.configure({})
    ended = place.run("tokens", "--json")
    assert (ended.code, ended.json["servers"]) == (0, [])
    assert ended.json["search"] > 0
    assert '"search" is never cheaper than "full", and "light" is never cheaper than "full".' in place.run("tokens").out
