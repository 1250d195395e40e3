"""Two replicas behind a load balancer: which requests reach which one."""

import json
import re
import time
from collections.abc import Iterator

import pytest
from processes.run import Json, server

from fronts.http.issuing import AUDIENCE, issuing, signed
from fronts.http.replicas import PLACE, Replicas, balanced, place
from fronts.http.serving import HttpClient, result, text

NAMES = [f"name-{number}" for number in range(8)]
ELICITS: Json = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
ACCEPTED: Json = {"action": "accept", "content": {}}


OTHERS = [pytest.param(each, marks=pytest.mark.figures) for each in ("nginx", "envoy")]


@pytest.fixture(scope="module", params=["haproxy", *OTHERS])
def replicas(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    """Two that run, and also take the access tokens of an issuer."""
    folder = tmp_path_factory.mktemp("replicas")
    with issuing() as issuer:
        long = server("well_behaved", maxResultCharacters=1000)
        servers = {**PLACE, "asks": server("asks_during_a_call"), "long": long}
        made = Replicas(folder, servers, "--issuer", issuer.url, "--audience", AUDIENCE)
        made.issuer = issuer.url
        with made, balanced(folder, made, request.param):
            yield made


@pytest.fixture(scope="module")
def tokens(replicas: Replicas) -> dict[str, str]:
    """A token for each replica, by the name of its folder."""
    found: dict[str, str] = {}
    for token in replicas.tokens(*NAMES).values():
        with replicas.client(token) as client:
            wait_for_token(client)
            found.setdefault(place(client).name, token)
    return found


def wait_for_token(client: HttpClient) -> None:
    while client.asks("ping").status_code == 401:
        time.sleep(0.05)


def test_both_have_names(tokens: dict[str, str]) -> None:
    assert tokens.keys() == {"one", "two"}


@pytest.mark.parametrize("name", ["one", "two"])
def test_a_session_and_modern_requests_of_a_name_are_at_one_replica(
    replicas: Replicas, tokens: dict[str, str], name: str
) -> None:
    with replicas.client(tokens[name]) as client:
        client.opens()
    for _ in range(4):
        with replicas.client(tokens[name]) as other:  # on a connection of its own
            assert place(other).name == name
            other.session = client.session
            assert result(other.sends("ping")) == {}


def test_a_new_token_of_a_name_stays_at_its_replica(replicas: Replicas, tokens: dict[str, str]) -> None:
    for home, token in tokens.items():
        _, name, _ = token.split("_", 2)
        with replicas.client(replicas.tokens(name)[name]) as client:
            wait_for_token(client)
            assert place(client).name == home
            tokens[home] = client.headers["authorization"].removeprefix("Bearer ")


@pytest.mark.parametrize("replicas", ["haproxy"], indirect=True)
def test_all_access_tokens_of_a_user_are_at_one_replica(replicas: Replicas) -> None:
    homes: dict[str, str] = {}
    for user in NAMES:
        found = set()
        for number in range(3):
            with replicas.client(signed(replicas.issuer, sub=user, jti=f"{number}")) as client:
                found.add(place(client).name)
        (homes[user],) = found
    assert {*homes.values()} == {"one", "two"}


@pytest.mark.parametrize("name", ["one", "two"])
def test_a_parked_call_goes_on_over_another_connection(replicas: Replicas, tokens: dict[str, str], name: str) -> None:
    call: Json = {"name": "asks.ask", "arguments": {}, "_meta": ELICITS}
    with replicas.client(tokens[name]) as client:
        parked = result(client.asks("tools/call", **call))
    with replicas.client(tokens[name]) as other:
        answers = dict.fromkeys(parked["inputRequests"], ACCEPTED)
        again = {**call, "requestState": parked["requestState"], "inputResponses": answers}
        assert "accept" in text(other.asks("tools/call", **again))


def test_handles_of_one_replica_are_answered_clearly_at_another(replicas: Replicas, tokens: dict[str, str]) -> None:
    """They get there if their replica ended."""
    (other,) = (each for each in replicas.each if each.folder.name == "two")
    call: Json = {"name": "asks.ask", "arguments": {}, "_meta": ELICITS}
    with replicas.client(tokens["one"]) as client, other.server.client(tokens["one"]) as stray:
        parked = result(client.asks("tools/call", **call))
        long = client.asks("tools/call", name="long.big", arguments={"size": 16_000}).text
        (handle,) = {*re.findall(r"handle\W+([\w-]{8,})", long)}
        client.opens()
        stray.session = client.session
        assert stray.sends("ping").status_code == 404
        stray.session = {}
        again = {**call, "requestState": parked["requestState"], "inputResponses": {}}
        assert "requestState is unknown" in stray.asks("tools/call", **again).json()["error"]["message"]
        assert text(stray.asks("tools/call", name="read_result", arguments={"handle": handle})).startswith(
            "There is no"
        )


@pytest.mark.parametrize("name", ["one", "two"])
def test_a_question_and_its_answer_are_of_one_session(replicas: Replicas, tokens: dict[str, str], name: str) -> None:
    with replicas.client(tokens[name]) as client, replicas.client(tokens[name]) as other:
        client.opens(elicitation={})
        other.session = client.session
        with client.posting(client.request_of("tools/call", {"name": "asks.ask", "arguments": {}})) as messages:
            question = next(each for each in messages if each.get("method") == "elicitation/create")
            other.posts({"jsonrpc": "2.0", "id": question["id"], "result": ACCEPTED})
            assert "accept" in next(messages)["result"]["content"][0]["text"]


@pytest.mark.parametrize("name", ["one", "two"])
def test_streams_of_notifications_come_through(replicas: Replicas, tokens: dict[str, str], name: str) -> None:
    (replica,) = (each for each in replicas.each if each.folder.name == name)
    with replicas.client(tokens[name]) as legacy, replicas.client(tokens[name]) as modern:
        legacy.opens()
        legacy.sends("tools/list")
        wanted = {"notifications": {"toolsListChanged": True}}
        listen, headers = (
            modern.modern_of("subscriptions/listen", wanted),
            modern.headers_of("subscriptions/listen", {}),
        )
        with legacy.listening() as of_session, modern.posting(listen, headers=headers) as of_request:
            assert next(of_request)["method"] == "notifications/subscriptions/acknowledged"
            written = replica.server.config.read_text()
            edited = json.loads(written)
            edited["mcpServers"]["place"]["tools"] = {"deny": ["big"]}
            replica.server.config.write_text(json.dumps(edited))
            for messages in (of_session, of_request):
                assert next(messages)["method"] == "notifications/tools/list_changed"
            replica.server.config.write_text(written)
