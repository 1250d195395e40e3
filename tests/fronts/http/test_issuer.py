"""`serve --http --issuer`: a protected resource, whose clients bring access tokens of an authorization server."""

import importlib
import json
import pkgutil
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from processes.run import server
from processes.test_loading import loaded

from fronts.http.issuing import AUDIENCE, Issuer, issuing, signed
from fronts.http.serving import HttpClient, HttpServer, result, text
from search_mcp.__main__ import main
from search_mcp.fronts.http import App, app

BOTH_NEEDED = "--issuer and --audience are both needed, or neither"
VARIABLES = "SEARCH_MCP_ISSUER and SEARCH_MCP_AUDIENCE"
METADATA = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"


class House:
    """A front with an issuer, and a server that keeps a secret of each principal."""

    def __init__(self, folder: Path, issuer: Issuer) -> None:
        self.issuer = issuer
        entries = {"one": server("well_behaved"), "secret": server("well_behaved", env={"WHO": "${user:WHO}"})}
        options = ["--issuer", issuer.url, "--audience", AUDIENCE, "--scope", "tools"]
        self.front = HttpServer(folder, entries, *options)
        self.static = self.front.token("static")

    def client(self, subject: str, **claims: Any) -> HttpClient:
        return self.front.client(signed(self.issuer.url, sub=subject, **{"scope": "openid tools", **claims}))

    def name(self, subject: str) -> str:
        """Return how `token list` calls a subject, once it does."""
        while True:
            listed = json.loads(self.front.types("token", "list", "--json"))["tokens"]
            for each in listed:
                if each["subject"] == subject:
                    return str(each["name"])


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with issuing() as issuer:
        made = House(tmp_path_factory.mktemp("home"), issuer)
        with made.front:
            yield made


def test_a_client_without_a_token_is_told_where_to_log_in(house: House) -> None:
    with house.front.client() as client:
        answer = client.asks("tools/list")
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == f'Bearer scope="tools", resource_metadata="{METADATA}"'
        for path in ("", "/mcp"):
            address = client.address.replace("/mcp", f"/.well-known/oauth-protected-resource{path}")
            assert client.get(address, headers={"host": "mcp.example.com"}).json() == {
                "resource": AUDIENCE,
                "authorization_servers": [house.issuer.url],
                "scopes_supported": ["tools"],
                "bearer_methods_supported": ["header"],
            }
            assert client.post(address).status_code == 405
            assert client.get(address, headers={"host": "evil.example.com"}).status_code == 421


def test_tokens_of_the_issuer_and_our_own_are_valid_beside_each_other(house: House) -> None:
    for client in (house.client("auth0|anna"), house.front.client(house.static)):
        with client:
            assert text(client.asks("tools/call", name="one.echo", arguments={"words": "hello"})) == "hello"


def test_refused_tokens(house: House) -> None:
    with house.client("anna", scope="openid") as narrow, house.client("anna", aud="https://other.example.com") as other:
        answer = narrow.asks("tools/list")
        assert (answer.status_code, 'error="insufficient_scope"' in answer.headers["www-authenticate"]) == (403, True)
        answer = other.asks("tools/list")
        assert (answer.status_code, 'error="invalid_token"' in answer.headers["www-authenticate"]) == (401, True)
        assert "another audience" in answer.text
    with house.front.client("smcp_static_x") as guessing:
        assert 'error="invalid_token"' in guessing.asks("tools/list").headers["www-authenticate"]
    with house.front.client("x" * 12_000) as long:
        assert long.asks("tools/list").status_code == 401


def test_a_session_goes_on_with_a_new_token_of_the_same_subject_only(house: House) -> None:
    with house.client("anna", exp=time.time() + 60) as anna, house.client("anna", exp=time.time() - 60) as expired:
        assert anna.opens().status_code == 200
        expired.session = dict(anna.session)
        assert expired.sends("ping").status_code == 401
        with house.client("anna", exp=time.time() + 300) as renewed, house.client("bob") as bob:
            renewed.session = bob.session = dict(anna.session)
            assert result(renewed.sends("ping")) == {}
            assert bob.sends("ping").status_code == 404


def test_a_subject_has_a_name_for_its_secrets_and_logins(house: House) -> None:
    with house.client("carol@example.com") as carol:
        answer = carol.asks("tools/call", name="secret.environment", arguments={}).text
        (command,) = {*re.findall(r"run `search-mcp (token secret sub-\w+ WHO)`", answer)}
        name = house.name("carol@example.com")
        assert command.split()[2] == name
        house.front.types(*command.split(), stdin="it is carol\n")
        while "backing off" in (said := carol.asks("tools/call", name="secret.environment", arguments={})).text:
            time.sleep(0.1)
        assert json.loads(text(said))["WHO"] == "it is carol"
        assert f"{name} (carol@example.com)" in house.front.types("token", "list").replace("\n", "")
        house.front.types("token", "remove", name)
        assert not list(house.front.folder.rglob(f"secrets-of/{name}"))


def test_nothing_of_a_token_is_logged(house: House) -> None:
    with house.client("dora") as client:
        client.asks("tools/list")
        written = "".join(house.front.stderr) + "".join(
            path.read_text("utf-8", "replace") for path in house.front.folder.rglob("*") if path.is_file()
        )
        token = client.headers["authorization"].split()[1]
    assert not [part for part in token.split(".") if part in written]


def test_no_token_has_the_name_of_a_subject(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["token", "add", "sub-anna"]) == 2
    assert "is no name for a token" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--issuer", "https://a.example.com"], BOTH_NEEDED),
        (["--audience", AUDIENCE], BOTH_NEEDED),
        (["--scope", "x"], BOTH_NEEDED),
        (["--issuer", "http://a.example.com", "--audience", AUDIENCE], "--issuer cannot be used: it is not https"),
        (["--issuer", "https://a.example.com", "--audience", "mcp"], "--audience cannot be used: it is not a URL"),
        (["--issuer", "https://a.example.com", "--audience", AUDIENCE, "--scope", 'a"'], "a scope has no spaces"),
        (["--issuer", "https://a.example.com", "--audience", AUDIENCE, "--no-auth"], "exclude each other"),
    ],
)
def test_options_that_do_not_fit(options: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--http", "127.0.0.1:0", *options]) == 2
    assert reason in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--log-json"], "--log-json works with --http only; add --http HOST:PORT"),
        (["--health", "127.0.0.1:0", "--scope", "x"], "--health and --scope work with --http only"),
    ],
)
def test_options_that_need_the_front_over_http(
    options: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *options]) == 2
    assert reason in " ".join(capsys.readouterr().err.split())


def test_without_an_issuer_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    front = HttpServer(tmp_path, {}, "--no-auth")
    front.more_environment = {"PYTHONPROFILEIMPORTTIME": "1"}
    with front, front.client() as client:
        client.asks("ping")
    assert "uvicorn" in "".join(front.stderr)
    assert loaded("".join(front.stderr).encode(), "jwt", "cryptography", "search_mcp.fronts.http.issuer_keys") == set()


@pytest.mark.parametrize("issuer", ["http://login.example.com", ""])
def test_the_variables_of_the_application(issuer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of another ASGI server: a wrong one is told at its start."""
    monkeypatch.setenv("SEARCH_MCP_ISSUER", issuer)
    monkeypatch.setenv("SEARCH_MCP_AUDIENCE", AUDIENCE)
    sent: list[Any] = []

    async def main() -> None:
        async def receive() -> Any:
            return {"type": "lifespan.startup"}

        async def send(message: Any) -> None:
            sent.append(message)

        await app({"type": "lifespan"}, receive, send)

    anyio.run(main)
    assert sent[0]["type"] == "lifespan.startup.failed"
    assert ("SEARCH_MCP_ISSUER cannot be used: it is not https" if issuer else f"{VARIABLES} are both needed") in sent[
        0
    ]["message"]


def test_the_application_stays_what_it_is_when_its_modules_are_loaded() -> None:
    """A module of its name in the package would take its place."""
    assert isinstance(importlib.import_module("search_mcp.fronts.http").app, App)
    for each in pkgutil.iter_modules(importlib.import_module("search_mcp.fronts.http").__path__):
        importlib.import_module(f"search_mcp.fronts.http.{each.name}")
    assert isinstance(importlib.import_module("search_mcp.fronts.http").app, App)
