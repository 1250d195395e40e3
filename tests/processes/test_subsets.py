"""`serve --servers`: the log, edits of the file, and clients of one engine with different servers."""

import json
import sys
from pathlib import Path

import pytest

from processes.conftest import Serve, write
from processes.run import Run, server
from processes.shared import Home
from search_mcp.model.errors import for_shell

GOOD = server("well_behaved")


def tagged(*tags: str) -> dict[str, object]:
    return {**GOOD, "tags": [*tags]}


def names(run: Run) -> list[str]:
    return [each["name"] for each in run.servers()]


def test_edits_are_seen_through_the_expression(serve: Serve) -> None:
    with serve({"one": tagged("work"), "two": GOOD, "three": tagged("work")}, options=["--servers", "-t*"]) as run:
        run.opens()
        run.asks("tools/list")
        run.logs(f"= 1 of 3 servers (--servers {for_shell('-t*')}): one")
        assert names(run) == ["one"]
        write(run, {"one": GOOD, "two": GOOD, "four": GOOD})
        assert run.next()["method"] == "notifications/tools/list_changed"
        run.logs(f"= 2 of 3 servers (--servers {for_shell('-t*')}): one, four")
        assert run.calls("four.echo", words="x") == "x"
        assert "two" not in run.is_refused("two.echo")["data"]["suggestions"]
        write(run, {"one": GOOD, "two": {**GOOD, "args": "broken"}, "four": GOOD})
        run.logs("mcpServers.two.args")  # a person is told where
        told = run.asks("tools/call", name="list_servers")["structuredContent"]
        assert told["configurationError"].startswith(f"{run.config}: the file has a fault; ")
        assert "two" not in json.dumps(told)
    assert b"= four: started" in run.stderr
    assert b"= two: started" not in run.stderr


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        (",", "search-mcp cannot start: --servers: it is empty"),
        ("one", "search-mcp cannot start: {config}: the file has a fault; "),
    ],
)
def test_a_fault_at_the_start_refuses_every_request(serve: Serve, expression: str, why: str) -> None:
    with serve({"one": GOOD, "two": {**GOOD, "args": "broken"}}, options=[f"--servers={expression}"]) as run:
        message = run.answer(run.sends("ping"))["error"]["message"]
        assert message.startswith(why.format(config=run.config))
        assert "two" not in message


@pytest.mark.skipif(sys.platform != "linux", reason="engines are shared on POSIX; pidfds are of Linux")
def test_clients_of_one_engine_have_their_own_servers(tmp_path: Path) -> None:
    servers = {name: {**tagged(*tags), "share": True} for name, tags in {"one": ["work"], "two": []}.items()}
    with (
        Home(tmp_path, servers) as home,
        home.client(options=["--servers", "tag:work"]) as first,
        home.client(options=["--servers", "-nothing,one,two"]) as second,
    ):
        first.opens()
        second.opens()
        assert (names(first), names(second)) == (["one"], ["one", "two"])
        assert first.calls("one.echo", words="a") == "a"
        assert second.calls("one.echo", words="b") == "b"
        assert "two" not in json.dumps(first.is_refused("two.echo")["data"])
        first.logs("= 1 of 2 servers (--servers tag:work): one")
        second.logs("! --servers -nothing,one,two: there is no server 'nothing'")
        first.asks("tools/list")
        engine = home.engine()
        assert sorted(each["subset"] for each in engine["clients"]) == ["-nothing,one,two", "tag:work"]
        assert sorted(each["name"] for each in engine["servers"]) == ["one", "two"]
        write(home.client(), {**servers, "two": {**servers["two"], "tags": ["work"]}}, engine="shared")
        assert first.next()["method"] == "notifications/tools/list_changed"
        assert names(first) == ["one", "two"]
        write(home.client(), servers, engine="shared")
        assert first.next()["method"] == "notifications/tools/list_changed"
        home.kills_engine()
        assert names(first) == ["one"]  # the next engine is told the same
