"""Arguments that are unwrapped, hints for a model when they do not fit, and errors without secrets."""

import json
from typing import Any

import pytest

from search_mcp.catalog import arguments
from search_mcp.catalog.items import Item
from search_mcp.model.calls import Call, Question, Result, Viewer, unheard
from search_mcp.model.errors import BackendToolError
from search_mcp.model.names import Action, Era
from search_mcp.wire import payload
from search_mcp.wire.errors import PeerError, ProtocolError
from search_mcp.wire.payload import LARGE_BYTES
from search_mcp.wire.structs import ErrorObject, Fields, Raw

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


class AnyCaller:
    capabilities: Fields = {}  # noqa: RUF012  # never changed
    info: Raw | None = None
    era = Era.MODERN
    log_level: str | None = None
    viewer = Viewer(None, object_output_only=True)
    session: object = None

    def ask(self, question: Question, call: Call | None) -> None: ...


def call(given: str | None, target: str = "s.t") -> Call:
    params = {} if given is None else {"arguments": Raw(given.encode())}
    return Call(Action.CALL_TOOL, target, params, {}, AnyCaller(), unheard())


def item(schema: object) -> Item:
    return Item("s", "t", "s", "t", {"inputSchema": payload.encode(schema)})


MEANT = [
    pytest.param(None, None, id="none"),
    pytest.param("null", None, id="null"),
    pytest.param('{ "a" : 1.0 }', '{ "a" : 1.0 }', id="an object, to the byte"),
    pytest.param('"{\\"a\\": 1}"', '{"a": 1}', id="an object as JSON text"),
    pytest.param('{"name":"s.t","arguments":{"a": 1}}', '{"a": 1}', id="wrapped again"),
    pytest.param('{"name":"other","arguments":{}}', '{"name":"other","arguments":{}}', id="another tool's name"),
    pytest.param('{"name":"s.t","arguments":{},"x":1}', '{"name":"s.t","arguments":{},"x":1}', id="more than that"),
]


@pytest.mark.parametrize(("given", "then"), MEANT)
def test_arguments_are_unwrapped(given: str | None, then: str | None) -> None:
    read = arguments.with_object(call(given)).get("arguments")
    assert (None if read is None else bytes(read).decode()) == then


@pytest.mark.parametrize("given", ["[]", "5", "true", '"text"', '"[1]"'])
def test_arguments_that_are_no_object_are_refused(given: str) -> None:
    with pytest.raises(ProtocolError, match="arguments must be an object"):
        arguments.with_object(call(given))


@pytest.mark.parametrize(
    ("properties", "then"),
    [({"a": {}}, {"a": 1}), ({"a": {}, "wait": {}}, {"a": 1, "wait": True}), ([], {"a": 1})],
    ids=["unknown to the tool", "the tool's own", "no properties to speak of"],
)
def test_an_argument_that_a_client_adds_is_dropped_unless_the_tool_has_it(
    properties: Any, then: dict[str, Any]
) -> None:
    tool = item({"type": "object", "properties": properties})
    kept = arguments.without_added(frozenset({"wait"}), call('{"a":1,"wait":true}'), tool)
    assert json.loads(bytes(kept["arguments"])) == then


LIST = {"type": "array", "items": {"type": "string"}}
TYPED = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "number": {"type": "number"},
        "maybe": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        "list": LIST,
        "object": {"type": "object", "properties": {"list": LIST}},
        "either": {"type": ["string", "number"]},
        "any": {},
    },
}
AS_TEXT = [
    # arguments, what they mean
    pytest.param('{"number":"5","list":"[\\"a\\"]"}', '{"number":5,"list":["a"]}', id="a number and a list"),
    pytest.param('{"maybe": "true" , "text" : "5"}', '{"maybe":true,"text":"5"}', id="a truth value, and a text"),
    pytest.param(
        '{"object":" {\\"list\\": [ \\"a\\" ]} "}', '{"object":{"list": [ "a" ]}}', id="an object, to the byte"
    ),
    pytest.param('{"number": 1.0, "list" : []}', None, id="nothing in a text"),
    pytest.param('{"text":"[1]","either":"5","any":"5","more":"5"}', None, id="texts where the schema admits them"),
    pytest.param('{"number":"five","list":"a, b","maybe":"yes"}', None, id="no JSON"),
    pytest.param('{"number":"[1]","list":"5","maybe":"0"}', None, id="JSON of another type"),
    pytest.param('{"list":"[1]","object":"{\\"list\\":5}"}', None, id="JSON that does not fit"),
    pytest.param('{"maybe":"null","number":""}', None, id="null, and an empty text"),
    pytest.param('{"object":{"list":"[\\"a\\"]"}}', None, id="within an object"),
    pytest.param(f'{{"number":"5","text":"{"x" * (1 << 16)}"}}', None, id="too much to search"),
]


@pytest.mark.parametrize(("given", "then"), AS_TEXT)
def test_values_that_a_client_wrote_as_text_get_the_types_of_the_schema(given: str, then: str | None) -> None:
    before = call(given).params
    after = arguments.with_types(before, item(TYPED))
    if then is None:
        assert after is before
    else:
        assert bytes(after["arguments"]).decode() == then


def test_types_need_a_schema_with_properties() -> None:
    schemas: list[dict[str, Any]] = [{}, {"properties": []}]
    for schema in schemas:
        before = call('{"a":"5"}').params
        assert arguments.with_types(before, item(schema)) is before
    assert arguments.with_types({}, item(TYPED)) == {}


def test_parameters_beside_the_name_are_those_that_the_tool_has() -> None:
    wrapped = {key: Raw(b"1") for key in ("name", "a", "b")}
    assert arguments.beside_name(wrapped, item(SCHEMA)) == {"a": Raw(b"1")}
    assert arguments.beside_name(wrapped, item({"properties": {"name": {}}})) == {}
    assert arguments.beside_name(wrapped, item({})) == {}
    assert arguments.beside_name(wrapped, None) == {}


@pytest.mark.parametrize(
    ("given", "schema", "attached"),
    [
        ('{"a": 1}', SCHEMA, False),
        ('{"a": "x"}', SCHEMA, True),
        (None, SCHEMA, True),
        ('{"a": 1}', {"type": "object", "properties": {"a": {"$ref": "https://example.com/x.json"}}}, False),
        ('{"a": 1}', {"type": "nonsense"}, False),
    ],
    ids=["they fit", "they do not", "none where one is required", "a schema elsewhere is not fetched", "no schema"],
)
def test_the_schema_is_attached_when_arguments_do_not_fit_it(given: str | None, schema: Any, attached: bool) -> None:
    error = arguments.tool_error("t", call(given).params, item(schema), ErrorObject(-1, "no"))
    assert isinstance(error, BackendToolError)
    assert ("inputSchema" in error.data()) is attached
    assert ("Call it as t(" in str(error)) is attached


@pytest.mark.parametrize("code", [-32042, -32021])
def test_errors_that_clients_act_on_pass_through(code: int) -> None:
    error = ErrorObject(code, "act", Raw(b'{"x":1}'))
    wrapped = arguments.tool_error("t", call(None).params, item(SCHEMA), error)
    assert isinstance(wrapped, PeerError)
    assert wrapped.error_object() == error


HINT = b'{"type":"text","text":"Wrong arguments: a is missing. Call it as s__t(a: integer)"}'
RESULTS = [
    # arguments, result, content then
    pytest.param("{}", b'{"content":[{"a": 1.0}],"isError":true}', b'[{"a": 1.0},%b]' % HINT, id="they do not fit"),
    pytest.param("{}", b'{"isError" : true, "content":[]}', b"[%b]" % HINT, id="nothing was said"),
    pytest.param("{}", b'{"isError":true}', b"[%b]" % HINT, id="no content at all"),
    pytest.param('{"a": 1}', b'{"content":[],"isError":true}', None, id="they fit"),
    pytest.param("{}", b'{"content":[],"isError":false}', None, id="no error"),
    pytest.param("{}", b'{"content":[]}', None, id="nothing is said of an error"),
    pytest.param("{}", b'{"content":[],"structuredContent":{"isError":true}}', None, id="another isError"),
    pytest.param("{}", b'{"content":"x","isError":true}', None, id="content that is no list"),
    pytest.param(
        "{}", b'{"isError":true,"content":[]' + b" " * 70_000 + b"}", None, id="too large to be about arguments"
    ),
]


@pytest.mark.parametrize(("given", "result", "then"), RESULTS)
def test_an_error_result_gets_the_signature_when_arguments_do_not_fit(
    given: str, result: bytes, then: bytes | None
) -> None:
    before = Result(Raw(result))
    after = arguments.tool_result("s__t", call(given).params, item(SCHEMA), before)
    if then is None:
        assert after is before
        return
    fields = after.fields()
    assert bytes(fields.pop("content")) == then
    assert fields == payload.without(before.fields(), "content")


def test_an_error_result_that_is_opened_gets_the_signature_too() -> None:
    opened = Result({"content": Raw(b"[]"), "isError": Raw(b"true")})
    assert bytes(arguments.tool_result("s__t", {}, item(SCHEMA), opened).fields()["content"]) == b"[%b]" % HINT
    fine = Result({"content": Raw(b"[]")})
    assert arguments.tool_result("s__t", {}, item(SCHEMA), fine) is fine


def test_an_error_of_a_backend_is_redacted_and_not_changed_otherwise() -> None:
    error = ErrorObject(-1, "401 for hunter22", Raw(b'{ "token" : "hunter22", "n" : 1.0 }'))
    clean = arguments.redacted(error, frozenset({"hunter22"}))
    assert "hunter22" not in clean.message
    assert bytes(clean.data) == b'{ "token" : "***", "n" : 1.0 }'  # type: ignore[arg-type]
    assert arguments.redacted(error, frozenset({"another"})) == error


REDACTED = [
    pytest.param('{"port":8080}', '{"port":"***"}', id="a number in an object"),
    pytest.param('{"ports":[80,8080,-8080]}', '{"ports":[80,"***","-***"]}', id="numbers in a list"),
    pytest.param("8080", '"***"', id="nothing but a number"),
    pytest.param('{"8080":1,"n":8080}', '{"***":1,"n":"***"}', id="a key"),
    pytest.param('{"a":{"b":["to 8080"]},"n":8080}', '{"a":{"b":["to ***"]},"n":"***"}', id="a string further down"),
    pytest.param('{"ok":true,"none":null,"n":18080.5}', '{"ok":true,"none":null,"n":"1***.5"}', id="part of a number"),
    pytest.param('{ "a" : 1.50, "b" : "\\u00e9" }', '{ "a" : 1.50, "b" : "\\u00e9" }', id="none of it, to the byte"),
]


@pytest.mark.parametrize(("given", "then"), REDACTED)
def test_a_backends_error_is_still_json_where_a_number_was_a_secret(given: str, then: str) -> None:
    clean = arguments.redacted(ErrorObject(-1, "no", Raw(given.encode())), frozenset({"8080"}))
    assert bytes(clean.data).decode() == then  # type: ignore[arg-type]


def test_a_backends_error_that_is_nested_deeply_shows_no_secret() -> None:
    """msgspec reads more levels than a recursive walk can: the result was a RecursionError."""
    nested = Raw(b"[" * 900 + b"8080" + b"]" * 900)
    clean = arguments.redacted(ErrorObject(-1, "no", nested), frozenset({"8080"}))
    assert clean == ErrorObject(-1, "no", Raw(b"null"))


def test_the_arguments_of_our_own_tool_are_not_unwrapped() -> None:
    """Its own parameters are `name` and `arguments`."""
    given = call('{"name":"call_tool","arguments":{}}', "call_tool")
    assert arguments.with_object(given) is given.params


def test_without_arguments_nothing_is_dropped() -> None:
    given = call(None)
    assert arguments.without_added(frozenset({"wait"}), given, item(SCHEMA)) is given.params


def test_an_error_is_not_changed_where_there_is_no_secret() -> None:
    error = ErrorObject(-1, "no", Raw(b"1"))
    assert arguments.redacted(error, frozenset()) is error


def test_an_error_without_data_is_redacted_without_data() -> None:
    assert arguments.redacted(ErrorObject(-1, "no hunter22"), frozenset({"hunter22"})) == ErrorObject(-1, "no ***")


def test_the_end_of_a_huge_error_is_left_out() -> None:
    data = Raw(b'"' + b"x" * LARGE_BYTES + b'"')
    bounded = arguments.redacted(ErrorObject(-1, "x" * (LARGE_BYTES + 1000), data), frozenset())
    assert bounded == ErrorObject(-1, "x" * LARGE_BYTES + "… (1,000 more characters left out)")
