"""`serve` with an address: the real command, the real process that makes vectors, a service in this process."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from embeddings_service import Answer, Asked, Service, answer, refusal, serving, usual, vector
from processes.conftest import write
from processes.run import Run, server

KEY = "sk-very-secret-0123456789"
QUERY = "zzzzz"
"""No tool has this word, so a tool is found only by its meaning."""


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as running:
        yield running


def searching(folder: Path, service: Service, **settings: Any) -> Run:
    (folder / "key").write_text(f"{KEY}\n")
    run = Run(folder, folder / "servers.json")
    semantic = {"url": service.url, "model": "m", "apiKey": "${file:key}", **settings}
    write(run, {"one": server("well_behaved")}, firstListSeconds=60, search={"semantic": semantic})
    return run


def found(run: Run, query: str = QUERY) -> list[str]:
    result = run.asks("tools/call", name="search_tools", arguments={"query": query})
    return [each.partition("(")[0].partition(":")[0] for each in result["structuredContent"]["results"]]


def like_echo(asked: Asked) -> Answer:
    """Answer with one vector for the query and for the text of the tool `echo`."""
    return answer([vector("echo" if each == QUERY or each.startswith("echo") else each) for each in asked.texts])


def test_tools_are_found_by_the_vectors_of_an_address(tmp_path: Path, service: Service) -> None:
    service.respond = like_echo
    with searching(tmp_path, service) as run:
        run.opens()
        run.asks("tools/list")
        assert service.asked == []  # not before the first search
        run.waits_until(lambda: found(run) == ["one.echo"])
        assert found(run, "folder")[0] == "one.folder"
        assert f'"{KEY}"' not in json.dumps(run.others)
    assert {each.headers["authorization"] for each in service.asked} == {f"Bearer {KEY}"}
    assert sum(each.startswith("echo") for each in service.texts) == 1
    assert KEY.encode() not in run.stderr
    kept = [each for each in tmp_path.rglob("*") if each.is_file() and each.name != "key"]
    assert any(each.name == "vectors.sqlite3" for each in kept)
    assert not any(KEY.encode() in each.read_bytes() for each in kept)


def test_a_refusal_is_one_line_of_the_log(tmp_path: Path, service: Service) -> None:
    service.respond = lambda _asked: refusal(404, f'model "m" not found for {KEY}')
    with searching(tmp_path, service) as run:
        run.opens()
        run.waits_until(lambda: not found(run) and bool(service.asked))
        assert found(run, "folder") == ["one.folder"]
        run.logs(
            f'127.0.0.1:{service.port} has no such model or address (HTTP status 404): model "m" not found for ***'
        )
        service.respond = usual
        assert found(run) == []
    assert run.stderr.count(b"! search by meaning") == 1


def test_a_key_for_an_unencrypted_address_is_not_sent(tmp_path: Path, service: Service) -> None:
    with searching(tmp_path, service, url="http://vectors.invalid/v1") as run:
        run.opens()
        assert found(run, "folder") == ["one.folder"]
        run.logs('! search by meaning: the key in "semantic" would be sent unencrypted to an http address')
    assert service.asked == []
