"""The arguments of a tool call: what was meant by them, and whether they fit.

Decides what models and clients get wrong without meaning to, and what a model is told when a backend
refuses its arguments. Pure.
"""

import re

from search_mcp.catalog import schemas
from search_mcp.catalog.items import OWN_NAMES, Item
from search_mcp.catalog.signature import signature
from search_mcp.config.secrets import redact
from search_mcp.model.calls import Call, Result
from search_mcp.model.errors import ACTED_ON_BY_CLIENTS, BackendToolError
from search_mcp.wire import payload
from search_mcp.wire.errors import PeerError, WireError, invalid_params
from search_mcp.wire.structs import EMPTY, UNSET, ErrorObject, Fields, Raw, replace

LARGEST_REFUSAL = 1 << 16
"""Bytes of a result that may say that arguments are wrong; a larger one is not searched for it."""

LARGEST_ERROR = 1 << 20
"""Characters of an error's message, and bytes of its data, that are passed on."""


def with_object(call: Call) -> Fields:
    """Read a call's `arguments` as what was meant: some models send them as JSON text, or wrapped again.

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
    if first == ord("n"):  # null: some clients write what they mean to leave out
        return payload.without(call.params, "arguments")
    text = payload.string(raw)
    if text is not None:
        inner = Raw(text.strip().encode("utf-8", "replace"))
        if isinstance(payload.value(inner), dict):
            return {**call.params, "arguments": inner}
    raise invalid_params("Invalid params: arguments must be an object")


_ODD = re.compile(rb'[^{]|\{\s*"(?:name|arguments)"')
"""The beginning of what is no object, or may wrap another."""


def _unwrapped(target: str, raw: Raw) -> Raw | None:
    """The inner arguments of `{"name": the tool's own, "arguments": {...}}`, which says the same twice."""
    if target in OWN_NAMES:
        return None
    wrapped = payload.object_or_empty(raw)
    if wrapped.keys() == {"name", "arguments"} and payload.string(wrapped["name"]) == target:
        return wrapped["arguments"]
    return None


def without_added(added: frozenset[str], call: Call, item: Item) -> Fields:
    """Drop arguments that a client adds to every call on its own, unless the tool knows them."""
    if "arguments" not in call.params:
        return call.params
    arguments = payload.object_or_empty(call.params["arguments"])
    properties = item.input_schema.get("properties")
    unknown = (added & arguments.keys()) - (properties.keys() if isinstance(properties, dict) else set())
    if not unknown:
        return call.params
    return {**call.params, "arguments": payload.encode(payload.without(arguments, *unknown))}


def tool_error(name: str, params: Fields, item: Item, error: ErrorObject) -> WireError:
    """Wrap a backend's error for a model; with the schema and the signature if the arguments do not fit."""
    if error.code in ACTED_ON_BY_CLIENTS:
        return PeerError(error)
    if _fit(params, item):
        return BackendToolError(item.server, item.key, error)
    return BackendToolError(item.server, item.key, error, item.input_schema, _hint(name, item))


def tool_result(name: str, params: Fields, item: Item, result: Result) -> Result:
    """Append the tool's signature to a result that is an error, if the arguments do not fit; else leave it as it is."""
    if not _may_be_error(result) or _fit(params, item):
        return result
    body = result.fields()
    if payload.value(body.get("isError", EMPTY)) is not True:
        return result
    try:
        blocks = payload.items(body.get("content", Raw(b"[]")))
    except ValueError:
        return result
    hint = payload.encode({"type": "text", "text": _hint(name, item)})
    return replace(result, body={**body, "content": payload.encode([*blocks, hint])})


def _may_be_error(result: Result) -> bool:
    if isinstance(result.body, dict):
        content = result.body.get("content", EMPTY)
        return "isError" in result.body and len(memoryview(content)) <= LARGEST_REFUSAL
    return len(memoryview(result.body)) <= LARGEST_REFUSAL and _IS_ERROR.search(result.body) is not None


_IS_ERROR = re.compile(rb'"isError"\s*:\s*true')


def _fit(params: Fields, item: Item) -> bool:
    arguments = payload.value(params.get("arguments", EMPTY))
    return arguments is None or schemas.fits(arguments, item.input_schema)  # what is nested too deeply is not judged


def _hint(name: str, item: Item) -> str:
    """Tell a model how to call a tool, by the name that it used."""
    return f"The arguments do not fit the tool's parameters: {signature(name, item.input_schema)}"


def redacted(error: ErrorObject, secrets: frozenset[str]) -> ErrorObject:
    """Take what the configuration holds secret out of a backend's error; the rest stays to the byte.

    Of an error that is longer than any person or model reads, the end of the message and the data are left out.
    """
    error = _bounded(error)
    if not secrets:
        return error
    data = error.data
    if data is not UNSET:
        text = bytes(data).decode("utf-8", "replace")
        clean = redact(text, secrets)
        if clean != text:
            blotted = Raw(clean.encode())
            is_json = payload.value(blotted) is not None  # else a number was a secret
            data = blotted if is_json else payload.encode(_blotted(payload.value(data), secrets))
    return ErrorObject(error.code, redact(error.message, secrets), data)


def _bounded(error: ErrorObject) -> ErrorObject:
    message, data = error.message, error.data
    if len(message) > LARGEST_ERROR:
        message = f"{message[:LARGEST_ERROR]}… ({len(message) - LARGEST_ERROR:,} more characters left out)"
    if data is not UNSET and len(memoryview(data)) > LARGEST_ERROR:
        data = UNSET
    is_same = message is error.message and data is error.data
    return error if is_same else ErrorObject(error.code, message, data)


def _blotted(value: object, secrets: frozenset[str]) -> object:
    """Blot secrets out of decoded JSON, where a number may be one."""
    if isinstance(value, dict):
        return {redact(key, secrets): _blotted(inner, secrets) for key, inner in value.items()}
    if isinstance(value, list):
        return [_blotted(inner, secrets) for inner in value]
    text = value if isinstance(value, str) else bytes(payload.encode(value)).decode()
    clean = redact(text, secrets)
    return value if clean == text else clean
