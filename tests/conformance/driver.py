"""A client for the suite's client scenarios, with search-mcp between it and the suite: `python driver.py URL`.

The environment tells the scenario, the revision and the scenario's own data; `SERVE` is the command that serves a
configuration. A call that needs a login is made again after a login in another process, as by `search-mcp auth login`;
with `OPENS_ADDRESSES`, the user of this client opens the address that the call asks for instead.
"""

import asyncio
import contextlib
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from auth.browser import Browser
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from real.conversation import Conversation, Era, Reply

from search_mcp.auth.errors import AuthError
from search_mcp.auth.interactive import log_in
from search_mcp.auth.metadata import resource_urls
from search_mcp.auth.settings import login_settings
from search_mcp.auth.store import LoginStore
from search_mcp.config.schema import OAuth, Remote
from search_mcp.folders import logins_folder

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
REVISION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
SERVE = json.loads(os.environ.get("SERVE") or "[]")

OPENS_ADDRESSES = bool(os.environ.get("OPENS_ADDRESSES"))

SERVER = "conformance"
DOCUMENT = "https://conformance-test.local/client-metadata.json"  # the suite knows this client
MOST_LOGINS = 3
"""Logins for one request: "no more than a few times"."""
STUBS: dict[str, Any] = {"string": "x", "integer": 0, "number": 0, "boolean": False, "object": {}, "array": []}

Params = dict[str, Any]


class Client:
    """The client in front of search-mcp."""

    def __init__(self, conversation: Conversation, user: "User") -> None:
        self._conversation = conversation
        self.user = user

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools of the suite's server, under its own names."""
        own = f"{SERVER}."
        listed = self._conversation.ask("tools/list").value["tools"]
        found = [each for each in listed if each["name"].startswith(own)]
        return [{**each, "name": each["name"].removeprefix(own)} for each in found]

    def call(self, tool: str, arguments: dict[str, Any] | None = None) -> Reply:
        return self.ask("tools/call", name=f"{SERVER}.{tool}", arguments=arguments or {})

    def ask(self, method: str, **params: Any) -> Reply:
        """Send a request, and answer the questions that come before its result."""
        answers: dict[str, Any] = {}
        while True:
            reply = self._answered(self._conversation.begin(method, **params, **answers))
            if reply.error is not None or reply.value.get("resultType") != "input_required":
                return reply
            asked = reply.value.get("inputRequests", {})
            given = {key: self.user.answer(each["method"], each.get("params", {})) for key, each in asked.items()}
            state = {key: value for key, value in reply.value.items() if key == "requestState"}
            answers = {"inputResponses": given, **state}

    def _answered(self, identifier: int) -> Reply:
        while True:
            reply = self._conversation.next()
            if reply.method is None:
                assert reply.id == identifier, reply
                return reply
            if reply.id is not None:
                self._conversation.write({"id": reply.id, "result": self.user.answer(reply.method, reply.params or {})})


class User:
    """A user who agrees to everything, and changes no default."""

    def __init__(self, remote: Remote) -> None:
        self._settings = login_settings(SERVER, remote)
        self._tabs: list[threading.Thread] = []

    def answer(self, method: str, params: Params) -> dict[str, Any]:
        """Answer a question."""
        if method == "roots/list":
            return {"roots": []}
        if method == "sampling/createMessage":
            return {"role": "assistant", "model": "stub", "content": {"type": "text", "text": ""}}
        if params.get("mode") == "url":
            self._tabs.append(threading.Thread(target=asyncio.run, args=[opened(params["url"])]))
            self._tabs[-1].start()
            return {"action": "accept"}
        properties = params["requestedSchema"]["properties"]
        content = {name: each["default"] for name, each in properties.items() if "default" in each}
        return {"action": "accept", "content": content or dict.fromkeys(properties, True)}

    def log_in(self) -> None:
        """Log in as the command does.

        Raises:
            AuthError: it failed.
        """

        async def act() -> None:
            browser = Browser()
            try:
                await log_in(self._settings, LoginStore(logins_folder()), browser.show)
            finally:
                await browser.close()

        asyncio.run(act())

    def leave(self) -> None:
        for tab in self._tabs:
            tab.join()


async def opened(url: str) -> None:
    """Open an address in a browser until its page is there."""
    browser = Browser()
    await browser.show(url)
    await browser.close()


# Scenarios


def request_metadata(client: Client) -> None:
    client.tools()
    client.ask("resources/list")


def standard_headers(client: Client) -> None:
    for tool in client.tools():
        _ = client.call(tool["name"]).value
    for resource in client.ask("resources/list").value["resources"]:
        _ = client.ask("resources/read", uri=resource["uri"]).value
    for prompt in client.ask("prompts/list").value["prompts"]:
        _ = client.ask("prompts/get", name=prompt["name"]).value


def custom_headers(client: Client) -> None:
    client.tools()
    for call in CONTEXT["toolCalls"]:
        client.call(call["name"], call["arguments"])


def all_tools(client: Client) -> None:
    for tool in client.tools():
        schema = tool["inputSchema"]
        properties = schema.get("properties", {})
        client.call(
            tool["name"], {name: STUBS.get(properties[name].get("type"), "x") for name in schema.get("required", [])}
        )


def schema_preserved(client: Client) -> None:
    (schema,) = [each["inputSchema"] for each in client.tools() if each["name"] == "json_schema_2020_12_tool"]
    _ = client.call("json_schema_echo", {"schema": schema}).value


def request_state(client: Client) -> None:
    client.tools()
    for name in ("echo_state", "unrelated", "no_state", "no_result_type"):
        _ = client.call(f"test_mrtr_{name}").value


def protected(client: Client) -> None:
    """Call the one tool of a server that needs a login; end where a login fails, as it must in some scenarios."""
    logins = 0
    while (reply := client.call("test-tool")).error is not None:
        if "needs a login" not in reply.error["message"] or logins == MOST_LOGINS:
            print(reply.error["message"])
            return
        logins += 1
        try:
            if not OPENS_ADDRESSES:  # else the next call asks
                client.user.log_in()
        except AuthError as exc:
            print(exc)
            return
    assert [each["name"] for each in client.tools()] == ["test-tool"]


def listing(client: Client) -> None:
    assert client.tools()


def calling(tool: str, **arguments: Any) -> Callable[[Client], None]:
    def play(client: Client) -> None:
        client.tools()
        _ = client.call(tool, arguments).value

    return play


SCENARIOS: dict[str, Callable[[Client], object]] = {
    "initialize": lambda client: client.ask("tools/list"),
    "tools_call": calling("add_numbers", a=5, b=3),
    "request-metadata": request_metadata,
    "http-standard-headers": standard_headers,
    "http-custom-headers": custom_headers,
    "http-invalid-tool-headers": all_tools,
    "json-schema-ref-no-deref": listing,
    "json-schema-2020-12-preservation": schema_preserved,
    "sep-2322-client-request-state": request_state,
    "elicitation-sep1034-client-defaults": calling("test_client_elicitation_defaults"),
    "sse-retry": calling("test_reconnection"),
}


def issuer_at(url: str) -> str:
    """Return the authorization server of a client with a secret, which its user knows; the suite does not tell it."""
    for each in resource_urls(url):
        with contextlib.suppress(HTTPError), urlopen(each) as response:
            return str(json.load(response)["authorization_servers"][0])
    raise LookupError(url)


def main(url: str) -> None:
    is_own_login = "client-credentials" in SCENARIO
    oauth = {
        "clientId": CONTEXT.get("client_id"),
        "clientSecret": CONTEXT.get("client_secret"),
        "issuer": issuer_at(url) if CONTEXT.get("client_secret") else None,
        "clientMetadataUrl": DOCUMENT,
        "grant": "client_credentials" if is_own_login else "authorization_code",
    }
    remote = Remote(
        url=url,
        oauth=OAuth(
            client_id=oauth["clientId"] or "",
            client_secret=oauth["clientSecret"] or "",
            issuer=oauth["issuer"] or "",
            client_metadata_url=DOCUMENT,
        ),
    )
    entry = {"url": url, "oauth": {name: value for name, value in oauth.items() if value is not None}}
    modes: dict[str, Any] = {"form": {}, "url": {}} if OPENS_ADDRESSES else {"form": {}}
    era = Era(
        REVISION if REVISION in MODERN_PROTOCOL_VERSIONS else "2025-11-25",
        {"roots": {}, "sampling": {}, "elicitation": modes},
    )
    with tempfile.TemporaryDirectory() as home:
        for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
            os.environ[name] = home
        path = Path(home, "mcp-servers.json")
        settings = {"listing": "full", "firstListSeconds": 60, "engine": "own"}
        path.write_text(json.dumps({"mcpServers": {SERVER: entry}, "settings": settings}))
        user = User(remote)
        with Conversation([*SERVE, "--config", str(path)], era, dict(os.environ)) as conversation:
            SCENARIOS.get(SCENARIO, protected)(Client(conversation, user))
        user.leave()


if __name__ == "__main__":
    for name in [each for each in os.environ if each.startswith("XDG_")]:
        del os.environ[name]
    main(sys.argv[1])
