"""Sources of secrets: how they are written, where they may be, and that other placeholders mean what they meant."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.pretty import pretty_repr

from config.samples import VARIABLES, parse
from search_mcp.config import entries, identity, parsing, sources
from search_mcp.config.held_command import held_command
from search_mcp.config.placeholders import Expansion, Places, Source, references
from search_mcp.config.schema import ServerConfig
from search_mcp.config.secrets import is_secret
from search_mcp.wire.structs import replace

PLACES = Places(VARIABLES, "/home/ada", "/etc/conf", "/usr/bin/python3")

WRITTEN = [
    # a text, the sources in it
    ("${file:~/token}", [("file", "~/token")]),
    ("Bearer ${command:op read op://a/b c}!", [("command", "op read op://a/b c")]),
    ("${keyring:svc/name}${file:a}", [("keyring", "svc/name"), ("file", "a")]),
    ("${user:GITHUB_TOKEN}", [("user", "GITHUB_TOKEN")]),
    ("${command: op }", [("command", "op")]),
    ("${command:docker inspect --format {{.Id}} x}", [("command", "docker inspect --format {{.Id}} x")]),
    ("${command:echo {}", [("command", "echo {")]),
    ("${command:echo }}", [("command", "echo")]),
    ("${file:}", [("file", "")]),
    ("$${file:a} $${command:b {c} d}", []),
    ("${file:-x} ${command:+x} ${file:=x} ${keyring:?x}", []),
    ("${file:0:3} ${file:3} ${file: -3} ${file:1: -2}", []),
    ("${File:a} ${files:a} ${file} ${command} {file:a} ${input:a}", []),
]


@pytest.mark.parametrize(("text", "found"), WRITTEN)
def test_sources_in_a_text(text: str, found: list[tuple[str, str]]) -> None:
    assert [*sources.in_text(text)] == found


def test_sources_need_no_variables() -> None:
    assert [*references("${file:~/a} ${A} ${command:x $B} $${file:c}")] == ["A"]


@pytest.mark.parametrize(("text", "found"), WRITTEN)
def test_sources_in_a_text_of_another_client_can_be_escaped(text: str, found: list[tuple[str, str]]) -> None:
    plain = sources.as_plain_text(text)
    assert [*sources.in_text(plain)] == []
    filling = Expansion(PLACES)
    shown = filling.expand(plain, "args")
    assert filling.sources == []
    if found:
        assert shown == text


# Old placeholders


_TILDE = r"\A~(?=[/\\]|\Z)"
_NAME = r"((?P<scheme>[A-Za-z]+):)?(?P<name>[A-Za-z_][\w()]*)(:-(?P<default>[^}]*))?"


def _as_before(text: str) -> str:
    """Expand as search-mcp did when there were no sources; what has no value stays."""

    def value(match: re.Match[str]) -> str:
        fixed = {"home": "/home/ada", "userHome": "/home/ada", "configDir": "/etc/conf", "python": "/usr/bin/python3"}
        if match["name"] is None:
            return "/home/ada"
        if match["escape"]:
            return match[0][1:]
        if match["scheme"] is None and match["name"] in fixed:
            return fixed[match["name"]]
        if match["scheme"] not in (None, "env") or (match["default"] is not None and "${" in match["default"]):
            return match[0]
        found = VARIABLES.get(match["name"])
        return found or (match["default"] if match["default"] is not None else match[0])

    return re.sub(rf"{_TILDE}|(?P<escape>\$)?\$\{{{_NAME}\}}", value, text)


PIECES = st.sampled_from(
    [
        *("${TOKEN}", "$${TOKEN}", "${ABSENT:-x}", "${env:TOKEN}", "${home}", "${input:a}", "${file:-x}", "${file:2}"),
        *("${name%.*}", "${", "}", "{", "$", ":", "file:", "command:", "~", "/", " ", "x", "${TOKEN:-${HOME}}", "é"),
    ]
)
CLOSED = st.sampled_from(
    ["${TOKEN}", "$${TOKEN}", "${ABSENT:-x}", "${env:TOKEN}", "${home}", "${input:a}", "${file:-x}", "${1}", "x ", "}"]
)


@given(st.lists(PIECES).map("".join) | st.text())
def test_texts_without_a_source_mean_what_they_meant(text: str) -> None:
    filling = Expansion(PLACES)
    expanded = filling.expand(text, "args")
    if not filling.sources and not filling.complaints and not any(f"${{{kind}:" in text for kind in sources.KINDS):
        assert expanded == _as_before(text)


@given(st.lists(CLOSED).map("".join), st.lists(CLOSED).map("".join))
def test_the_text_around_a_source_means_what_it_meant(before: str, after: str) -> None:
    filling = Expansion(PLACES, {("file", "a b"): "${TOKEN}"})
    assert (
        filling.expand(f"x{before}${{file:a b}}{after}", "args")
        == f"x{_as_before(before)}${{TOKEN}}{_as_before(after)}"
    )


@given(st.text(alphabet="${}:-file command\\\"' x"))
def test_no_text_takes_long_or_raises(text: str) -> None:
    filling = Expansion(PLACES)
    filling.expand(f"${{file:{text}", "env", "A")
    assert len([*sources.in_text(text)]) <= len(text)


def test_many_braces_take_no_long_time() -> None:
    for text in ("${command:" * 20_000, "${file:" + "{" * 100_000, "${file:" + "{a}" * 50_000, "${file:{" * 20_000):
        assert len([*sources.in_text(text)]) <= 1


# Words of a command


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("op read op://a/b", ["op", "read", "op://a/b"]),
        ("'a b' \"c 'd'\" e\\ f", ["a b", "c 'd'", "e f"]),
        ("a $HOME; b | c", ["a", "$HOME;", "b", "|", "c"]),
        ("a # b", ["a", "#", "b"]),
        ("a ''", ["a", ""]),
    ],
)
def test_words_as_in_a_shell(command: str, words: list[str]) -> None:
    assert sources.words(command, "linux") == words


@pytest.mark.parametrize(
    ("command", "words"),
    [
        # the examples of Microsoft's page on parsing of command lines
        (r'"abc" d e', ["abc", "d", "e"]),
        (r"a\\b d\"e f\"g h", ["a\\\\b", 'd"e', 'f"g', "h"]),
        (r"a\\\b d e", ["a\\\\\\b", "d", "e"]),
        (r"a\\\"b c d", ['a\\"b', "c", "d"]),
        (r'a\\\\"b c" d e', ["a\\\\b c", "d", "e"]),
        (r'a"b"" c d"', ['ab" c d']),
        (r'C:\Users\x\op.exe read "C:\my file"', [r"C:\Users\x\op.exe", "read", r"C:\my file"]),
        (r'a "" b', ["a", "", "b"]),
        (r"a  '\tb'", ["a", r"'\tb'"]),
    ],
)
def test_words_on_windows(command: str, words: list[str]) -> None:
    assert sources.words(command, "win32") == words


@pytest.mark.parametrize("platform", ["linux", "win32"])
def test_an_open_quote_is_a_fault(platform: str) -> None:
    with pytest.raises(ValueError, match="No closing quotation"):
        sources.words('a "b', platform)


# Where they may be


def _server(entry: dict[str, Any], **options: Any) -> ServerConfig:
    return parsing.parse(
        json.dumps({"mcpServers": {"s": entry}}),
        source="f",
        variables=VARIABLES,
        home="/home/ada",
        config_dir="/etc/conf",
        python="python",
        **options,
    ).servers[0]


FAULTS = [
    ({"command": "${command:a}"}, "${command:} in command is not supported"),
    ({"command": "a", "cwd": "${file:a}"}, "${file:} in cwd is not supported"),
    ({"command": "a", "env": {"Path": "${file:a}"}}, "${file:} in env.Path is not supported"),
    ({"url": "https://x", "caFile": "${file:a}"}, "${file:} in caFile is not supported"),
    ({"url": "https://x", "oauth": {"clientId": "${file:a}"}}, "${file:} in oauth.clientId is not supported"),
    ({"url": "${file:a}"}, "${file:} in url is not supported before the path"),
    ({"url": "https://${file:a}/mcp"}, "${file:} in url is not supported before the path"),
    ({"url": "https://me:${file:a}@x/mcp"}, "${file:} in url is not supported before the path"),
    ({"url": "https://x${file:a}/mcp"}, "${file:} in url is not supported before the path"),
    ({"command": "a", "env": {"A": "${file:${HOME}/a}"}}, "${file:} in env.A contains a placeholder"),
    ({"command": "a", "env": {"A": "${file:}"}}, "${file:} in env.A names nothing"),
    ({"command": "a", "env": {"A": "${command:''}"}}, "${command:} in env.A names nothing"),
    ({"command": "a", "env": {"A": "${command:a 'b}"}}, "${command:} in env.A cannot be split into words"),
    ({"command": "a", "env": {"A": "${command:a {}"}}, "${command:} in env.A has braces that are not in pairs"),
    ({"command": "a", "env": {"A": "${keyring:a}"}}, "${keyring:} in env.A lacks a service or a name"),
    ({"command": "a", "env": {"A": "${keyring:/a}"}}, "${keyring:} in env.A lacks a service or a name"),
    ({"command": "a", "env": {"A": "${file:a:-b}"}}, "${file:} in env.A has a default"),
    ({"command": "a", "env": {"A": "${file:a\0}"}}, "${file:} in env.A contains the character NUL"),
    ({"command": "a", "env": {"A": "${TOKEN:-${file:a}}"}}, "the default of TOKEN in env.A contains a placeholder"),
]


@pytest.mark.parametrize(("entry", "problem"), FAULTS, ids=lambda each: str(each)[:60])
def test_faults(entry: dict[str, Any], problem: str) -> None:
    server = _server(entry)
    assert server.problem is not None
    assert server.problem.startswith(problem)
    assert server.unfilled is None or problem.startswith("the default")


LOCAL = {"command": "a", "args": ["--key", "${file:k}"], "env": {"A": "x${command:b c}y", "B": "${keyring:d/e}"}}
REMOTE = {
    "url": "https://x/${file:u}/mcp?key=${command:op read a#b}",
    "headers": {"Authorization": "Bearer ${file:t}"},
    "oauth": {"clientSecret": "${keyring:d/e}"},
}
VALUES = {
    ("file", "k"): "value-of-k",
    ("command", "b c"): "value-of-b",
    ("keyring", "d/e"): "value-of-d",
    ("file", "u"): "value-of-u",
    ("command", "op read a#b"): "value-of-op",
    ("file", "t"): "value-of-t",
}


def test_sources_stay_until_they_are_filled_in() -> None:
    server = _server(LOCAL)
    assert server.problem is None
    assert server.unfilled is not None
    assert (server.args, server.env) == (("--key", "${file:k}"), LOCAL["env"])
    assert server.unfilled.sources == (
        Source("file", "k", "args"),
        Source("command", "b c", "env.A"),
        Source("keyring", "d/e", "env.B"),
    )
    filled = entries.filled(server, VALUES)
    assert (filled.args, filled.env) == (("--key", "value-of-k"), {"A": "xvalue-of-by", "B": "value-of-d"})
    assert filled.secrets >= {"value-of-k", "value-of-b", "xvalue-of-by", "value-of-d"}
    assert (filled.problem, filled.unfilled, server.secrets) == (None, None, frozenset())


def test_sources_of_a_remote_server() -> None:
    server = _server(REMOTE)
    assert (server.problem, server.remote is not None) == (None, True)
    filled = entries.filled(server, VALUES)
    assert filled.remote is not None
    assert server.remote is not None
    assert filled.remote.url == "https://x/value-of-u/mcp?key=value-of-op"
    assert filled.remote.headers == {"Authorization": "Bearer value-of-t"}
    assert filled.remote.oauth is not None
    assert filled.remote.oauth.client_secret == "value-of-d"
    assert filled.remote.public_url == server.remote.public_url == "https://x/${file:u}/mcp?key=***"
    assert identity.definitions(filled) == identity.definitions(server)
    assert filled.secrets >= {"value-of-u", "value-of-op", "value-of-t", "value-of-d"}


def test_an_address_with_a_secret_is_shown_to_no_authorization_server() -> None:
    server = _server({"url": "https://x/${file:u}"})
    assert server.remote is not None
    assert not server.remote.may_log_in
    assert server.remote.has_secret_url


@pytest.mark.parametrize(
    ("entry", "value", "problem"),
    [
        ({"url": "https://x", "headers": {"A": "${file:a}"}}, "a\r\nEvil: b", "its value has a character"),
        ({"url": "https://x", "headers": {"A": "${file:a}"}}, "a\r\nEvil: ${file:", "its value has a character"),
        ({"url": "https://x/${file:a}"}, "not a path", "its url is not"),
        ({"url": "https://x/${file:a}"}, "not ${a} path", "its url is not"),
    ],
)
def test_values_are_judged_when_they_are_known(entry: dict[str, Any], value: str, problem: str) -> None:
    server = _server(entry)
    assert server.problem is None
    filled = entries.filled(server, {("file", "a"): value})
    assert filled.problem is not None
    assert filled.problem.startswith(problem)
    assert value not in filled.problem


def test_a_value_is_no_placeholder() -> None:
    server = _server({"command": "a", "env": {"A": "${file:a}"}})
    assert entries.filled(server, {("file", "a"): "${TOKEN} $${X} ~"}).env == {"A": "${TOKEN} $${X} ~"}


def test_common_words_from_a_source_are_secret() -> None:
    assert not is_secret("MODE", "true")
    server = _server({"command": "a", "env": {"MODE": "${file:a}"}})
    assert "true" in entries.filled(server, {("file", "a"): "true"}).secrets


def test_plain_text_and_a_source_are_different_servers() -> None:
    source, plain = (_server({"command": "a", "env": {"A": text}}) for text in ("${file:a}", "$${file:a}"))
    assert source.env == plain.env
    assert not identity.is_started_alike(source, plain)
    assert identity.is_started_alike(source, replace(source, description="x"))
    assert source.program != plain.program


def test_text_that_was_accepted_before_there_were_sources_is_not_accepted_as_one() -> None:
    server = _server({"command": "a", "env": {"A": "${command:b c}"}})
    assert server.program != b'{"command":"a","env":{"A":"${command:b c}"}}'
    assert _server({"command": "a", "env": {"A": "b"}}).program == b'{"command":"a","env":{"A":"b"}}'


def test_two_readings_of_a_file_are_equal() -> None:
    text = json.dumps({"mcpServers": {"s": LOCAL}})
    assert parse(text) == parse(text)


def test_files_of_others_are_marked() -> None:
    own, named = _server(LOCAL), _server(LOCAL, named="/work/mcp-servers.json")
    assert own.unfilled is not None
    assert named.unfilled is not None
    assert (own.unfilled.places.file, named.unfilled.places.file) == ("", "/work/mcp-servers.json")


def test_a_held_command_is_shown_with_its_sources() -> None:
    line = held_command(_server({"command": "a", "env": {"TOKEN": "${command:curl evil}"}}))
    assert line == "a; env.TOKEN is from command: curl evil"


def test_representations_show_no_variables() -> None:
    server = _server(LOCAL)
    assert repr(server.unfilled) == "<Unfilled 3>"
    assert server.unfilled is not None
    assert pretty_repr(server.unfilled) == "Unfilled()"
