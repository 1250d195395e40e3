"""What belongs to one token and is not found by another: sessions, parked calls, servers, results."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes.run import server

from fronts.http.serving import HttpClient, HttpServer, result, text

SERVERS = {
    "one": server("keeps_state"),
    "shared": server("numbers_calls", share=True),
    "long": server("well_behaved", maxResultCharacters=1000),
}


class Team:
    """A server with the tokens of Anna and Bob."""

    def __init__(self, folder: Path) -> None:
        self.server = HttpServer(folder, SERVERS)
        self.tokens = {name: self.server.token(name) for name in ("anna", "bob")}

    def client(self, name: str) -> HttpClient:
        return self.server.client(self.tokens[name])


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    made = Team(tmp_path_factory.mktemp("home"))
    with made.server:
        yield made


def test_a_token_is_needed_on_this_machine_too(team: Team) -> None:
    with team.server.client() as nobody, team.server.client("smcp_anna_x") as guessing:
        for client in (nobody, guessing):
            answer = client.asks("tools/list")
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


def test_a_session_of_another_is_not_found(team: Team) -> None:
    with team.client("anna") as anna, team.client("bob") as bob:
        anna.opens()
        bob.session = dict(anna.session)
        assert bob.sends("ping").status_code == 404
        assert bob.delete(bob.address, headers=bob.session).status_code == 404
        assert result(anna.sends("ping")) == {}


def test_a_shortened_result_of_another_is_not_found(team: Team) -> None:
    with team.client("anna") as anna, team.client("bob") as bob:
        long = anna.asks("tools/call", name="long.big", arguments={"size": 16_000}).text
        (handle,) = {*re.findall(r"handle\W+([\w-]{8,})", long)}
        mine = anna.asks("tools/call", name="read_result", arguments={"handle": handle})
        assert result(mine).get("isError") is not True
        other = bob.asks("tools/call", name="read_result", arguments={"handle": handle})
        assert result(other)["isError"]


def test_servers_are_not_shared_even_if_their_entry_says_so(team: Team) -> None:
    """`"share": true` means the clients of one principal."""
    with team.client("anna") as anna, team.client("bob") as bob:
        numbers = [text(each.asks("tools/call", name="shared.count", arguments={})) for each in (anna, anna, bob)]
    assert numbers == ["1", "2", "1"]


def test_a_token_for_some_servers_lists_these_only(team: Team) -> None:
    token = team.server.token("ci", "--servers", "long", "--read-only")
    with team.server.client(token) as ci:
        while (answer := ci.asks("tools/list")).status_code == 401:  # until the process has noticed the new token
            time.sleep(0.05)
        names = [each["name"] for each in result(answer)["tools"]]
        assert not [each for each in names if "." in each]
        assert ci.asks("tools/call", name="one.remember", arguments={}).status_code == 400


def test_a_removed_token_ends_its_sessions(team: Team) -> None:
    token = team.server.token("gone")
    with team.server.client(token) as client:
        while client.opens().status_code == 401:
            time.sleep(0.05)
        team.server.types("token", "remove", "gone")
        while client.sends("ping").status_code != 401:
            time.sleep(0.05)
