"""Pipes in the place of files, which no other process opens: nothing waits for them."""

import json
import os
import sys
from pathlib import Path

import pytest

from processes.conftest import Serve
from processes.run import server
from processes.shared import Home, connection
from search_mcp.engine import hello
from search_mcp.files import locked

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
GOOD = {"good": server("well_behaved")}


def _stick(path: Path) -> None:
    """Replace a file by a pipe, whose opening would wait for ever."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


@pytest.mark.parametrize("is_signalled", [False, True])
def test_a_record_of_definitions_that_cannot_be_opened_does_not_delay_the_exit(
    serve: Serve, is_signalled: bool
) -> None:
    with serve(GOOD) as first:
        first.opens()
        assert first.calls("good.echo", words="x") == "x"
        first.asks("tools/list")
        first.waits_until(lambda: bool([*first.folder.rglob("*.jsonl")]))
    (record,) = first.folder.rglob("*.jsonl")
    _stick(record)
    with serve(GOOD) as run:
        run.opens()
        assert run.asks("ping") == {}
        if is_signalled:
            run.process.terminate()
        else:
            run.close_stdin()
        assert run.ended() == (143 if is_signalled else 0)


def test_a_log_that_cannot_be_opened_keeps_no_server_from_serving(serve: Serve) -> None:
    run = serve(GOOD)
    _stick(run.folder / "state" / "search-mcp" / "log" / "good.log")
    with run:
        run.opens()
        assert run.calls("good.echo", words="x") == "x"
        run.close_stdin()
        assert run.ended() == 0


PATIENT = """
from search_mcp.backends.pins import TrustStore

TrustStore.__init__.__defaults__ = (3600.0,)
"""


def test_a_locked_record_of_definitions_holds_up_only_its_server(serve: Serve, tmp_path: Path) -> None:
    """Only this server waits while another process holds the lock."""
    (tmp_path / "sitecustomize.py").write_text(PATIENT)
    servers = {**GOOD, "pinned": server("well_behaved", pinTools=True)}
    with serve(servers, {"PYTHONPATH": str(tmp_path)}, firstListSeconds=0.1) as run:
        with locked(run.folder / "state" / "search-mcp" / "tools.lock", 0):
            run.opens()
            late = run.sends("tools/call", name="pinned.echo", arguments={"words": "late"})
            assert run.calls("good.echo", words="x") == "x"
            run.waits_until(lambda: run.states() == {"good": "ready", "pinned": "ready"})
        assert run.answer(late)["result"]["content"][0]["text"] == "late"
        run.close_stdin()
        assert run.ended() == 0


def test_a_cached_list_that_cannot_be_read_before_it_is_replaced_holds_up_nothing(serve: Serve, tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    slow = {"slow": server("waits_for_a_file", str(sign), startTimeoutSeconds=600)}
    sign.touch()
    with serve(slow) as first:
        first.opens()
        assert first.calls("slow.echo", words="x") == "x"
        first.waits_until(lambda: bool([*first.folder.rglob("catalogue/*.json")]))
    (record,) = first.folder.rglob("catalogue/*.json")
    record.unlink()
    sign.unlink()
    with serve(slow, firstListSeconds=0.1) as run:
        run.opens()
        run.waits_until(lambda: run.states() == {"slow": "starting"})
        _stick(record)
        sign.touch()
        assert run.calls("slow.echo", words="x") == "x"
        assert run.asks("ping") == {}
        run.close_stdin()
        assert run.ended() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="engines are shared on POSIX; pidfds are of Linux")
def test_a_cached_file_that_cannot_be_opened_holds_up_no_other_client_of_an_engine(tmp_path: Path) -> None:
    with Home(tmp_path, GOOD) as home, home.client() as first, home.client() as second:
        first.opens()
        assert first.calls("good.echo", words="x") == "x"
        first.waits_until(lambda: bool([*home.folder.rglob("*-*.json")]))
        (record,) = home.folder.rglob("*-*.json")
        _stick(record.with_name(f"{record.name.partition('-')[0]}.failed"))
        begun = second.sends("ping")
        assert first.calls("good.echo", words="y") == "y"
        assert second.answer(begun)["result"] == {}
        second.opens()
        assert second.calls("good.echo", words="z") == "z"
        assert len(home.engine()["clients"]) == 2


def test_a_pipe_in_the_place_of_the_record_of_programs_delays_no_client_of_an_engine(tmp_path: Path) -> None:
    with Home(tmp_path, GOOD, confirmCommands=True) as home, home.client() as client:
        client.opens()
        (record,) = (home.folder / "state").rglob("programs/*.json")
        _stick(record)
        first = {"config": str(home.config), "folder": str(tmp_path), "variables": dict(os.environ)}
        options = {"client": None, "log_level": None, "subset": None}
        line = hello.encode({"wants": "serve", **options, **first})
        with connection(home, line) as other, other.makefile("rb") as answers:
            assert "alone" not in json.loads(answers.readline())
        assert client.calls("good.echo", words="x") == "x"
