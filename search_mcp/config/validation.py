"""Faults of a configuration file, and its JSON Schema, both from pydantic models.

The pydantic models are made of the `Struct` models. Pydantic is slow to import, so this module is imported only for
faulty files and by commands; valid files are read with the `Struct` models alone.
"""

import contextlib
import json
from collections.abc import Iterable, Mapping
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from search_mcp.config.jsonc import KeyPath
from search_mcp.config.placeholders import Complaint
from search_mcp.config.schema import Embeddings, Entry, File, OAuth, Search, Settings, camel, keys
from search_mcp.model.similar import closest
from search_mcp.wire import payload
from search_mcp.wire.structs import NODEFAULT, Declared, Meta, Struct, declared

_STRINGS = ("a list of strings", 'a list, such as ["one", "two"]')
_ADDRESS = ("a string", '"https://example.com/mcp"')
_SWITCH = ("true or false", "true or false without quotes")
_TEXTS = ("an object of strings", '{"itsName": "yours"}')
_LIMIT = ("a positive number", "60 for a minute, or null for no limit")
_FORMS: Final[Mapping[str, tuple[str, str]]] = {
    "command": ("a string", 'the program, such as "npx", and put its arguments in "args"'),
    "args": ("a list of strings", 'a list, such as ["-y", "pkg"]'),
    "env": ("an object of strings", '{"NAME": "value"}, numbers in quotes too'),
    "cwd": ("a string", '"${home}/project"'),
    "enabled": _SWITCH,
    "disabled": _SWITCH,
    "type": ("a string", '"stdio"'),
    "description": ("a string", '"What the server is for"'),
    "tags": _STRINGS,
    "share": ('true, false or "all"', 'true or false without quotes, or "all"'),
    "watch": ("a list of strings", 'a list, such as ["src/**/*.py"]'),
    "prefix": ("a string", '"fs", or "" for bare names'),
    "tools": ("an object of lists of strings", 'lists, as in {"allow": ["read_*"], "deny": ["write_*"]}'),
    "allow": _STRINGS,
    "deny": _STRINGS,
    "pinned": _STRINGS,
    "prompts": _SWITCH,
    "resources": _SWITCH,
    "rename": _TEXTS,
    "describe": _TEXTS,
    "headers": ("an object of strings", '{"Name": "value"}'),
    "url": _ADDRESS,
    "serverUrl": _ADDRESS,
    "httpUrl": _ADDRESS,
    "oauth": ("an object, or false for no login", '{"clientId": "..."}'),
    "clientId": ("a string", '"my-client"'),
    "clientSecret": ("a string", '"${CLIENT_SECRET}"'),
    "clientMetadataUrl": ("a string", '"https://example.com/client.json"'),
    "issuer": ("a string", '"https://login.example.com"'),
    "scopes": ("a list of strings", 'a list, such as ["read", "write"]'),
    "resource": ("a string, true or false", "false to leave it out"),
    "callbackPath": ("a path", '"/callback"'),
    "callbackPort": ("a whole number from 1 to 65535", "8765"),
    "caFile": ("a string", '"~/corporate-ca.pem"'),
    "callTimeoutSeconds": _LIMIT,
    "maxCallSeconds": _LIMIT,
    "idleStopSeconds": _LIMIT,
    "startTimeoutSeconds": ("a positive number", "60 for a minute"),
    "inheritEnv": ("true, false or a list of names", '["SSH_AUTH_SOCK"]'),
    "maxResultCharacters": ("a whole number, 1000 or more", "40000, or null for no limit"),
    "resultSize": ("a whole number from 1 to 500000", "200000"),
    "pinTools": _SWITCH,
    "readOnly": _SWITCH,
    "confirmCommands": _SWITCH,
    "usage": _SWITCH,
    "separator": ('"auto" or one to four of the characters . _ -', '"__"'),
    "maxNameLength": ('"auto" or a whole number, 16 or more', "64"),
    "descriptionLength": ("a positive whole number", "120"),
    "maxMessageBytes": ("a positive whole number", "67108864 for 64 MiB"),
    "firstListSeconds": ('"auto" or a positive number', '"auto"'),
    "search": ("an object", '{"semantic": "local"}'),
    "semantic": ('"off", "local" or an object with url and model', '"local"'),
    "model": ("a string", '"nomic-embed-text"'),
    "apiKey": ("a string", '"${API_KEY}"'),
}
"""The expected value of each key, and an example; for choices, the type has both."""
_WITHOUT_EXAMPLE: Final = {"callTool"}
"""Choices whose default allows most, which is therefore not suggested for an invalid value."""
_SEMANTIC: Final = ("settings", "search", "semantic")
_NO, _YES = {"no", "off", "false", "none", "0"}, {"yes", "on", "true", "1"}
_LONGEST_WORD: Final = 20
"""Most characters of a value that is read as a number, or as a word for yes or no."""
_BOUNDS: Final = ("gt", "ge", "le", "pattern", "min_length")


def examine(decoded: object) -> tuple[list[Complaint], dict[str, Any]]:
    """Find what is wrong with a file, which has the names of the models' fields for its keys.

    Gives the complaints, with their places in the file's own words, and the servers and settings that have no fault.
    A value that may be of several kinds is complained about once for each.
    """
    try:
        as_pydantic(File).model_validate_json(json.dumps(decoded), by_alias=False, by_name=True)
    except ValidationError as exc:
        errors = exc.errors(include_url=False, include_input=False, include_context=False)
        if errors[0]["type"] == "json_invalid":  # this parser accepts less nesting than the one that read the file
            return [((), "nested too deeply", "simplify the file")], {"mcp_servers": {}}
        paths = [each["loc"] for each in errors if not _is_other_kind(decoded, each["loc"])]
        complaints = [_complaint(_in_the_files_words(*path), _at(decoded, path)) for path in paths]
        return complaints, _without(decoded, paths)
    raise AssertionError("pydantic finds no fault where there is one")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the file, for editors."""
    return as_pydantic(File).model_json_schema()


@cache
def as_pydantic(model: type[Struct]) -> type[BaseModel]:
    """Make the pydantic model for a `Struct`."""
    config = ConfigDict(alias_generator=camel, strict=True, hide_input_in_errors=True)
    twins: dict[str, Any] = {each.name: (_kind(each.type), _default(each)) for each in declared(model)}
    return create_model(model.__name__, __config__=config, **twins)


def _kind(kind: Any) -> Any:
    """Return the pydantic type for a type of the models."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        return as_pydantic(kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        bounds = [_bounds(each) for each in inner[1:] if isinstance(each, Meta)]
        return Annotated[_kind(inner[0]), *bounds]
    if origin in (Union, UnionType):
        return reduce(or_, map(_kind, inner))
    return kind if origin in (None, Literal) else origin[tuple(map(_kind, inner))]


def _bounds(meta: Meta) -> Any:
    return Field(**{bound: getattr(meta, bound) for bound in _BOUNDS if getattr(meta, bound) is not None})


def _default(member: Declared) -> Any:
    if member.default_factory is not NODEFAULT or isinstance(member.default, Struct):
        return {}
    return ... if member.required else member.default


def _is_other_kind(decoded: object, path: KeyPath) -> bool:
    """Return whether a fault is only that a value is not of another kind that its key could also have."""
    if path[:-1] == _SEMANTIC:
        return isinstance(_at(decoded, _SEMANTIC), dict) or path[-1] == Embeddings.__name__
    if path[-2:] == ("share", "bool"):
        return True  # that it is not "all" is told as well
    return path[-1:] == ("bool",) and isinstance(_at(decoded, path[:-1]), dict)


def _in_the_files_words(*path: str | int) -> KeyPath:
    match path:
        case ("mcp_servers", name, "oauth", _, str(key), *_):  # the fourth is the name of the model
            return ("mcpServers", name, "oauth", camel(key))
        case ("mcp_servers", name, ("oauth" | "share") as key, *_):  # behind it is the name of a type
            return ("mcpServers", name, key)
        case ("mcp_servers", name, str(key), *rest):
            return ("mcpServers", name, camel(key), *rest)
        case ("settings", "search", "semantic", *inner):  # the first of these is the name of the model
            return (*_SEMANTIC, *(camel(str(key)) for key in inner[1:2]))
        case (str(section), str(key), *rest):
            return (camel(section), camel(key) if section == "settings" else key, *rest)
        case _:
            return tuple(map(camel, map(str, path)))


def _without(decoded: object, faults: Iterable[KeyPath]) -> dict[str, Any]:
    wrong = {path[:2] for path in faults}
    sections = decoded if isinstance(decoded, dict) else {}
    sound = {
        section: {key: member for key, member in members.items() if (section, key) not in wrong}
        for section, members in sections.items()
        if isinstance(members, dict)
    }
    return {"mcp_servers": {}, **sound}


def _at(decoded: Any, path: KeyPath) -> object:
    """Return the value at a path, or the value on it that is no object."""
    for key in path:
        if not isinstance(decoded, dict):
            return decoded
        decoded = decoded.get(key)
    return decoded


def _complaint(path: KeyPath, value: object = None) -> Complaint:
    """Describe the expected value of the innermost known key on `path`, and give an example."""
    match path:
        case ("mcpServers", "", "[key]"):
            return path, "a server's name must not be empty", 'write a name, such as "files"'
        case ("mcpServers", _, str(key), *inner):
            is_of_login = key == "oauth" and inner
            return path, *(_wrong(OAuth, str(inner[0]), value) if is_of_login else _wrong(Entry, key, value))
        case ("settings", str(key), *inner):
            return path, *_wrong(*_of_settings(key, *map(str, inner)), value)
        case ("mcpServers", _):
            return path, "a server must be an object", 'write {"command": "npx", "args": ["-y", "pkg"]}'
        case (str(key),):
            return path, f'"{key}" must be an object', f'write "{key}": {{}}'
        case _:
            return path, "the file must hold one object", 'write {"mcpServers": {}}'


def _of_settings(key: str, *inner: str) -> tuple[type[Struct], str]:
    """Return the innermost known key of the settings at a path, and its model."""
    if (key, *inner[:1]) != _SEMANTIC[1:]:
        return Settings, key
    return (Embeddings, inner[1]) if inner[1:] else (Search, inner[0])


def _wrong(model: type[Struct], key: str, value: object) -> tuple[str, str]:
    must_be, example = form(model, key)
    if (meant := _meant(model, key, value)) is not None:
        example = meant
    elif key not in _FORMS:
        near = closest(value.lower(), _words(model, key)) if isinstance(value, str) else None
        example = f'"{near}"' if near is not None else "one of them" if key in _WITHOUT_EXAMPLE else example
    return f'"{key}" must be {must_be}', f"write {example}"


def _meant(model: type[Struct], key: str, value: object) -> str | None:
    """Return the same value as the key takes it, if only its quotes or the word for yes or no are wrong."""
    if not isinstance(value, str | int) or len(word := str(value).strip().lower()) > _LONGEST_WORD:
        return None
    no = "off" if '"off"' in form(model, key)[0] else False
    readings: list[object] = [no] if word in _NO else [True] if word in _YES else []
    with contextlib.suppress(ValueError):
        readings.append(json.loads(word))
    for reading in readings:
        with contextlib.suppress(ValueError):
            payload.convert({keys(model)[key]: reading}, model)
            quotes = " without quotes" if isinstance(value, str) and not isinstance(reading, str) else ""
            return f"{json.dumps(reading)}{quotes}"
    return None


def form(model: type[Struct], key: str) -> tuple[str, str]:
    """Describe the expected value of a model's key, and give an example."""
    if model is Embeddings and key == "url":
        return "a string", '"http://localhost:11434/v1"'
    return _FORMS.get(key) or _choice(model, key)


def _choice(model: type[Struct], key: str) -> tuple[str, str]:
    (member,) = (each for each in declared(model) if each.name == keys(model)[key])
    *words, last = (f'"{word}"' for word in _words(model, key))
    return f"{', '.join(words)} or {last}", f'"{member.default}"'


def _words(model: type[Struct], key: str) -> tuple[str, ...]:
    (member,) = (each for each in declared(model) if each.name == keys(model)[key])
    words: tuple[str, ...] = get_args(member.type)
    return words
