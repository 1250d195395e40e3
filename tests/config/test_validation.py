"""The place and the text of every fault of a configuration, and the rest without them."""

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from config.samples import parse
from search_mcp.config import schema, validation
from search_mcp.config.parsing import FaultyFile
from search_mcp.config.schema import Settings
from search_mcp.model.errors import ConfigError

OF_STRINGS = "an object of strings"


SECONDS = "a positive number"


CHARACTERS = "a whole number, 1000 or more"
WRONG_VALUES = [
    # key, value, required form, example
    ("command", ["npx"], "a string", 'the program, such as "npx", and put its arguments in "args"'),
    ("args", "-y pkg", "a list of strings", 'a list, such as ["-y", "pkg"]'),
    ("args", {"-y": "pkg"}, "a list of strings", 'a list, such as ["-y", "pkg"]'),
    ("args", ["-p", 8080], "a list of strings", 'a list, such as ["-y", "pkg"]'),
    ("env", ["KEY=hidden"], OF_STRINGS, '{"NAME": "value"}, numbers in quotes too'),
    ("headers", "hidden", OF_STRINGS, '{"Name": "value"}'),
    ("url", 1, "a string", '"https://example.com/mcp"'),
    ("httpUrl", ["https://x"], "a string", '"https://example.com/mcp"'),
    ("oauth", "no", "an object, or false for no login", "false without quotes"),
    ("caFile", True, "a string", '"~/corporate-ca.pem"'),
    ("cwd", 1, "a string", '"${home}/project"'),
    ("enabled", "false", "true or false", "false without quotes"),
    ("disabled", 0, "true or false", "false"),
    ("disabled", "Off", "true or false", "false without quotes"),
    ("enabled", "0", "true or false", "false without quotes"),
    ("enabled", 5, "true or false", "true or false without quotes"),
    ("type", 1, "a string", '"stdio"'),
    ("description", [], "a string", '"What the server is for"'),
    ("tags", "a", "a list of strings", 'a list, such as ["one", "two"]'),
    ("share", "yes", 'true, false or "all"', "true without quotes"),
    ("watch", "*.py", "a list of strings", 'a list, such as ["src/**/*.py"]'),
    ("prefix", False, "a string", '"fs", or "" for bare names'),
    ("tools", "*", "an object of lists of strings", 'lists, as in {"allow": ["read_*"], "deny": ["write_*"]}'),
    ("pinned", True, "a list of strings", 'a list, such as ["one", "two"]'),
    ("rename", {"a": 1}, OF_STRINGS, '{"itsName": "yours"}'),
    ("describe", [], OF_STRINGS, '{"itsName": "yours"}'),
    ("readOnly", 1, "true or false", "true"),
    ("maxResultCharacters", 999, CHARACTERS, "40000, or null for no limit"),
    ("maxResultCharacters", "40k", CHARACTERS, "40000, or null for no limit"),
    ("resultSize", 500_001, "a whole number from 1 to 500000", "200000"),
    ("resultSize", 0, "a whole number from 1 to 500000", "200000"),
    ("startup", "later", '"auto", "eager" or "lazy"', '"auto"'),
    ("callTimeoutSeconds", 0, SECONDS, "60 for a minute, or null for no limit"),
    ("maxCallSeconds", True, SECONDS, "60 for a minute, or null for no limit"),
    ("idleStopSeconds", "9", SECONDS, "9 without quotes"),
    ("callTimeoutSeconds", "null", SECONDS, "null without quotes"),
    ("callTimeoutSeconds", "9" * 400, SECONDS, "60 for a minute, or null for no limit"),
    ("inheritEnv", "False", "true, false or a list of names", "false without quotes"),
    ("startTimeoutSeconds", float("inf"), SECONDS, "60 for a minute"),
    ("inheritEnv", "PATH", "true, false or a list of names", '["SSH_AUTH_SOCK"]'),
    (
        "protocol",
        "1.0.0",
        '"auto", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25" or "2026-07-28"',
        '"auto"',
    ),
]


@pytest.mark.parametrize(("key", "value", "must_be", "write"), WRONG_VALUES)
def test_a_wrong_value_of_a_server(key: str, value: object, must_be: str, write: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse('{"mcpServers": {"s": {\n' + json.dumps({key: value})[1:] + "}}")
    assert str(caught.value).startswith(f"f:2: mcpServers.s.{key}")
    assert str(caught.value).endswith(f': "{key}" must be {must_be}; write {write}')


WRONG_SETTINGS = [
    ("listing", "all", '"auto", "light", "full" or "search"', '"auto"'),
    ("separator", "", '"auto" or one to four of the characters . _ -', '"__"'),
    ("separator", "/", '"auto" or one to four of the characters . _ -', '"__"'),
    ("maxNameLength", 15, '"auto" or a whole number, 16 or more', "64"),
    ("maxNameLength", True, '"auto" or a whole number, 16 or more', "64"),
    ("descriptionLength", 0, "a positive whole number", "120"),
    ("descriptionLength", 1.5, "a positive whole number", "120"),
    ("maxMessageBytes", "64 MiB", "a positive whole number", "67108864 for 64 MiB"),
    ("logLevel", "INFO", '"debug", "info", "warning" or "error"', '"info"'),
    ("firstListSeconds", -1, '"auto" or a positive number', '"auto"'),
    ("startup", 1, '"auto", "eager" or "lazy"', '"auto"'),
    ("readOnly", "true", "true or false", "true without quotes"),
    ("callTool", True, '"all", "read-only" or "off"', "one of them"),
    ("callTool", "none", '"all", "read-only" or "off"', '"off"'),
    ("callTool", False, '"all", "read-only" or "off"', '"off"'),
    ("maxNameLength", "32", '"auto" or a whole number, 16 or more', "32 without quotes"),
    ("callTool", "raed-only", '"all", "read-only" or "off"', '"read-only"'),
    ("callTool", "readOnly", '"all", "read-only" or "off"', '"read-only"'),
    ("engine", "shred", '"shared" or "own"', '"shared"'),
    ("engine", True, '"shared" or "own"', '"shared"'),
]


@pytest.mark.parametrize(("key", "value", "must_be", "write"), WRONG_SETTINGS)
def test_a_wrong_value_of_the_settings(key: str, value: object, must_be: str, write: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse('{"mcpServers": {}, "settings": {\n' + json.dumps({key: value})[1:] + "}")
    assert str(caught.value) == f'f:2: settings.{key}: "{key}" must be {must_be}; write {write}'


def test_the_innermost_key_is_named_and_no_value_is_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        parse('{"mcpServers": {"s": {"env": {\n"A": "hidden",\n"PORT": 987654}}}}')
    assert str(caught.value) == (
        'f:3: mcpServers.s.env.PORT: "env" must be an object of strings; write {"NAME": "value"}, numbers in quotes too'
    )
    assert "987654" not in f"{caught.value} {caught.value.__cause__}"


SEVERAL_FAULTS = """{"mcpServers": {
"a": {"comand": "x", "inheritEnv": 1, "env": {"A": 1, "B": "hidden", "C": [987654]}},
"b": {"command": "c", "startup": null, "args": ["${ABSENT}"], "cwd": "${ABSENT}"},
"off": {"command": "${ABSENT}", "enabled": false},
"c": "npx",
"": {"command": "c"},
"d": {"command": "c", "prefix": "b"}},
"settings": {"listing": "all", "logLevel": "debug"}
}"""


def test_all_faults_are_found_and_the_rest_is_read() -> None:
    with pytest.raises(FaultyFile) as caught:
        parse(SEVERAL_FAULTS)
    first, *others = [(fault.line, fault.key) for fault in caught.value.faults]
    assert first == (2, "mcpServers.a.inheritEnv")
    assert others == [
        (2, "mcpServers.a.env.A"),
        (2, "mcpServers.a.env.C"),
        (5, "mcpServers.c"),
        (6, "mcpServers."),
        (7, "mcpServers.d.prefix"),
        (8, "settings.listing"),
    ]
    assert str(caught.value) == (
        f"{caught.value.faults[0]} (and 6 more: search-mcp config validate --config f names all)"
    )
    rest = caught.value.rest
    assert [server.name for server in rest.servers] == ["b", "off", "d"]
    assert rest.settings == Settings(log_level="debug")
    assert [(problem.line, problem.key) for problem in rest.problems] == [
        (3, "mcpServers.b.args"),
        (3, "mcpServers.b.cwd"),
    ]
    assert rest.warnings == ('f:2: mcpServers.a.comand: unknown key, ignored; did you mean "command"?',)
    assert not any(secret in str(fault) for fault in caught.value.faults for secret in ("hidden", "987654"))


@pytest.mark.parametrize("text", ["[1]", '{"mcpServers": [{"a": 1}], "settings": 1}', '{"mcpServers": {"a": 1}}'])
def test_the_rest_of_a_file_without_a_sound_part_is_empty(text: str) -> None:
    with pytest.raises(FaultyFile) as caught:
        parse(text)
    assert caught.value.rest == schema.EMPTY_CONFIG


def test_a_file_nested_too_deeply_for_pydantic_is_a_fault() -> None:
    with pytest.raises(FaultyFile, match="f:1: nested too deeply; simplify the file"):
        parse('{"mcpServers": {"a": {"env": ' + '{"b": ' * 300 + "1" + "}" * 303)


VALUES = st.recursive(
    st.booleans() | st.integers(-1, 2**70) | st.floats() | st.sampled_from(["", "auto", "lazy", "light", "__", "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["A", "allow", "deny"]), inner),
    max_leaves=4,
)


@given(
    st.dictionaries(st.sampled_from(sorted(schema.SERVER_KEYS - {"tools"})), VALUES),
    st.dictionaries(st.sampled_from(["startup", "separator", "maxNameLength", "logLevel", "maxCallSeconds"]), VALUES),
)
@example({}, {"maxCallSeconds": math.inf})
@example({"args": {}}, {"maxCallSeconds": math.inf})
def test_msgspec_and_pydantic_accept_the_same_files(entry: dict[str, object], settings: dict[str, object]) -> None:
    text = json.dumps({"mcpServers": {"s": entry}, "settings": settings}).replace("NaN", "1e999")
    try:
        validation.as_pydantic(schema.File).model_validate_json(text.replace("Infinity", "1e999"))
    except ValidationError:
        with pytest.raises(ConfigError):
            parse(text.replace("Infinity", "1e999"))
    else:
        parse(text)


WRONG_LOGINS = [
    # key, value, required form, example
    ("clientId", 3, "a string", '"my-client"'),
    ("scopes", [1], "a list of strings", 'a list, such as ["read", "write"]'),
    ("resource", 3, "a string, true or false", "false to leave it out"),
    ("callbackPort", 70000, "a whole number from 1 to 65535", "8765"),
    ("callbackPath", "callback", "a path", '"/callback"'),
    ("callbackHost", "example.com", '"127.0.0.1" or "localhost"', '"127.0.0.1"'),
    ("grant", "password", '"authorization_code" or "client_credentials"', '"authorization_code"'),
]


@pytest.mark.parametrize(("key", "value", "must_be", "write"), WRONG_LOGINS)
def test_a_wrong_value_of_a_login(key: str, value: object, must_be: str, write: str) -> None:
    with pytest.raises(FaultyFile) as caught:
        parse(json.dumps({"mcpServers": {"s": {"url": "https://x", "oauth": {key: value}}}}))
    assert [str(fault) for fault in caught.value.faults] == [
        f'f:1: mcpServers.s.oauth.{key}: "{key}" must be {must_be}; write {write}'
    ]


def test_a_configuration_without_faults_is_not_examined() -> None:
    with pytest.raises(AssertionError, match="no fault"):
        validation.examine({"mcp_servers": {}})


def test_the_schema_for_editors_names_every_key() -> None:
    described = validation.json_schema()
    assert described["$defs"]["Entry"]["properties"].keys() == schema.SERVER_KEYS
    assert described["required"] == ["mcpServers"]
