"""`serve` with an address that makes vectors: the real command and process, and a service on this computer."""

import sys
from pathlib import Path
from typing import Any

import pytest
from embeddings_service import serving
from processes.conftest import write
from processes.run import Run, server
from searching import Searcher, workers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc")

DRAW = server("has_tools", "draw=draw a picture", "time=what hour it is")
KEY = "sk-0123456789abcdef"


def serves(folder: Path, url: str, **address: Any) -> Run:
    run = Run(folder, folder / "servers.json", {"XDG_DATA_HOME": str(folder / "data")})
    semantic = {"url": url, "model": "m", **address}
    write(run, {"one": DRAW}, firstListSeconds=60, search={"semantic": semantic})
    return run


def test_the_key_reaches_the_address_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    with serving() as made, serves(tmp_path, made.url, apiKey="${file:key}") as run:
        run.opens()
        client = Searcher(run)
        client.found("hours")
        run.waits_until(
            lambda: bool(client.found("hours")) and any("draw: draw a picture" in each for each in made.texts)
        )
        (worker,) = workers(run.mark)
        for name in ("cmdline", "environ"):
            assert KEY.encode() not in Path(f"/proc/{worker}/{name}").read_bytes()
        assert {asked.headers["authorization"] for asked in made.asked} == {f"Bearer {KEY}"}
    assert KEY.encode() not in run.stderr


def test_a_dead_address_is_one_line_of_the_log(tmp_path: Path) -> None:
    with serves(tmp_path, "http://127.0.0.1:9/v1") as run:
        run.opens()
        client = Searcher(run)
        assert client.found("picture") == ["one.draw"]
        run.logs("! search by meaning")
        for _ in range(3):
            assert client.found("picture") == ["one.draw"]
    assert run.stderr.count(b"! search by meaning") == 1
    assert b"127.0.0.1" in run.stderr
