"""What clients make of slow servers, long names and many tools."""

import pytest

from search_mcp import jsonrpc, profiles
from search_mcp.catalog import Catalog
from search_mcp.cli.fitness import Remark, of_catalog, of_prefix, of_start
from search_mcp.config import ServerConfig, Settings
from search_mcp.model import Audience, Entry, Era, Kind, Offer, Page, Status
from search_mcp.profiles import BY_NAME, Profile


def catalog(*names: str, server: str = "box") -> Catalog:
    catalog = Catalog([ServerConfig(name=server, command="x")])
    entries = [Entry(name, {"name": jsonrpc.encode(name)}) for name in names]
    catalog.put(server, Kind.TOOLS, Page(tuple(entries)))
    return catalog


def remarks(catalog: Catalog, client: Profile, **settings: int) -> list[Remark]:
    adjusted = profiles.adjusted(client, separator="auto", max_length=settings.get("max_length"), listing=None)
    return list(of_catalog(catalog, Audience(adjusted, True), client))


@pytest.mark.parametrize(
    ("client", "tools", "told"),
    [
        ("windsurf", 97, []),
        ("windsurf", 98, ["windsurf takes 100 tools in all, and 101 are listed"]),
        ("vscode", 126, ["vscode takes 128 tools in all, and 129 are listed"]),
        ("claude-code", 500, []),
    ],
)
def test_how_many_tools_a_client_takes(client: str, tools: int, told: list[str]) -> None:
    found = remarks(catalog(*map(str, range(tools))), BY_NAME[client])
    assert [remark.text.partition(";")[0] for remark in found] == told
    assert all(remark.is_fatal for remark in found)


def test_names_that_are_shortened() -> None:
    (remark,) = remarks(catalog("short", "a" * 70), BY_NAME["goose"])
    assert not remark.is_fatal
    assert remark.text.startswith(f"names over 60 characters are shown shortened: box.{'a' * 70} as box__aaa")
    assert "short," not in remark.text


def test_names_the_user_lets_be_too_long() -> None:
    (remark,) = remarks(catalog("a" * 70), BY_NAME["goose"], max_length=100)
    assert remark.is_fatal
    assert remark.text.startswith("goose refuses names over 60 characters: box__aaa")


def status(seconds: float, era: Era = Era.MODERN) -> Status:
    revision = "2026-07-28" if era is Era.MODERN else "2025-06-18"
    return Status("box", "ready", offer=Offer(revision, era, frozenset()), start_seconds=seconds)


@pytest.mark.parametrize(
    ("seconds", "late"),
    [(0.5, []), (2.0, ["cline"]), (4.0, ["codex", "cline"])],
)
def test_whom_a_slow_server_keeps_waiting(seconds: float, late: list[str]) -> None:
    told = {client.name: of_start(status(seconds), Settings(), [client]) for client in profiles.PROFILES}
    assert [name for name, waited in told.items() if waited is not None] == late
    assert {*told.values()} <= {None, seconds}
    assert of_start(status(seconds), Settings(), profiles.PROFILES) == (seconds if late else None)


def test_a_legacy_server_may_have_cost_a_probe_that_clients_do_not_make() -> None:
    assert of_start(status(3.2, Era.LEGACY), Settings(), profiles.PROFILES) is None
    assert of_start(status(3.2), Settings(), profiles.PROFILES) is not None
    slow = of_start(status(6.5, Era.LEGACY), Settings(), profiles.PROFILES)
    assert slow == 6.5, "it was still starting when the probe was given up"


def test_a_server_that_is_not_ready_keeps_nobody_waiting() -> None:
    assert of_start(Status("box", "failed", "gone"), Settings(), profiles.PROFILES) is None


@pytest.mark.parametrize(
    ("name", "prefix", "is_unreadable"),
    [
        ("box", None, False),
        ("日本1", None, False),
        ("日本", None, True),
        ("日本", "box", False),
        ("日本", "", False),
        ("box", "_", False),
    ],
)
def test_names_that_nobody_can_read(name: str, prefix: str | None, is_unreadable: bool) -> None:
    remark = of_prefix(ServerConfig(name=name, command="x", prefix=prefix))
    assert (remark is not None and 'give it a "prefix" of letters' in remark) == is_unreadable
