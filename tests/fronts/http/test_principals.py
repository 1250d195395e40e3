"""What belongs to one token and is not found by another: sessions, parked calls, servers, secrets, results."""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes.run import Json, server

from fronts.http.serving import HttpClient, HttpServer, result, text

SERVERS = {
    "one": server("keeps_state"),
    "shared": server("numbers_calls", share=True),
    "common": server("numbers_calls", share="all"),
    "secret": server("well_behaved", env={"WHO": "${user:WHO}"}),
    "long": server("well_behaved", maxResultCharacters=1000),
    "asks": server("asks_during_a_call"),
    "task": server("keeps_a_task"),
}
ELICITS: Json = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
ACCEPTED: Json = {"action": "accept", "content": {}}


class Team:
    """A server with the tokens of Anna and Bob."""

    def __init__(self, folder: Path) -> None:
        self.server = HttpServer(folder, SERVERS)
        self.tokens = {name: self.server.token(name) for name in ("anna", "bob")}
        for name in self.tokens:
            self.server.types("token", "secret", name, "WHO", stdin=f"it is {name}\n")

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


def test_a_parked_call_of_another_is_not_found(team: Team) -> None:
    call: Json = {"name": "asks.ask", "arguments": {}, "_meta": ELICITS}
    with team.client("anna") as anna, team.client("bob") as bob:
        parked = result(anna.asks("tools/call", **call))
        answers = dict.fromkeys(parked["inputRequests"], ACCEPTED)
        again = {**call, "requestState": parked["requestState"], "inputResponses": answers}
        assert "requestState is unknown" in bob.asks("tools/call", **again).json()["error"]["message"]
        assert "accept" in text(anna.asks("tools/call", **again))


def test_a_task_of_another_is_not_found(team: Team) -> None:
    with team.client("anna") as anna, team.client("bob") as bob:
        for client in (anna, bob):
            client.opens()
        task = result(anna.sends("tools/call", name="task.echo", arguments={}, task={"ttl": 60_000}))["task"]["taskId"]
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            error = bob.sends(method, taskId=task).json()["error"]
            assert (error["code"], error["message"].startswith("Task not found")) == (-32602, True)
        assert result(anna.sends("tasks/get", taskId=task))["status"] == "working"


def test_a_call_and_a_question_of_another_are_neither_ended_nor_answered(team: Team) -> None:
    with team.client("anna") as anna, team.client("bob") as bob, team.client("anna") as answering:
        for client in (anna, bob):
            client.opens(elicitation={})
        answering.session = anna.session
        call = anna.request_of("tools/call", {"name": "asks.ask", "arguments": {}})
        with anna.posting(call) as messages:
            question = next(each for each in messages if each.get("method") == "elicitation/create")
            bob.posts({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call["id"]}})
            bob.posts({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
            with bob.listening(last_event=question["event_id"]) as resumed:  # nothing of Anna's comes here
                bob.session, before = {}, bob.session
                assert bob.delete(bob.address, headers=before).status_code in (200, 204)
                assert list(resumed) == []
            answering.posts({"jsonrpc": "2.0", "id": question["id"], "result": ACCEPTED})
            assert "accept" in next(messages)["result"]["content"][0]["text"]


def test_servers_are_not_shared_even_if_their_entry_says_so(team: Team) -> None:
    """`"share": true` means the clients of one principal."""
    with team.client("anna") as anna, team.client("bob") as bob:
        numbers = [text(each.asks("tools/call", name="shared.count", arguments={})) for each in (anna, anna, bob)]
    assert numbers == ["1", "2", "1"]


def test_a_server_is_shared_by_all_names_if_its_entry_says_so(team: Team) -> None:
    with team.client("anna") as anna, team.client("bob") as bob:
        numbers = [text(each.asks("tools/call", name="common.count", arguments={})) for each in (anna, bob)]
    assert numbers == ["1", "2"]


def test_a_name_that_may_only_read_does_not_use_the_process_of_others(team: Team) -> None:
    token = team.server.token("reader", "--read-only")
    with team.client("anna") as anna, team.server.client(token) as reader:
        anna.asks("tools/call", name="common.count", arguments={})
        while (answer := reader.asks("tools/call", name="common.count", arguments={})).status_code == 401:
            time.sleep(0.05)
        assert "Tool not declared read-only: common.count" in answer.text
        assert "common.count" not in [each["name"] for each in result(reader.asks("tools/list"))["tools"]]


def test_each_has_its_own_secret(team: Team) -> None:
    with team.client("anna") as anna, team.client("bob") as bob:
        for name, client in (("anna", anna), ("bob", bob)):
            said = text(client.asks("tools/call", name="secret.environment", arguments={}))
            assert json.loads(said)["WHO"] == f"it is {name}"
    (listed,) = [
        each for each in json.loads(team.server.types("token", "list", "--json"))["tokens"] if each["name"] == "anna"
    ]
    assert listed["secrets"] == ["WHO"]


def test_a_server_without_its_secret_says_so_and_starts_when_it_is_stored(team: Team) -> None:
    token = team.server.token("carol")
    with team.server.client(token) as carol:
        while (answer := carol.asks("tools/call", name="secret.echo", arguments={})).status_code == 401:
            time.sleep(0.05)
        error = answer.json()["error"]
        assert error["message"].endswith(
            ': env.WHO: "the secret WHO of carol does not exist". Ask the user to run '
            "`search-mcp token secret carol WHO` in a terminal of the computer where search-mcp runs"
        )
        assert error["data"]["state"] == "failed"  # not tried again as time goes by
        team.server.types("token", "secret", "carol", "WHO", stdin="it is carol\n")
        while "secret.echo" not in [each["name"] for each in result(carol.asks("tools/list"))["tools"]]:
            time.sleep(0.05)


def test_a_call_is_recorded_with_the_name_of_its_token(team: Team) -> None:
    with team.client("anna") as anna:
        anna.opens()
        anna.sends("tools/call", name="common.count", arguments={})
        anna.delete(anna.address, headers=anna.session)
    while not (found := json.loads(team.server.types("usage", "--client", "anna", "--last", "1", "--json"))["calls"]):
        time.sleep(0.05)
    assert found[0]["client"] == "anna / a client"


def test_a_removed_token_takes_its_secrets_along(team: Team) -> None:
    team.server.token("dora")
    team.server.types("token", "secret", "dora", "WHO", stdin="it is dora")
    team.server.types("token", "remove", "dora")
    assert not list(team.server.folder.rglob("secrets-of/dora"))
    with pytest.raises(subprocess.CalledProcessError):
        team.server.types("token", "secret", "dora", "WHO", stdin="x")


def test_secrets_that_cannot_be_deleted_are_named(team: Team) -> None:
    team.server.token("dora")
    team.server.types("token", "secret", "dora", "WHO", stdin="it is dora")
    (folder,) = team.server.folder.rglob("secrets-of/dora")
    (folder / "WHO").unlink()
    folder.rmdir()
    folder.touch()  # a file in its place
    with pytest.raises(subprocess.CalledProcessError) as failed:
        team.server.types("token", "remove", "dora")
    said = " ".join(failed.value.stderr.split())
    assert said.startswith("error: the token is removed, but ")
    assert "dora cannot be deleted (Not a directory); delete this folder yourself" in said
    folder.unlink()


def test_a_new_token_with_the_same_options_goes_on_with_the_sessions(team: Team) -> None:
    old = team.server.token("eve")
    with team.server.client(old) as before:
        while before.opens().status_code == 401:
            time.sleep(0.05)
        new = team.server.token("eve")
        while before.sends("ping").status_code != 401:
            time.sleep(0.05)
        with team.server.client(new) as after:
            after.session = before.session
            assert result(after.sends("ping")) == {}
            other = team.server.token("eve", "--read-only")
        with team.server.client(other) as changed:
            changed.session = before.session
            while (answer := changed.sends("ping")).status_code == 401:
                time.sleep(0.05)
            assert answer.status_code == 404


def test_a_token_for_some_servers_lists_these_only(team: Team) -> None:
    token = team.server.token("ci", "--servers", "long")
    with team.server.client(token) as ci:
        while (answer := ci.asks("tools/list")).status_code == 401:  # until the process has noticed the new token
            time.sleep(0.05)
        names = [each["name"] for each in result(answer)["tools"]]
        assert {each.partition(".")[0] for each in names if "." in each} == {"long"}
        assert ci.asks("tools/call", name="one.set", arguments={}).status_code == 400


def test_tokens_are_noticed_in_a_folder_that_was_made_anew(tmp_path: Path) -> None:
    running = HttpServer(tmp_path, {})
    old = running.token("anna")
    (file,) = tmp_path.rglob("front-tokens/anna.json")
    with running, running.client(old) as anna:
        assert anna.asks("tools/list").status_code == 200
        while not file.with_suffix(".used").exists():  # the last that is written there
            time.sleep(0.05)
        shutil.rmtree(file.parent)
        while anna.asks("tools/list").status_code != 401:
            time.sleep(0.05)
        with running.client(running.token("bob")) as bob:
            while bob.asks("tools/list").status_code != 200:
                time.sleep(0.05)


def test_a_folder_that_cannot_be_made_means_no_tokens(tmp_path: Path) -> None:
    (tmp_path / ".local").touch()
    with HttpServer(tmp_path, {}) as running, running.client("smcp_anna_x") as anna:
        assert anna.asks("tools/list").status_code == 401
    assert "front-tokens cannot be made" in "".join(running.stderr)


def test_a_removed_token_ends_its_sessions(team: Team) -> None:
    token = team.server.token("gone")
    with team.server.client(token) as client:
        while client.opens().status_code == 401:
            time.sleep(0.05)
        team.server.types("token", "remove", "gone")
        while client.sends("ping").status_code != 401:
            time.sleep(0.05)
