"""Health, readiness and metrics, at an address of their own."""

import contextlib
import json
import threading
import time
from pathlib import Path

import httpx2
import pytest
from processes.run import SECONDS, server

from fronts.http.serving import HttpServer, get, text


def test_health_and_metrics_are_told_at_an_address_of_their_own(tmp_path: Path) -> None:
    one = {"one": server("well_behaved")}
    with HttpServer(tmp_path, one, "--no-auth", "--health", "127.0.0.1:0") as running:
        with running.client() as client:
            assert text(client.asks("tools/call", name="one.echo", arguments={"words": "hello"})) == "hello"
            assert client.get(client.address.replace("/mcp", "/metrics")).status_code == 404
        assert get(running.health + "/healthz").status_code == 200
        metrics = get(running.health + "/metrics").text.splitlines()
        assert 'search_mcp_requests_total{status="200"} 1' in metrics
        assert 'search_mcp_servers{state="ready"} 1' in metrics
        assert get(running.health + "/mcp").status_code == 404
        assert get(running.health + "/metrics", host="evil.example").status_code == 421


def test_the_log_can_be_json_with_the_ids_of_requests(tmp_path: Path) -> None:
    one = {"one": server("well_behaved")}
    running = HttpServer(tmp_path, one, "--no-auth", "--log-json", "--log-level", "debug")
    with running, running.client() as client:
        client.asks("tools/list", headers={"x-request-id": "of-the-proxy"})
        client.asks("tools/list", headers={"x-request-id": "no id"})
    lines = [json.loads(line) for line in running.stderr]
    assert {line["request"] for line in lines if line["message"] == "= POST /mcp: 200"} >= {"of-the-proxy"}
    assert "no id" not in {line.get("request") for line in lines}
    # A server goes on after the request that it was started for.
    assert {line.get("request") for line in lines if "= one: started" in line["message"]} == {None}


def test_requests_are_taken_until_one_that_asks_for_readiness_knows_of_the_end(tmp_path: Path) -> None:
    with HttpServer(tmp_path, {}, "--no-auth", "--health", "127.0.0.1:0") as running, running.client() as client:

        def status() -> int:
            return get(running.health + "/readyz").status_code

        assert status() == 200
        running.process.terminate()
        while status() == 200:
            pass
        assert status() == 503
        assert client.asks("tools/list").status_code == 200


@pytest.mark.parametrize("is_hurried", [False, True])
def test_open_requests_are_answered_before_the_end(tmp_path: Path, is_hurried: bool) -> None:
    sign = tmp_path / "sign"
    late = {"late": server("waits_for_a_file", str(sign), startTimeoutSeconds=600)}
    answers: list[httpx2.Response] = []
    with HttpServer(tmp_path, late, "--no-auth", "--health", "127.0.0.1:0") as running, running.client() as client:

        def call() -> None:
            with contextlib.suppress(httpx2.RemoteProtocolError), running.client() as mine:
                answers.append(mine.asks("tools/call", name="late.echo", arguments={"words": "hello"}))

        def is_ready() -> bool:
            return get(running.health + "/readyz").status_code == 200

        calling = threading.Thread(target=call)
        calling.start()
        while "search_mcp_open_requests{" not in get(running.health + "/metrics").text:
            time.sleep(0.01)
        running.process.terminate()
        begun = time.monotonic()
        while is_ready() or time.monotonic() < begun + 1.5:  # longer than the time of a client on stdio
            assert calling.is_alive()
        assert client.asks("ping").status_code == 503
        if is_hurried:
            running.process.terminate()
        else:
            sign.touch()
        calling.join()
        running.process.wait(SECONDS)  # a further signal could come when it handles none any more
    assert ("hello" in "".join(each.text for each in answers)) is not is_hurried
