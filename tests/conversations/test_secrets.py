"""Sources of secrets: when they are read, what waits for them, and that no message shows their values."""

import sys
from collections.abc import Iterator

import pytest

from conversations.back import exits
from conversations.pair import Pair
from conversations.vault import configured
from conversations.words import MODERN, Json, text
from search_mcp.backends.secret_sources import SECONDS

COMMAND = "vault read token"
VALUE = "s3cret-of-the-vault"


def _needs_token(pair: Pair, name: str = "alpha", command: str = COMMAND) -> None:
    """Give a server a variable whose value comes from a command."""
    entry = {"command": sys.executable, "args": [name], "env": {"TOKEN": f"${{command:{command}}}"}}
    pair.backs[name].config |= configured(entry)


def _skips_news(pair: Pair) -> None:
    """Take the notifications that came, but no answer."""
    front = pair.front
    front.inbox = [said for said in front.inbox if said.method is None]


def _status(pair: Pair, name: str = "alpha") -> Json:
    servers = pair.front.calls("list_servers").result()["structuredContent"]["servers"]
    found: Json = next(each for each in servers if each["name"] == name)
    return found


def _tokens(pair: Pair, name: str = "alpha") -> list[str | None]:
    return [command.environment.get("TOKEN") for command in pair.commands if command.args[0] == name]


def test_a_server_gets_its_secret_at_its_start(pair: Pair) -> None:
    pair.vault.prints[COMMAND] = VALUE
    _needs_token(pair)
    pair.front.opens()
    assert _tokens(pair) == [VALUE]
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo")
    pair.alpha.returns(text("x"))
    call.gets(text("x"))


def test_a_slow_command_holds_its_own_server_only(pair: Pair) -> None:
    pair.vault.prints[COMMAND] = VALUE
    pair.vault.takes_seconds[COMMAND] = SECONDS - 1
    _needs_token(pair)
    beta = pair.with_server("beta")
    pair.front.opens_over(SECONDS - 2)
    assert (len(pair.alpha.channels), len(beta.channels)) == (0, 1)
    call = pair.front.calls("beta.echo")
    beta.is_called("echo").returns(text("at once"))
    call.gets(text("at once"))
    waiting = pair.front.calls("alpha.echo")
    pair.after(2)
    assert _tokens(pair) == [VALUE]
    pair.alpha.is_called("echo").returns(text("later"))
    _skips_news(pair)
    waiting.gets(text("later"))


def test_a_command_without_an_end_fails_its_server(pair: Pair) -> None:
    pair.vault.takes_seconds[COMMAND] = 1e6
    _needs_token(pair)
    pair.front.opens_over(SECONDS + 0.1)
    assert _status(pair)["lastError"].startswith(f"env.TOKEN: the command `{COMMAND}` gave no answer within 30 s")
    assert pair.alpha.channels == []


def test_a_failed_source_is_named_and_tried_again(pair: Pair) -> None:
    pair.vault.fails[COMMAND] = "exited with code 1"
    _needs_token(pair)
    pair.front.opens_over(0.1)
    assert _status(pair)["lastError"].startswith(f"env.TOKEN: the command `{COMMAND}` exited with code 1")
    del pair.vault.fails[COMMAND]
    pair.vault.prints[COMMAND] = VALUE
    pair.after(1)
    _skips_news(pair)
    assert (len(pair.vault.asked), _tokens(pair), _status(pair)["state"]) == (2, [VALUE], "ready")


def test_a_command_runs_once_for_all_servers_and_starts(pair: Pair) -> None:
    pair.vault.prints |= {COMMAND: VALUE, "other": "another"}
    pair.vault.takes_seconds[COMMAND] = 1
    _needs_token(pair)
    for name, command in (("beta", COMMAND), ("gamma", "other")):
        pair.with_server(name)
        _needs_token(pair, name, command)
    pair.front.opens_over(2)
    assert sorted(pair.vault.asked) == ["other", COMMAND]
    pair.alpha.exits(1)
    pair.after(1)
    _skips_news(pair)
    assert _tokens(pair) == [VALUE, VALUE]
    assert sorted(pair.vault.asked) == ["other", COMMAND]


def test_a_failure_is_that_of_all_servers_that_wait_for_it(pair: Pair) -> None:
    pair.vault.fails[COMMAND] = "exited with code 1"
    pair.vault.takes_seconds[COMMAND] = 1
    pair.with_server("beta")
    for name in ("alpha", "beta"):
        _needs_token(pair, name)
    pair.front.opens_over(1.1)
    assert len(pair.vault.asked) == 1
    assert all("exited with code 1" in _status(pair, name)["lastError"] for name in ("alpha", "beta"))


def test_no_error_and_no_warning_shows_the_value(pair: Pair) -> None:
    pair.vault.prints[COMMAND] = VALUE
    _needs_token(pair)
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").fails(-32000, f"bad {VALUE}", {"it": VALUE})
    error = call.fails(-32000).body["error"]
    assert (VALUE in str(error), "bad ***" in error["message"]) == (False, True)
    pair.alpha.on_opening(exits)
    pair.alpha.exits(1, f"token {VALUE} is wrong")
    status = _status(pair)
    assert (VALUE in str(status), "token *** is wrong" in str(status)) == (False, True)
    assert VALUE not in str(pair.transcript.warnings)


def test_a_server_is_not_started_after_a_signal_that_came_meanwhile(pair: Pair) -> None:
    pair.vault.prints[COMMAND] = VALUE
    pair.vault.takes_seconds[COMMAND] = 5
    _needs_token(pair)
    pair.front.opens_over(1)
    pair.terminates()
    pair.after(10)
    assert pair.alpha.channels == []


def test_an_edit_of_the_command_restarts_the_server(pair: Pair) -> None:
    pair.vault.prints |= {COMMAND: VALUE, "other": "another value"}
    _needs_token(pair)
    pair.front.opens()
    _needs_token(pair, command="other")
    pair.edit()
    pair.after(1)
    assert _tokens(pair) == [VALUE, "another value"]


# Clients that share servers


@pytest.fixture
def pool() -> Iterator[Pair]:
    with Pair(MODERN, MODERN) as pair:
        pair.is_pooled = True
        pair.vault.prints[COMMAND] = VALUE
        _needs_token(pair)
        pair.alpha.config["share"] = True
        yield pair
        pair.nothing_is_left()


def test_clients_that_read_the_same_secrets_share_a_server(pool: Pair) -> None:
    pool.front.opens()
    second = pool.joined_by(MODERN)
    second.opens()
    assert pool.each_calls(pool.front, second) == [1000, 1000]
    assert len(pool.vault.asked) == 1


def test_clients_whose_command_gets_other_variables_do_not_share_a_server(pool: Pair) -> None:
    """What the command prints may depend on any of them, and it is not run before the server starts."""
    pool.front.opens()
    second = pool.joined_by(MODERN, variables={"SUFFIX": "-of-another"})
    second.opens()
    assert pool.each_calls(pool.front, second) == [1000, 1001]
    assert _tokens(pool) == [VALUE, f"{VALUE}-of-another"]


def test_an_error_shows_the_value_to_no_client_that_shares_the_server(pool: Pair) -> None:
    pool.front.opens()
    second = pool.joined_by(MODERN)
    second.opens()
    call = second.calls("alpha.echo")
    pool.alpha.is_called("echo").fails(-32000, f"bad {VALUE}")
    assert VALUE not in str(call.fails(-32000))
