"""Remarks on slow servers, long names and many tools."""

import pytest

from search_mcp.catalog import profiles
from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.profiles import BY_NAME, Audience, Profile
from search_mcp.cli.checks.fitness import Remark, of_catalog, of_prefix, of_results, of_start, of_usage
from search_mcp.config.schema import ServerConfig
from search_mcp.model.names import Era, Kind, State
from search_mcp.model.servers import Entry, ServerCapabilities, ServerList, Status
from search_mcp.usage.store import Largest
from search_mcp.wire import payload


def catalog(*names: str, server: str = "box") -> Catalog:
    catalog = Catalog([ServerConfig(name=server, command="x")])
    entries = [Entry(name, {"name": payload.encode(name)}) for name in names]
    catalog.put(server, Kind.TOOLS, ServerList(tuple(entries)))
    return catalog


def remarks(catalog: Catalog, client: Profile, **settings: int) -> list[Remark]:
    adjusted = profiles.adjusted(client, separator="auto", max_length=settings.get("max_length"), listing=None)
    return list(of_catalog(catalog, Audience(adjusted, True), client))


@pytest.mark.parametrize(
    ("client", "tools", "told"),
    [
        ("windsurf", 97, []),
        ("windsurf", 98, ["windsurf accepts at most 100 tools, but 101 are listed"]),
        ("vscode", 126, ["vscode accepts at most 128 tools, but 129 are listed"]),
        ("claude-code", 500, []),
    ],
)
def test_the_maximum_number_of_tools_of_a_client(client: str, tools: int, told: list[str]) -> None:
    found = remarks(catalog(*map(str, range(tools))), BY_NAME[client])
    assert [remark.text.partition(";")[0] for remark in found] == told
    assert all(remark.is_fatal for remark in found)


def test_names_that_are_shortened() -> None:
    (remark,) = remarks(catalog("short", "a" * 70), BY_NAME["goose"])
    assert not remark.is_fatal
    assert remark.text.startswith(f"names longer than 60 characters are shortened: box.{'a' * 70} as box__aaa")
    assert "short," not in remark.text


def test_names_too_long_for_the_client_under_the_users_setting() -> None:
    (remark,) = remarks(catalog("a" * 70), BY_NAME["goose"], max_length=100)
    assert remark.is_fatal
    assert remark.text.startswith("goose refuses names longer than 60 characters: box__aaa")


def status(seconds: float) -> Status:
    capabilities = ServerCapabilities("2026-07-28", Era.MODERN, frozenset())
    return Status("box", State.READY, capabilities=capabilities, start_seconds=seconds)


@pytest.mark.parametrize(("seconds", "slow"), [(0.5, None), (5.0, None), (5.1, 5.1)])
def test_a_slow_start(seconds: float, slow: float | None) -> None:
    assert of_start(status(seconds)) == slow


def test_a_server_that_is_not_ready_delays_no_other() -> None:
    assert of_start(Status("box", State.FAILED, "gone")) is None


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
def test_names_without_readable_characters(name: str, prefix: str | None, is_unreadable: bool) -> None:
    remark = of_prefix(ServerConfig(name=name, command="x", prefix=prefix))
    assert (remark is not None and 'give it a "prefix" of letters' in remark) == is_unreadable


SEEN = {"a.small": 40_000, "a.long": 40_001, "b.longer": 50_001, "b.longest": 2_000_000}


@pytest.mark.parametrize(
    ("client", "told"),
    [
        ("claude-code", "more than 50,000 characters to its model whole: b.longest (2,000,000), b.longer (50,001); "),
        (
            "codex",
            "more than about 40,000 characters to its model whole: b.longest (2,000,000), b.longer (50,001), a.long ",
        ),
    ],
)
def test_results_that_are_longer_than_the_client_takes(client: str, told: str) -> None:
    remark = of_results(BY_NAME[client], SEEN)
    assert remark is not None
    assert not remark.is_fatal
    assert told in remark.text


@pytest.mark.parametrize(("client", "seen"), [("cursor", SEEN), ("claude-code", {"a": 50_000}), ("codex", {})])
def test_nothing_is_said_of_clients_without_a_known_limit_and_of_short_results(
    client: str, seen: dict[str, int]
) -> None:
    assert of_results(BY_NAME[client], seen) is None


def largest(client: str, server: str, characters: int) -> Largest:
    return Largest(client, server, "read", characters)


def of_usage_of(
    *seen: Largest, client: str | None = None, result_size: int | None = None, limit: int | None = None
) -> list[str]:
    servers = [ServerConfig(name="box", command="x", result_size=result_size, max_result_characters=limit)]
    return [each.text.split(" ")[0] for each in of_usage(seen, servers, BY_NAME[client] if client else None)]


def test_each_client_is_compared_with_what_it_got_itself() -> None:
    seen = [largest("claude-code", "box", 60_000), largest("codex-mcp-client", "box", 45_000)]
    assert of_usage_of(*seen) == ["claude-code", "codex"]
    assert of_usage_of(*seen, client="codex") == ["codex"]
    assert of_usage_of(largest("anna / claude-code", "box", 10**7)) == ["claude-code"]
    assert of_usage_of(*seen, client="cursor") == []


def test_unknown_clients_and_servers_that_are_gone_are_left_out() -> None:
    assert of_usage_of(largest("my client", "box", 10**7), largest("claude-code", "gone", 10**7)) == []


def test_a_server_with_a_limit_is_left_out() -> None:
    assert of_usage_of(largest("claude-code", "box", 60_000), limit=40_000) == []


def test_a_result_size_raises_the_limit_of_claude_code_only() -> None:
    seen = [largest("claude-code", "box", 60_000), largest("codex-mcp-client", "box", 60_000)]
    assert of_usage_of(*seen, result_size=60_000) == ["codex"]
    assert of_usage_of(*seen, result_size=59_999) == ["claude-code", "codex"]
