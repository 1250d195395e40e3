"""Extensions of servers in the capabilities for a client: only extensions whose methods can be routed."""

from pathlib import Path

import pytest

from conversations.back import leaves_to_the_test
from conversations.pair import Pair
from conversations.words import SKILLS, Json

UI, TASKS = "io.modelcontextprotocol/ui", "io.modelcontextprotocol/tasks"
OTHER = "com.example/x"


def offered(pair: Pair) -> Json | None:
    """Return the extensions in the capabilities that the client received last, without skills."""
    extensions: Json = pair.front.opening["capabilities"].get("extensions", {})
    return {name: settings for name, settings in extensions.items() if name != SKILLS} or None


def asks_again(pair: Pair) -> None:
    """Have the client ask for the capabilities again."""
    if pair.front.is_modern:
        pair.front.opening = pair.front.asks("server/discover").result()
    else:
        pair.front.initializes()


def knows_of(pair: Pair, folder: Path, **declared: Json) -> None:
    """Have each server declare these extensions, and be cached with them by an earlier process."""
    for name, extensions in declared.items():
        pair.backs[name].more_capabilities = {"extensions": extensions}
    pair.was_here_before(folder)


def test_an_extension_whose_methods_cannot_be_routed_is_not_offered(pair: Pair, tmp_path: Path) -> None:
    """A client that is offered it calls its methods, which search-mcp does not know."""
    knows_of(pair, tmp_path, alpha={OTHER: {"a": 1}, UI: {"b": 1.0}, TASKS: {}})
    pair.front.opens()
    assert offered(pair) == {UI: {"b": 1.0}, TASKS: {}}
    pair.front.asks(f"{OTHER}/list").fails(-32601)


def test_there_are_no_extensions_where_only_others_are_declared(pair: Pair, tmp_path: Path) -> None:
    knows_of(pair, tmp_path, alpha={OTHER: {}})
    pair.front.opens()
    assert offered(pair) is None


@pytest.mark.parametrize("first", ["alpha", "beta"])
def test_of_two_servers_the_first_in_the_configuration_decides_the_settings(
    pair: Pair, tmp_path: Path, first: str
) -> None:
    """Whichever of them answers first."""
    beta = pair.with_server("beta")
    knows_of(pair, tmp_path, alpha={UI: {"of": "alpha"}}, beta={UI: {"of": "beta"}, TASKS: {}})
    backs = [pair.alpha, beta] if first == "alpha" else [beta, pair.alpha]
    for back in backs:
        back.on(back.opening, leaves_to_the_test)
    pair.front.opens()
    assert offered(pair) == {UI: {"of": "alpha"}, TASKS: {}}
    for back in backs:
        back.opens()
        asks_again(pair)
        assert offered(pair) == {UI: {"of": "alpha"}, TASKS: {}}


def test_an_extension_whose_settings_are_no_object_is_not_offered(pair: Pair, tmp_path: Path) -> None:
    """ "extensions?: { [key: string]: JSONObject }": clients check the whole of it, or refuse to connect."""
    beta = pair.with_server("beta")
    assert beta.name == "beta"
    knows_of(pair, tmp_path, alpha={UI: True, TASKS: None}, beta={UI: {"of": "beta"}})
    pair.front.opens()
    assert offered(pair) == {UI: {"of": "beta"}}


# While a server is unknown

DECLARED: Json = {UI: {"mimeTypes": ["text/html;profile=mcp-app"]}, TASKS: {}, OTHER: {}}


def test_what_the_client_declared_is_offered_while_a_server_is_unknown(pair: Pair) -> None:
    """A legacy client asks once in a session, and the server may have it."""
    pair.front.opens(extensions=DECLARED)
    assert offered(pair) == {UI: {}, TASKS: {}}
    asks_again(pair)
    assert offered(pair) is None


def test_a_client_that_declared_nothing_is_offered_nothing_that_no_server_has(pair: Pair) -> None:
    pair.front.opens()
    assert offered(pair) is None


def test_it_is_offered_while_a_server_is_remembered_from_another_kind_of_client(pair: Pair, tmp_path: Path) -> None:
    """Servers may declare other extensions to other clients."""
    knows_of(pair, tmp_path, alpha={UI: {"of": "alpha"}, TASKS: {}})
    pair.front.opens(extensions={UI: {}})
    assert offered(pair) == {UI: {}}
    asks_again(pair)
    assert offered(pair) == {UI: {"of": "alpha"}, TASKS: {}}
    pair.comes_back()
    pair.front.opens(extensions={UI: {}})
    assert offered(pair) == {UI: {"of": "alpha"}, TASKS: {}}


def test_the_settings_of_a_known_server_go_before_those_of_an_unknown_one(pair: Pair, tmp_path: Path) -> None:
    knows_of(pair, tmp_path, alpha={UI: {"of": "alpha"}})
    pair.front.opens(extensions={UI: {}})
    pair.comes_back()
    pair.with_server("beta")
    pair.front.opens(extensions={UI: {}})
    assert offered(pair) == {UI: {"of": "alpha"}}


def test_of_a_server_that_cannot_start_nothing_is_expected(pair: Pair) -> None:
    pair.alpha.config = {"problem": "environment variable X is not set; set it"}
    pair.front.opens(extensions=DECLARED)
    asks_again(pair)
    assert offered(pair) is None
