"""What counts as a changed definition, and what is remembered of it."""

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp import jsonrpc
from search_mcp.config import ServerConfig
from search_mcp.files import locked
from search_mcp.jsonrpc import Raw
from search_mcp.model import Entry, Page
from search_mcp.trust import MOST_TOOLS, TrustStore, digest

SECONDS = 120.0
"""Until what must happen counts as not happening."""
CONFIG = ServerConfig(name="git", command="python", args=("-m", "mcp_server_git"))
STATUS = {"name": "status", "description": "Show it.", "inputSchema": {"type": "object"}}


def page(*definitions: dict[str, Any]) -> Page:
    return Page(tuple(Entry(each["name"], jsonrpc.fields(jsonrpc.encode(each))) for each in definitions))


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "tools")


def test_what_is_seen_first_is_trusted(store: TrustStore) -> None:
    assert store.examine(CONFIG, "2025-11-25", page(STATUS)) == set()
    assert store.examine(CONFIG, "2025-11-25", page(STATUS, {**STATUS, "name": "later"})) == set()


@pytest.mark.parametrize(
    "changed",
    [
        {"description": "Show it, and more."},
        {"inputSchema": {"type": "object", "properties": {"path": {}}}},
        {"annotations": {"readOnlyHint": True}},
    ],
)
def test_what_changes_is_remembered_until_it_is_accepted(store: TrustStore, changed: dict[str, Any]) -> None:
    store.examine(CONFIG, "2025-11-25", page(STATUS))
    other = page({**STATUS, **changed})
    assert store.examine(CONFIG, "2025-11-25", other) == {"status"}
    again = TrustStore(store.folder)
    assert again.changed(CONFIG) == {"status"}
    again.accept(CONFIG, ["status"])
    assert store.changed(CONFIG) == set()
    assert store.examine(CONFIG, "2025-11-25", other) == set()
    assert store.examine(CONFIG, "2025-11-25", page(STATUS)) == {"status"}


def test_what_is_as_before_again_is_no_change(store: TrustStore) -> None:
    for definition in (STATUS, {**STATUS, "description": "x"}, STATUS):
        store.examine(CONFIG, "2025-11-25", page(definition))
    assert store.changed(CONFIG) == set()


def test_each_revision_of_the_protocol_has_its_own_first_sight(store: TrustStore) -> None:
    """An older revision has no `execution`, so a server leaves it out."""
    store.examine(CONFIG, "2025-11-25", page({**STATUS, "execution": {}}))
    assert store.examine(CONFIG, "2024-11-05", page(STATUS)) == set()
    assert store.examine(CONFIG, "2024-11-05", page({**STATUS, "title": "x"})) == {"status"}


def test_what_changed_in_one_revision_is_changed_in_all_until_it_is_accepted(store: TrustStore) -> None:
    for revision in ("2025-11-25", "2026-07-28"):
        store.examine(CONFIG, revision, page(STATUS))
    store.examine(CONFIG, "2026-07-28", page({**STATUS, "description": "x"}))
    assert store.examine(CONFIG, "2025-11-25", page(STATUS)) == {"status"}


def test_a_server_that_is_another_one_under_the_same_name_starts_anew(store: TrustStore) -> None:
    store.examine(CONFIG, "2025-11-25", page(STATUS))
    other = ServerConfig(name="git", command="python", args=("-m", "another"))
    assert store.examine(other, "2025-11-25", page({**STATUS, "description": "x"})) == set()


def test_a_record_that_cannot_be_read_is_not_forgotten(
    store: TrustStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_locked(_path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    store.examine(CONFIG, "2025-11-25", page(STATUS))
    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", is_locked)
        assert store.examine(CONFIG, "2025-11-25", page({**STATUS, "description": "x"})) == set()
        assert store.changed(CONFIG) == set()
        with pytest.raises(PermissionError):
            store.accept(CONFIG, ["status"])
    assert "cannot be read" in caplog.text
    assert store.examine(CONFIG, "2025-11-25", page({**STATUS, "description": "x"})) == {"status"}


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b'{"version":1}',
        b'{"version":2,"accepted":{},"changed":{}}',
        b'{"version":1,"accepted":{"a":1},"changed":{}}',
    ],
)
def test_a_damaged_record_is_said_to_be_and_starts_anew(
    store: TrustStore, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    store.examine(CONFIG, "2025-11-25", page(STATUS))
    (file,) = store.folder.iterdir()
    file.write_bytes(damage)
    assert store.examine(CONFIG, "2025-11-25", page({**STATUS, "description": "x"})) == set()
    said = f"what git's tools were when first seen is not known any more: {file}: it is damaged, or of another version"
    assert said in caplog.text


def test_a_folder_that_cannot_be_written_costs_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    assert TrustStore(tmp_path / "file" / "tools").examine(CONFIG, "2025-11-25", page(STATUS)) == set()
    assert "cannot be remembered" in caplog.text


def test_a_server_that_invents_names_without_end_fills_no_disk(store: TrustStore) -> None:
    store.examine(CONFIG, "2025-11-25", page(*({**STATUS, "name": f"t{n}"} for n in range(MOST_TOOLS + 5))))
    (file,) = store.folder.iterdir()
    assert len(json.loads(file.read_bytes())["accepted"]) == MOST_TOOLS


# Several processes


PROCESS = """
import sys
from pathlib import Path
from search_mcp import jsonrpc
from search_mcp.config import ServerConfig
from search_mcp.model import Entry, Page
from search_mcp.trust import TrustStore

folder, name, patience = sys.argv[1:]
asked = []

def listen(event, args):
    if event == "import" and args[0].startswith("filelock") and not asked:  # which nothing but a lock needs
        asked.append(True)
        print("asks for the lock", flush=True)

sys.addaudithook(listen)
page = Page((Entry(name, jsonrpc.fields(jsonrpc.encode({"name": name}))),))
TrustStore(Path(folder), float(patience)).examine(ServerConfig(name="git", command="python"), "2025-11-25", page)
"""


def test_what_two_processes_find_at_the_same_moment_is_remembered_both(tmp_path: Path) -> None:
    """Each has looked at the record, and found its tool missing, when it asks for the lock."""
    folder, names = tmp_path / "tools", ["one", "other"]
    with ExitStack() as running:
        with locked(tmp_path / "tools.lock", 0):
            processes = [
                running.enter_context(
                    subprocess.Popen(
                        [sys.executable, "-c", PROCESS, str(folder), name, str(SECONDS)], stdout=subprocess.PIPE
                    )
                )
                for name in names
            ]
            for process in processes:
                assert process.stdout is not None
                assert process.stdout.readline().strip() == b"asks for the lock"
            assert not folder.exists()
        assert [process.wait(SECONDS) for process in processes] == [0, 0]
    (file,) = folder.iterdir()
    assert sorted(json.loads(file.read_bytes())["accepted"]) == names


def test_what_cannot_be_remembered_because_another_process_was_stopped_is_told_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = TrustStore(tmp_path / "tools", patience_seconds=0)
    store.examine(CONFIG, "2025-11-25", page(STATUS))
    other = page({**STATUS, "description": "x"})
    with locked(tmp_path / "tools.lock", 0):
        assert store.examine(CONFIG, "2025-11-25", other) == {"status"}
        assert "cannot be remembered" in caplog.text
        assert store.changed(CONFIG) == set()
        with pytest.raises(TimeoutError):
            store.accept(CONFIG, ["status"])
    assert store.examine(CONFIG, "2025-11-25", other) == store.changed(CONFIG) == {"status"}


def test_nobody_waits_for_a_lock_who_has_nothing_to_remember(tmp_path: Path) -> None:
    store = TrustStore(tmp_path / "tools", patience_seconds=0)
    store.examine(CONFIG, "2025-11-25", page(STATUS))
    with locked(tmp_path / "tools.lock", 0):
        assert store.examine(CONFIG, "2025-11-25", page(STATUS)) == store.changed(CONFIG) == set()


definitions = st.dictionaries(
    st.text(),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)
    ),
)


@given(definitions, st.randoms())
def test_the_order_of_keys_is_no_change(definition: dict[str, Any], random: Any) -> None:
    def shuffled(part: Any) -> Any:
        if isinstance(part, list):
            return [shuffled(each) for each in part]
        if not isinstance(part, dict):
            return part
        keys = list(part)
        random.shuffle(keys)
        return {key: shuffled(part[key]) for key in keys}

    assert digest(_fields(definition)) == digest(_fields(shuffled(definition)))


@given(definitions, definitions)
def test_definitions_that_differ_have_different_digests(one: dict[str, Any], other: dict[str, Any]) -> None:
    same = json.dumps(_plain(one), sort_keys=True) == json.dumps(_plain(other), sort_keys=True)
    assert (digest(_fields(one)) == digest(_fields(other))) is same


def test_a_definition_too_deep_to_decode_is_told_apart_all_the_same() -> None:
    deep = b'{"a":' * 5000 + b"%d" + b"}" * 5000
    assert digest({"inputSchema": Raw(deep % 1)}) != digest({"inputSchema": Raw(deep % 2)})


def _plain(definition: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in definition.items() if key != "_meta"}


def _fields(definition: dict[str, Any]) -> dict[str, Raw]:
    return {key: jsonrpc.encode(value) for key, value in definition.items()}
