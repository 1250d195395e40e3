"""A client for the suite's scenarios of logins: `python login_client.py URL`. Logs in as search-mcp does.

It makes the requests of a short session. The environment tells the revision and the scenario's own data.
"""

import asyncio
import json
import os
import sys
import tempfile
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path
from typing import Any

from auth.browser import Browser

from search_mcp.auth.access import Access
from search_mcp.auth.interactive import log_in
from search_mcp.auth.renewal import renew
from search_mcp.auth.settings import LoginSettings
from search_mcp.auth.store import LoginStore
from search_mcp.dialects import names

SECONDS = 20.0
MOST_LOGINS = 3
"""Logins for one request: "no more than a few times"."""
DOCUMENT = "https://conformance-test.local/client-metadata.json"  # the suite knows this client
REVISION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION") or names.LEGACY[0]
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")


async def request(access: Access, store: LoginStore, method: str, params: dict[str, Any]) -> None:
    if REVISION in names.MODERN:
        keys = {"protocolVersion": REVISION, "clientCapabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        params = {**params, "_meta": {f"io.modelcontextprotocol/{name}": value for name, value in keys.items()}}
    number = {} if method.startswith("notifications/") else {"id": 1}
    message = {"jsonrpc": "2.0", "method": method, "params": params, **number}
    for _ in range(MOST_LOGINS + 1):
        sent = await access.token()
        status, headers = await asyncio.to_thread(post, access.settings.url, message, sent)
        if status not in (401, 403):
            return
        needed = await access.refused(sent, status, headers.get_all("WWW-Authenticate") or ())
        if needed is not None:
            browser = Browser()
            await log_in(access.settings, store, browser.show, challenge=needed.challenge)
            await browser.close()


def post(url: str, message: dict[str, Any], token: str | None) -> tuple[int, Message]:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": REVISION,
        "Mcp-Method": message["method"],
    }
    if "name" in message["params"]:
        headers["Mcp-Name"] = message["params"]["name"]
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    try:
        sent = urllib.request.Request(url, json.dumps(message).encode(), headers)
        with urllib.request.urlopen(sent, timeout=SECONDS) as response:
            return response.status, response.headers
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.headers


async def main(url: str) -> None:
    by_itself = "client-credentials" in os.environ["MCP_CONFORMANCE_SCENARIO"]
    settings = LoginSettings(
        name="conformance",
        url=url,
        client_id=CONTEXT.get("client_id"),
        client_secret=CONTEXT.get("client_secret"),
        client_metadata_url=DOCUMENT,
        grant="client_credentials" if by_itself else "authorization_code",
    )
    with tempfile.TemporaryDirectory() as folder:
        store = LoginStore(Path(folder) / "logins")
        access = Access(settings, store, renew=renew)
        async with asyncio.timeout(SECONDS):
            if REVISION in names.MODERN:
                await request(access, store, "server/discover", {})
            else:
                client = {"capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
                await request(access, store, "initialize", {"protocolVersion": REVISION, **client})
                await request(access, store, "notifications/initialized", {})
            await request(access, store, "tools/list", {})
            await request(access, store, "tools/call", {"name": "test-tool", "arguments": {}})


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
