"""Which clients may share a server: evidence and launch keys."""

import sys
from pathlib import Path
from typing import Any

import pytest

from search_mcp.backends.cache import CatalogCache, SharingRecord, fingerprint
from search_mcp.backends.dependencies import Dependencies
from search_mcp.config.placeholders import Places, Source
from search_mcp.config.schema import Entry, OAuth, Remote, ServerConfig, Unfilled
from search_mcp.model.names import Era
from search_mcp.model.servers import Opening
from search_mcp.pool.known_servers import KnownServer
from search_mcp.pool.sharing import UNKNOWN, Sharing, describe, judge, launch_key
from search_mcp.wire.structs import replace

LOCAL = ServerConfig(name="alpha", command=sys.executable, args=("-m", "alpha"), env={"TOKEN": "x"})
REMOTE = ServerConfig(name="alpha", command="", remote=Remote(url="https://example.com/mcp"))
NO_SESSION = SharingRecord(has_session=False)
OWN = 'it is not known to keep nothing between calls; "share": true changes that'
KNOWN = KnownServer("pypi:alpha", "1", "it forgets", folder=False)
YES, NO = Sharing(is_shared=True, why="it is so"), Sharing(is_shared=False, why="it is not")
ASKED = SharingRecord("it asks for roots", has_session=False)


@pytest.mark.parametrize(
    ("config", "era", "record", "is_shared", "why"),
    [
        *((LOCAL, era, record, False, OWN) for era in (None, *Era) for record in (SharingRecord(), NO_SESSION)),
        (REMOTE, Era.MODERN, SharingRecord(), True, "it is remote and has no session"),
        (REMOTE, Era.LEGACY, SharingRecord(), False, OWN),
        (REMOTE, None, SharingRecord(), False, "it has not answered yet"),
        (REMOTE, Era.LEGACY, NO_SESSION, True, "it is remote and has no session"),
        (REMOTE, None, NO_SESSION, True, "it is remote and has no session"),
        (REMOTE, Era.LEGACY, ASKED, False, "it asks for roots"),
        (LOCAL, Era.MODERN, ASKED, False, "it asks for roots"),
        (replace(LOCAL, share=True), Era.LEGACY, ASKED, True, '"share" is true'),
        (replace(LOCAL, share=True), None, SharingRecord(), True, '"share" is true'),
        (replace(LOCAL, share=False), Era.MODERN, SharingRecord(), False, '"share" is false'),
    ],
)
def test_evidence(config: ServerConfig, era: Era | None, record: SharingRecord, is_shared: bool, why: str) -> None:
    judged = judge(config, None, era, record)
    assert (judged.is_shared, judged.why) == (is_shared, why)


@pytest.mark.parametrize(
    ("config", "record", "is_shared", "why"),
    [
        (LOCAL, SharingRecord(), True, "it is known to keep nothing between calls, because it forgets"),
        (LOCAL, ASKED, False, "it asks for roots"),
        (replace(LOCAL, share=False), SharingRecord(), False, '"share" is false'),
    ],
)
@pytest.mark.parametrize("era", [None, *Era])
def test_evidence_about_a_known_server(
    config: ServerConfig, era: Era | None, record: SharingRecord, is_shared: bool, why: str
) -> None:
    judged = judge(config, KNOWN, era, record)
    assert (judged.is_shared, judged.why) == (is_shared, why)


@pytest.mark.parametrize(
    ("decided", "now", "clients", "processes", "shared", "description"),
    [
        (YES, YES, 3, 1, 1, "shared by 3 clients: it is so"),
        (YES, NO, 2, 1, 1, "shared by 2 clients: it is so"),
        (YES, YES, 1, 1, 1, "can be shared: it is so"),
        (YES, YES, 0, 1, 1, "can be shared: it is so"),
        (YES, YES, 0, 0, 0, "can be shared: it is so"),
        (YES, YES, 0, 2, 1, "can be shared: it is so"),
        (YES, YES, 1, 2, 1, "shared by 1 client: it is so"),
        (YES, YES, 3, 2, 2, "shared by the clients with the same folder and variables"),
        (YES, YES, 1, 2, 2, "shared by the clients with the same folder and variables"),
        (UNKNOWN, UNKNOWN, 1, 1, 0, None),
        (UNKNOWN, NO, 1, 1, 0, "one for each client: it is not"),
        (NO, NO, 1, 2, 0, "one for each client: it is not"),
        (UNKNOWN, YES, 1, 2, 1, "shared by the clients that connect from now on: it is so"),
    ],
)
def test_the_description(
    decided: Sharing, now: Sharing, clients: int, processes: int, shared: int, description: str | None
) -> None:
    assert describe(decided, now, clients, processes, shared) == description


CLIENT = Opening(Era.LEGACY, "2025-11-25", {}, None)
WORLD = Dependencies(variables={"HOME": "/home/a", "PATH": "/bin"}, home="/home/a")


def key(
    config: ServerConfig = LOCAL,
    world: Dependencies = WORLD,
    known: KnownServer | None = None,
) -> bytes | None:
    return launch_key(config, known, world, b"secret")


@pytest.mark.parametrize(
    "other",
    [
        key(replace(LOCAL, name="beta")),
        key(replace(LOCAL, share=True)),
        key(replace(LOCAL, args=("-m", "beta"))),
        key(replace(LOCAL, env={"TOKEN": "y"})),
        key(replace(LOCAL, cwd="/tmp")),
        key(replace(LOCAL, protocol="2025-11-25")),
        key(world=replace(WORLD, variables={"HOME": "/home/b", "PATH": "/bin"})),
        key(world=replace(WORLD, variables={"HOME": "/home/a", "PATH": "/sbin"})),
        key(world=replace(WORLD, folder="/work")),
        key(replace(LOCAL, inherit_env=True), replace(WORLD, variables={**WORLD.variables, "MORE": "x"})),
        launch_key(LOCAL, None, WORLD, b"another"),
        key(REMOTE),
    ],
)
def test_clients_differ_in_what_a_server_is_given(other: bytes | None) -> None:
    assert None not in (key(), other)
    assert key() != other


@pytest.mark.parametrize(
    "same",
    [
        key(replace(LOCAL, description="x", startup="lazy", pin_tools=True)),
        key(world=replace(WORLD, variables={**WORLD.variables, "SECRET": "x"})),
        key(replace(LOCAL, cwd="/work"), replace(WORLD, folder="/elsewhere")),
        key(world=replace(WORLD, variables={**WORLD.variables, "TERM": "xterm"})),
    ],
)
def test_clients_do_not_differ_in_what_a_server_is_not_given(same: bytes | None) -> None:
    assert same in (key(), key(replace(LOCAL, cwd="/work")))


@pytest.mark.parametrize(
    "change",
    [
        {"url": "https://example.com/other"},
        {"headers": {"X-Key": "y"}},
        {"ca_file": "/corp.pem"},
        {"oauth": None},
        {"oauth": OAuth(client_id="x")},
        {"transport": "http"},
    ],
    ids=str,
)
def test_clients_differ_in_how_a_server_is_reached(change: dict[str, Any]) -> None:
    assert REMOTE.remote is not None
    assert key(REMOTE) != key(replace(REMOTE, remote=replace(REMOTE.remote, **change)))


@pytest.mark.parametrize(
    ("variables", "is_shared"),
    [({"PATH": "/sbin"}, True), ({"LANG": "C", "LC_ALL": "C"}, True), ({"TZ": "UTC"}, False), ({"HOME": "/b"}, False)],
    ids=str,
)
def test_a_known_server_depends_on_few_inherited_variables(variables: dict[str, str], is_shared: bool) -> None:
    other = replace(WORLD, variables={**WORLD.variables, **variables})
    assert (key(world=other, known=KNOWN) == key(known=KNOWN)) is is_shared
    own = replace(LOCAL, env=variables)
    assert key(own, known=KNOWN) != key(known=KNOWN), "the entry sets them"


def test_a_known_server_depends_on_the_program_that_is_found(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        program = tmp_path / folder / "alpha"
        program.parent.mkdir()
        program.touch(0o755)
    worlds = [replace(WORLD, variables={"PATH": f"{tmp_path}/{folder}"}) for folder in ("a", "b")]
    keys = [key(replace(LOCAL, command="alpha"), world, known=KNOWN) for world in worlds]
    assert None not in keys
    assert keys[0] != keys[1]


def test_a_server_that_cannot_start_has_no_key() -> None:
    assert key(replace(LOCAL, command="no-such-program")) is None
    assert key(replace(LOCAL, problem="it has a fault")) is None


def _with_source(kind: str) -> ServerConfig:
    sources, places = (Source(kind, "word", "env.TOKEN"),), Places({}, "/home/a", "/home/a", "python")
    return replace(LOCAL, unfilled=Unfilled(sources=sources, places=places, entry=Entry()))


@pytest.mark.parametrize(("kind", "is_shared"), [("keyring", True), ("file", True), ("command", False)])
def test_a_command_for_a_secret_may_depend_on_every_variable(kind: str, is_shared: bool) -> None:
    config, other = _with_source(kind), replace(WORLD, variables={**WORLD.variables, "PROFILE": "x"})
    assert key(config) == key(config)
    assert (key(config) == key(config, other)) is is_shared
    assert key(config) != key(LOCAL)


def test_a_key_shows_no_secret() -> None:
    found = key(replace(LOCAL, env={"TOKEN": "hunter2-hunter2"}))
    assert found is not None
    assert b"hunter2" not in found


def test_what_was_seen_is_remembered_for_the_program(cache: CatalogCache) -> None:
    one, other = (fingerprint(LOCAL, program, CLIENT) for program in ("/bin/a", "/bin/b"))
    assert cache.load_sharing(one) == SharingRecord()
    cache.store_sharing(one, ASKED)
    assert cache.load_sharing(one) == ASKED
    assert cache.load_sharing(other) == SharingRecord()


@pytest.fixture
def cache(tmp_path: Any) -> CatalogCache:
    return CatalogCache(tmp_path)


def test_values_that_are_no_utf_8_are_distinguished() -> None:
    """The names of two folders that are both shown as `/work\ufffd`."""
    folders = [replace(WORLD, folder=f"/work{character}") for character in "\udcfe\udcff\ufffd"]
    assert len({key(world=world) for world in folders}) == 3
