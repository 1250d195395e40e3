"""`tokens`: counts, estimates and charts."""

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import tiny_encoding

from cli.conftest import Place, server
from search_mcp.cli.tokens.tokenizer import CACHE_VARIABLES, estimate

RECORDED = Path(__file__).parents[3] / "benchmarks" / "search" / "recorded.tools.jsonl.gz"
RECORDED_TOKENS = 121_095
"""Tokens of the definitions below, counted with o200k_base (npm gpt-tokenizer 3)."""


def without(module: str) -> tuple[str, ...]:
    """Return the command without a library installed."""
    script = (
        f"import sys; sys.modules[{module!r}] = None; from search_mcp.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    return (sys.executable, "-c", script)


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


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (
            without("tiktoken"),
            r'a count needs tiktoken\.\nThis .* missing:\n  \S+ -m pip install "tiktoken\S+"\n',
        ),
        (None, "tiktoken could not download the encoding"),
    ],
)
def test_without_a_tokenizer_tokens_are_estimated(box: Place, command: tuple[str, ...] | None, why: str) -> None:
    ended = box.run("tokens", **({"command": command} if command else {}))  # type: ignore[arg-type]
    assert (ended.code, ended.err) == (0, "")
    assert "Estimated" in ended.out
    assert re.search(why, ended.out)


COUNTED = {"name": "o200k_base", "isEstimate": False}


def cached(place: Place) -> Path:
    """Return the folder of encodings in our cache, on this platform."""
    script = "from search_mcp.folders import encodings_folder; print(encodings_folder())"
    return Path(place.run(command=(sys.executable, "-c", script)).out.strip())


def tokenizer_of(place: Place, **variables: str) -> Any:
    """Run the command with the real tiktoken and a small encoding; return its tokenizer."""
    place.variables.update(variables, PYTHONPATH=tiny_encoding.PLUGIN)
    tokenizer = place.run("tokens", "--json").json["tokenizer"]
    for name in variables:
        del place.variables[name]
    return tokenizer


def test_an_installed_tokenizer_counts_with_an_encoding_that_is_downloaded_once(place: Place) -> None:
    pytest.importorskip("tiktoken", reason="an extra")
    place.configure({})
    assert tokenizer_of(place, **{tiny_encoding.DOWNLOADS: "1"}) == COUNTED
    (file,) = cached(place).iterdir()
    assert (file.name, file.read_bytes()) == (tiny_encoding.FILE, tiny_encoding.TABLE)
    assert "Counted with o200k_base" in place.run("tokens", PYTHONPATH=tiny_encoding.PLUGIN).out


def test_an_encoding_is_stored_where_the_user_wants_it(place: Place, tmp_path: Path) -> None:
    pytest.importorskip("tiktoken", reason="an extra")
    place.configure({})
    for name in CACHE_VARIABLES:
        assert tokenizer_of(place, **{name: str(tmp_path / name), tiny_encoding.DOWNLOADS: "1"}) == COUNTED
        assert (tmp_path / name / tiny_encoding.FILE).exists()
    assert tokenizer_of(place, **{CACHE_VARIABLES[0]: "", tiny_encoding.DOWNLOADS: "1"}) == COUNTED
    assert not cached(place).exists()


def test_a_cache_that_cannot_be_written_does_not_hinder_the_count(place: Place, tmp_path: Path) -> None:
    pytest.importorskip("tiktoken", reason="an extra")
    place.configure({})
    (tmp_path / "temporary").mkdir()
    cached(place).parent.mkdir(parents=True)
    cached(place).write_text("in the way")
    variables = {**dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(tmp_path / "temporary")), tiny_encoding.DOWNLOADS: "1"}
    assert tokenizer_of(place, **variables) == COUNTED
    assert list((tmp_path / "temporary").rglob(tiny_encoding.FILE))


def test_without_any_tools(place: Place) -> None:
    place.configure({})
    ended = place.run("tokens", "--json")
    assert (ended.code, ended.json["servers"]) == (0, [])
    assert ended.json["search"] > 0
    assert '"search" is never cheaper than "full", and "light" is never cheaper than "full".' in place.run("tokens").out
