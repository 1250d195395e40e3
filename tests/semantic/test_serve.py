"""`serve` with a sentence model: the real command, the real process that makes vectors, a tiny model.

No tool has the word of the query, so the words find nothing, and whatever is found was found by its meaning.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from embeddings_service import serving
from processes.conftest import write
from processes.run import Run, server
from processes.shared import Home
from real.processes import wait_until_gone
from searching import QUERY, Searcher, names_in, workers
from sentence_models import tiny

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc, and where the data folder is")

DRAW = server("has_tools", "draw=draw a picture", "mail=send mail")
READ = server("has_tools", "read=read the file")


class House:
    """A home with a model."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = folder / "data" / "search-mcp" / "semantic"
        self.vectors = folder / "cache" / "search-mcp" / "vectors"
        self.environment = {"XDG_DATA_HOME": str(folder / "data")}

    def serves(self, servers: dict[str, Any], environment: dict[str, str] | None = None, **settings: Any) -> Run:
        run = Run(self.folder, self.folder / "servers.json", {**self.environment, **(environment or {})})
        write(run, servers, firstListSeconds=60, **settings)
        return run


@pytest.fixture
def house(tmp_path: Path) -> House:
    made = House(tmp_path)
    tiny(made.model)
    return made


def test_tools_are_found_by_their_meaning_once_there_are_vectors(house: House) -> None:
    with house.serves({"one": DRAW, "two": READ}) as run:
        run.opens()
        client = Searcher(run)
        run.asks("tools/list")
        assert workers(run.mark) == []  # not before the first search
        assert client.found() == []
        names = client.until_found()
        assert set(names) <= {"one.draw", "one.mail", "two.read"}
        (worker,) = workers(run.mark)
        assert os.getpriority(os.PRIO_PROCESS, worker) == 19
        assert client.found(server="one") == [name for name in names if name.startswith("one")]
        assert client.found("two.read") == ["two.read"]
        assert client.found("server:two picture") == ["two.read"]  # the server is exact
    assert (house.vectors / "vectors.sqlite3").stat().st_mode & 0o777 == 0o600


def test_a_killed_process_is_started_again(house: House) -> None:
    with house.serves({"one": DRAW}) as run:
        run.opens()
        client = Searcher(run)
        names = client.until_found()
        (worker,) = workers(run.mark)
        os.kill(worker, signal.SIGKILL)
        assert client.until_found() == names
        run.waits_until(lambda: worker not in workers(run.mark))
        run.logs("! search by meaning: its process ended with -9; tools may be ranked by words alone")


def test_the_process_ends_with_a_killed_serve(house: House) -> None:
    with house.serves({"one": DRAW}) as run:
        run.opens()
        Searcher(run).until_found()
        run.process.kill()
        run.process.wait()
        assert not wait_until_gone(run.mark)


def test_a_stopped_process_ends_with_serve(house: House) -> None:
    with house.serves({"one": DRAW}) as run:
        run.opens()
        Searcher(run).until_found()
        os.kill(workers(run.mark)[0], signal.SIGSTOP)


@pytest.mark.parametrize("semantic", ["off", None])
def test_nothing_is_loaded_or_started_without_it(house: House, semantic: str | None) -> None:
    if semantic is None:
        (house.model / "model.json").unlink()
    with house.serves({"one": DRAW}, {"PYTHONPROFILEIMPORTTIME": "1"}, search={"semantic": semantic}) as run:
        run.opens()
        client = Searcher(run)
        assert client.found("picture") == ["one.draw"]
        assert client.found() == []
        assert workers(run.mark) == []
        maps = Path(f"/proc/{run.process.pid}/maps").read_text()
        assert "onnx" not in maps
        assert "numpy" not in maps
    assert b"search_mcp.search" in run.stderr
    for module in (b"search_mcp.semantic", b"search_mcp.gateway.meaning"):
        assert module not in run.stderr
    assert not house.vectors.exists()


def test_an_edit_of_the_setting_is_followed(house: House) -> None:
    with house.serves({"one": DRAW}, search={"semantic": "local"}) as run:
        run.opens()
        client = Searcher(run)
        names = client.until_found()
        write(run, {"one": DRAW}, search={"semantic": "off"})
        run.waits_until(lambda: not workers(run.mark))
        assert client.found() == []
        assert workers(run.mark) == []
        write(run, {"one": DRAW})
        assert client.until_found() == names


def test_a_model_that_is_installed_later_is_used(house: House) -> None:
    model = house.model / "model.json"
    kept = model.read_bytes()
    model.unlink()
    with house.serves({"one": DRAW}) as run:
        run.opens()
        client = Searcher(run)
        assert client.found() == []
        model.write_bytes(kept)
        assert client.until_found()


def broken(house: House) -> dict[str, Any]:
    (house.model / "model.onnx").write_bytes(b"nonsense")
    return {}


def missing(house: House) -> dict[str, Any]:
    (house.model / "model.json").unlink()
    return {"search": {"semantic": "local"}}


def without_key(house: House) -> dict[str, Any]:
    address = {"url": "http://127.0.0.1:9/v1", "model": "m", "apiKey": "${file:missing}"}
    return {"search": {"semantic": address}}


FAILURES = [
    (broken, "cannot be loaded"),
    (missing, "no sentence model is installed; `search-mcp semantic setup` installs one"),
    (without_key, "apiKey: the file missing does not exist"),
]


@pytest.mark.parametrize(("prepare", "reason"), FAILURES, ids=[prepare.__name__ for prepare, _ in FAILURES])
def test_a_failure_is_one_line_of_the_log(
    house: House, prepare: Callable[[House], dict[str, Any]], reason: str
) -> None:
    with house.serves({"one": DRAW}, **prepare(house)) as run:
        run.opens()
        client = Searcher(run)
        assert client.found("picture") == ["one.draw"]
        run.logs(reason)
        for _ in range(5):
            assert client.found() == []
        assert client.found("picture") == ["one.draw"]
    assert run.stderr.count(b"! search by meaning") == 1


def test_vectors_that_cannot_be_kept_are_used(house: House) -> None:
    house.vectors.parent.mkdir(parents=True)
    house.vectors.touch()
    with house.serves({"one": DRAW}) as run:
        run.opens()
        assert Searcher(run).until_found()
        run.logs("! search by meaning: vectors are not kept on disk")
    assert run.stderr.count(b"! search by meaning") == 1


def test_many_searches_at_once(house: House) -> None:
    with house.serves({"one": DRAW, "two": READ}) as run:
        run.opens()
        client = Searcher(run)

        def ask_at_once() -> list[list[str]]:
            asked = [run.sends("tools/call", name="search_tools", arguments={"query": QUERY}) for _ in range(20)]
            return [names_in(run.answer(each)["result"]) for each in asked]

        at_first, names, then = ask_at_once(), client.until_found(), ask_at_once()
        assert all(each in ([], names) for each in (*at_first, *then))
        assert len(workers(run.mark)) == 1


def test_a_search_can_be_cancelled_while_it_asks(house: House) -> None:
    with house.serves({"one": DRAW}) as run:
        run.opens()
        client = Searcher(run)
        client.found("picture")
        os.kill(workers(run.mark)[0], signal.SIGSTOP)
        params = {"name": "search_tools", "arguments": {"query": QUERY}}
        search = {"jsonrpc": "2.0", "id": "search", "method": "tools/call", "params": params}
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "search"}}
        # Together: the search would be answered by words alone after a short time.
        run.writes(b"".join(json.dumps(each).encode() + b"\n" for each in (search, cancel)))
        assert client.found("picture") == ["one.draw"]  # without an answer of the stopped process
        run.hears()
        assert not [each for each in run.others if each.get("id") == "search"]
        os.kill(workers(run.mark)[0], signal.SIGCONT)
        assert client.until_found()


def test_changed_tools_are_found(house: House) -> None:
    with house.serves({"one": DRAW}) as run:
        run.opens()
        client = Searcher(run)
        client.until_found()
        write(run, {"one": DRAW, "two": READ})
        run.waits_until(lambda: "two.read" in client.found())


def test_clients_of_one_engine_find_their_own_tools(house: House) -> None:
    home = Home(house.folder, {"one": DRAW, "two": READ})
    with (
        home,
        home.client(house.environment) as first,
        home.client(house.environment, ["--servers", "two"]) as second,
    ):
        for run in (first, second):
            run.opens()
        both, own = Searcher(first).until_found(), Searcher(second).until_found()
        assert own == ["two.read"]
        assert {name.partition(".")[0] for name in both} == {"one", "two"}
        assert Searcher(first).found() == both
        assert len(workers(home.mark)) == 1
        write(first, {"one": DRAW, "two": READ}, engine="shared", search={"semantic": "off"})
        first.waits_until(lambda: not workers(home.mark))
        assert Searcher(second).found() == []


def test_a_command_finds_tools_by_their_meaning(house: House) -> None:
    with house.serves({"one": DRAW}) as run:
        run.opens()
        names = Searcher(run).until_found()
        found: list[Any] = []

        def finds() -> bool:
            """Search by a command; after some seconds, it does not wait longer for the process that makes vectors."""
            done = run.types("search", "--config", str(run.config), "--json", "--explain", QUERY)
            found[:] = json.loads(done.stdout)["tools"]
            return bool(found)

        run.waits_until(finds)
    assert [each["name"] for each in found] == names
    first = found[0]
    meaning = first["explanation"]["meaning"]
    assert meaning["score"] == pytest.approx(meaning["factor"] * meaning["similarity"], rel=1e-3)
    assert meaning["score"] == first["explanation"]["score"] > 0


def searched(run: Run) -> "subprocess.CompletedProcess[str]":
    """Search by a command; after some seconds, it does not wait longer for the process that makes vectors."""
    return run.types("search", "--config", str(run.config), "picture")


def test_a_command_says_why_it_ranks_by_words(house: House) -> None:
    with house.serves({"one": DRAW}, **broken(house)) as run:
        run.opens()
        run.asks("tools/list")
        run.waits_until(lambda: "cannot be loaded" in searched(run).stderr)
        exact = run.types("search", "--config", str(run.config), "one.draw")
    assert "Ranked by words" not in exact.stderr


def test_check_says_why_it_is_off(house: House) -> None:
    missing(house)
    with house.serves({"one": DRAW}, search={"semantic": "local"}) as run:
        notes = json.loads(run.types("check", "--config", str(run.config), "--json").stdout)["notes"]
        assert notes == [f"Search by meaning is off: {FAILURES[1][1]}."]
        write(run, {"one": DRAW}, search={"semantic": "off"})
        assert json.loads(run.types("check", "--config", str(run.config), "--json").stdout)["notes"] == []


KEY = "sk-0123456789abcdef"


def addressed(url: str, **more: str) -> dict[str, Any]:
    return {"search": {"semantic": {"url": url, "model": "m", **more}}}


def test_other_processes_cannot_read_the_key_of_an_address(house: House) -> None:
    (house.folder / "key").write_text(f"{KEY}\n")
    with serving() as service, house.serves({"one": DRAW}, **addressed(service.url, apiKey="${file:key}")) as run:
        run.opens()
        client = Searcher(run)
        run.waits_until(lambda: bool(client.found("picture")) and "draw: draw a picture" in service.texts)
        (worker,) = workers(run.mark)
        for name in ("cmdline", "environ"):
            assert KEY.encode() not in Path(f"/proc/{worker}/{name}").read_bytes()
        assert {asked.headers["authorization"] for asked in service.asked} == {f"Bearer {KEY}"}


def test_a_dead_address_is_one_line_of_the_log_and_a_note_of_a_command(house: House) -> None:
    with house.serves({"one": DRAW}, **addressed("http://127.0.0.1:9/v1")) as run:
        run.opens()
        client = Searcher(run)
        assert client.found("picture") == ["one.draw"]
        run.logs("! search by meaning")
        for _ in range(3):
            assert client.found("picture") == ["one.draw"]
        done = searched(run)
        run.waits_until(lambda: "Ranked by words alone: 127.0.0.1" in searched(run).stderr)
    assert run.stderr.count(b"! search by meaning") == 1
    assert b"127.0.0.1" in run.stderr
    assert done.returncode == 0
    assert "one.draw" in done.stdout
