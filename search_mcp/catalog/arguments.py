"""The arguments of a tool call: common mistakes of models and clients are corrected or explained.

If a backend refuses a call and its arguments do not fit the tool's schema, the model gets the tool's signature. Pure.
"""

import re
from collections.abc import Callable, Sequence

from search_mcp.catalog import schemas
from search_mcp.catalog.items import OWN_NAMES, Item
from search_mcp.catalog.misfits import misfits
from search_mcp.catalog.signature import parameter, signature
from search_mcp.config.secrets import Redactor
from search_mcp.model.calls import Call, Outcome, Result
from search_mcp.model.errors import ACTED_ON_BY_CLIENTS, BackendToolError
from search_mcp.model.sentences import enumerated
from search_mcp.wire import payload
from search_mcp.wire.errors import PeerError, ProtocolError, WireError, invalid_params
from search_mcp.wire.payload import LARGE_BYTES, SMALL_BYTES
from search_mcp.wire.structs import EMPTY, UNSET, ErrorObject, Fields, Raw, replace


def with_object(call: Call) -> Fields:
    """Return the parameters of a call with its `arguments` as an object; some models send them as JSON text, or nested.

    Raises:
        ProtocolError: they are not an object.
    """
    raw = call.params.get("arguments")
    if raw is None or not _ODD.match(raw):
        return call.params
    first = memoryview(raw)[0]
    if first == ord("{"):
        wrapped = _unwrapped(call.target, raw)
        return call.params if wrapped is None else {**call.params, "arguments": wrapped}
    if first == ord("n"):  # null: some clients send it for absent arguments
        return payload.without(call.params, "arguments")
    text = payload.string(raw)
    if text is not None:
        inner = Raw(text.strip().encode("utf-8", "replace"))
        if isinstance(payload.value(inner), dict):
            return {**call.params, "arguments": inner}
    raise not_an_object()


def not_an_object() -> ProtocolError:
    """Refuse arguments that are no object, and show what an object is."""
    return invalid_params('Invalid params: arguments must be an object with the parameters, such as {"path": "a.txt"}')


_ODD = re.compile(rb'[^{]|\{\s*"(?:name|arguments)"')
"""The beginning of a value that is not an object, or may contain the arguments."""


def _unwrapped(target: str, raw: Raw) -> Raw | None:
    """Return the inner arguments of `{"name": <this tool>, "arguments": {...}}`."""
    if target in OWN_NAMES:
        return None
    wrapped = payload.object_or_empty(raw)
    if wrapped.keys() == {"name", "arguments"} and payload.string(wrapped["name"]) == target:
        return wrapped["arguments"]
    return None


def without_added(added: frozenset[str], call: Call, item: Item) -> Fields:
    """Remove arguments that a client adds to every call, unless the tool declares them."""
    if "arguments" not in call.params:
        return call.params
    arguments = payload.object_or_empty(call.params["arguments"])
    properties = item.input_schema.get("properties")
    unknown = (added & arguments.keys()) - (properties.keys() if isinstance(properties, dict) else set())
    if not unknown:
        return call.params
    return {**call.params, "arguments": payload.encode(payload.without(arguments, *unknown))}


def beside_name(wrapped: Fields, item: Item | None) -> Fields:
    """Return the tool's parameters that a model put beside the name in `call_tool`, instead of into `arguments`."""
    properties = item.input_schema.get("properties") if item is not None else None
    declared = properties.keys() if isinstance(properties, dict) else ()
    return {key: value for key, value in wrapped.items() if key != "name" and key in declared}


def with_types(params: Fields, item: Item) -> Fields:
    """Return the parameters of a call with values that a client wrote as text, such as `"5"`, as the schema wants them.

    A light list shows no types. Without a type, some clients send every number, truth value, array and object as a
    string, whatever the model wrote, so that no error could help it. A string is replaced only if the schema refuses
    it, and admits what it says as JSON; everything else keeps its bytes.
    """
    raw = params.get("arguments")
    if raw is None or len(raw) > SMALL_BYTES or not _JSON_IN_STRING.search(raw):
        return params
    properties, given = item.input_schema.get("properties"), payload.object_or_empty(raw)
    if not isinstance(properties, dict):
        return params
    fits = schemas.Comparison(item.input_schema).fits
    typed = {
        name: inner
        for name, value in given.items()
        if name in properties and (inner := _meant(value, properties[name], fits)) is not None
    }
    return {**params, "arguments": payload.encode({**given, **typed})} if typed else params


_JSON_IN_STRING = re.compile(rb':\s*"\s*(?:[\[{0-9-]|true|false)')


def _meant(value: Raw, schema: object, fits: Callable[[object, object], bool]) -> Raw | None:
    """Return the JSON in a string if a schema refuses the string and admits the JSON; else `None`."""
    text = payload.string(value)
    if text is None or fits(text, schema):
        return None
    inner = Raw(text.strip().encode("utf-8", "replace"))
    meant = payload.value(inner)
    return inner if meant is not None and not isinstance(meant, str) and fits(meant, schema) else None


def tool_error(name: str, params: Fields, item: Item, error: ErrorObject) -> WireError:
    """Wrap a backend's error for a model; with the schema and the signature if the arguments do not fit."""
    if error.code in ACTED_ON_BY_CLIENTS:
        return PeerError(error)
    hint = _hint(name, params, item)
    return BackendToolError(item.server, item.key, error, item.input_schema if hint else None, hint)


def tool_result(name: str, params: Fields, item: Item, result: Result) -> Result:
    """Append what is wrong with the arguments, and the signature, to an error result; return others unchanged."""
    if not is_error(result):
        return result
    text = _hint(name, params, item)
    return _followed_by(result, text) if text else result


def unknown(params: Fields, item: Item) -> Sequence[str]:
    """Return the names of arguments that are no parameters of the tool; none if it may have others than it declares."""
    raw = params.get("arguments")
    if raw is None or len(raw) > SMALL_BYTES or not item.parameters:
        return ()
    return [name for name in payload.object_or_empty(raw) if name not in item.parameters]


def with_note(name: str, wrong: Sequence[str], item: Item, outcome: Outcome | None) -> Outcome | None:
    """Append to a result which arguments are no parameters: a server may ignore them, and do another thing than meant.

    The signature is in an error already.
    """
    if not isinstance(outcome, Result) or outcome.type != "complete" or is_error(outcome):
        return outcome
    required = item.input_schema.get("required")
    needed = required if isinstance(required, list) else []
    names = [parameter(each) if each in needed else f"{parameter(each)}?" for each in item.parameters]
    what = "is not a parameter" if len(wrong) == 1 else "are not parameters"
    text = f"Note: {enumerated([*map(parameter, wrong)])} {what} of {name}; its parameters: {enumerated(names)}"
    return _followed_by(outcome, text)


def _followed_by(result: Result, text: str) -> Result:
    """Append a text to a result, unless its content is no list, or so long that opening it would delay other calls."""
    body = result.fields() if isinstance(result.body, dict) or len(result.body) <= LARGE_BYTES else {}
    content = body.get("content", Raw(b"[]"))
    try:
        blocks = payload.items(content) if body and len(content) <= LARGE_BYTES else None
    except ValueError:
        blocks = None
    if blocks is None:
        return result
    block = payload.encode({"type": "text", "text": text})
    return replace(result, body={**body, "content": payload.encode([*blocks, block])})


def is_error(result: Result) -> bool:
    """Return whether a tool says that it failed; false for very large results, which are not read."""
    return _may_be_error(result) and payload.value(result.fields().get("isError", EMPTY)) is True


def _may_be_error(result: Result) -> bool:
    if isinstance(result.body, dict):
        content = result.body.get("content", EMPTY)
        return "isError" in result.body and len(content) <= SMALL_BYTES
    return len(result.body) <= SMALL_BYTES and _IS_ERROR.search(result.body) is not None


_IS_ERROR = re.compile(rb'"isError"\s*:\s*true')


def _hint(name: str, params: Fields, item: Item) -> str:
    """Tell a model what is wrong with its arguments, with the name that it used; empty if nothing is."""
    given = payload.value(params.get("arguments", EMPTY))
    wrong = misfits(given, item.input_schema) if given is not None else ()  # `None`: nested too deeply
    if not wrong:
        return ""
    right = signature(name, item.input_schema, description=item.description)
    return f"Wrong arguments: {'; '.join(wrong)}. Call it as {right}"


def redacted(error: ErrorObject, secrets: frozenset[str]) -> ErrorObject:
    """Redact the secrets of the configuration in a backend's error; the rest keeps its bytes.

    Of an error that is longer than any person or model reads, the end of the message and the data are left out.
    """
    error = _bounded(error)
    if not secrets:
        return error
    data, redact = error.data, Redactor(secrets)
    if data is not UNSET:
        text = bytes(data).decode("utf-8", "replace")
        clean = redact(text)
        if clean != text:
            blotted = Raw(clean.encode())
            is_json = payload.value(blotted) is not None  # otherwise the secret was a number
            data = blotted if is_json else payload.encode(_blotted(payload.value(data), redact))
    return ErrorObject(error.code, redact(error.message), data)


def _bounded(error: ErrorObject) -> ErrorObject:
    message, data = error.message, error.data
    if len(message) > LARGE_BYTES:
        message = f"{message[:LARGE_BYTES]}… ({len(message) - LARGE_BYTES:,} more characters left out)"
    if data is not UNSET and len(data) > LARGE_BYTES:
        data = UNSET
    is_same = message is error.message and data is error.data
    return error if is_same else ErrorObject(error.code, message, data)


def _blotted(value: object, redact: Redactor) -> object:
    """Redact secrets in decoded JSON, where a number may be one."""
    if isinstance(value, dict):
        return {redact(key): _blotted(inner, redact) for key, inner in value.items()}
    if isinstance(value, list):
        return [_blotted(inner, redact) for inner in value]
    text = value if isinstance(value, str) else payload.encode_text(value)
    clean = redact(text)
    return value if clean == text else clean
