"""The login of search-mcp at `search-mcp serve --http --issuer`, with the authorization server oidc-provider."""

import asyncio
import json
from pathlib import Path

import pytest
from fronts.http.serving import HttpServer, result
from processes.run import server

from real import packages
from real.test_logins import HERE, SECONDS, free_port, listening, open_in_browser
from search_mcp.auth.access import Access
from search_mcp.auth.errors import Unauthorized
from search_mcp.auth.interactive import log_in
from search_mcp.auth.renewal import Need, digest, renew
from search_mcp.auth.settings import LoginSettings
from search_mcp.auth.store import LoginStore


async def test_a_session_of_a_user_who_logs_in(node: object, tmp_path: Path) -> None:
    issuer, port = free_port(), free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    options = ["--http", f"127.0.0.1:{port}", "--issuer", f"http://127.0.0.1:{issuer}", "--audience", url]
    front = HttpServer(tmp_path, {"one": server("well_behaved")}, *options, "--scope", "read")
    settings, store = LoginSettings(name="front", url=url), LoginStore(tmp_path / "logins")
    access = Access(settings, store, renew=renew)
    program, module = packages.oidc_provider()
    with (
        listening([program, str(HERE / "oidc_server.mjs"), module, str(issuer), "jwt"], issuer),
        front,
        front.client() as client,
    ):
        refusal = client.opens()
        challenges = refusal.headers.get_list("www-authenticate")
        with pytest.raises(Unauthorized):
            await access.refused(None, refusal.status_code, challenges)
        async with asyncio.timeout(SECONDS):
            login = await log_in(settings, store, open_in_browser)
        await access.refused(None, refusal.status_code, challenges)
        client.headers["authorization"] = f"Bearer {await access.token()}"
        assert client.opens().status_code == 200

        await asyncio.to_thread(renew, store, settings, Need(refused=digest(login.access_token)))
        await access.refused(login.access_token, 401, ["Bearer"])
        renewed = await access.token()
        assert renewed != login.access_token
        client.headers["authorization"] = f"Bearer {renewed}"
        assert result(client.sends("ping")) == {}
        assert [each["subject"] for each in json.loads(front.types("token", "list", "--json"))["tokens"]] == ["user"]
