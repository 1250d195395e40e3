"""Health, readiness and metrics, at an address of their own."""

from pathlib import Path

import httpx2
from processes.run import server

from fronts.http.serving import HttpServer, text


def test_health_and_metrics_are_told_at_an_address_of_their_own(tmp_path: Path) -> None:
    one = {"one": server("well_behaved")}
    with HttpServer(tmp_path, one, "--no-auth", "--health", "127.0.0.1:0") as running:
        with running.client() as client:
            assert text(client.asks("tools/call", name="one.echo", arguments={"words": "hello"})) == "hello"
            assert client.get(client.address.replace("/mcp", "/metrics")).status_code == 404
        for path in ("/healthz", "/readyz"):
            assert httpx2.get(running.health + path, trust_env=False).status_code == 200
        metrics = httpx2.get(running.health + "/metrics", trust_env=False).text.splitlines()
        assert 'search_mcp_requests_total{status="200"} 1' in metrics
        assert 'search_mcp_servers{state="ready"} 1' in metrics
        assert httpx2.get(running.health + "/mcp", trust_env=False).status_code == 404
