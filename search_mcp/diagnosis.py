"""What is wrong with a configuration, and its JSON Schema: what pydantic knows of the models.

Decides where the faults of a file are, what is said of each, and what is left of the file without them.
Loaded for a file that is wrong, and by commands for people: pydantic takes longer to load than all that
`serve` needs. What reads a file that is right is the JSON library, by the same models.
"""

import json
from collections.abc import Iterable
from dataclasses import Field
from typing import Any

from pydantic import TypeAdapter, ValidationError

from search_mcp.config import Entry, File, Settings, camel, keys
from search_mcp.jsonc import KeyPath
from search_mcp.placeholders import Complaint


def examine(decoded: object) -> tuple[list[Complaint], dict[str, Any]]:
    """Find what is wrong with a file, which has the names of the models' fields for its keys.

    Gives the complaints, with their places in the file's own words, and the servers and settings that have no fault.
    A value that may be of several kinds is complained about once for each.
    """
    try:
        TypeAdapter(File).validate_json(json.dumps(decoded), by_alias=False, by_name=True)
    except ValidationError as exc:
        errors = exc.errors(include_url=False, include_input=False, include_context=False)
        if errors[0]["type"] == "json_invalid":  # this parser goes less deep than the one that has read the file
            return [((), "nested too deeply", "simplify the file")], {"mcp_servers": {}}
        paths = [each["loc"] for each in errors]
        return [_complaint(_in_the_files_words(*path)) for path in paths], _without(decoded, paths)
    raise AssertionError("pydantic finds no fault where there is one")


def json_schema(model: type) -> dict[str, Any]:
    """Describe a file to editors."""
    return TypeAdapter(model).json_schema()


def _in_the_files_words(*path: str | int) -> KeyPath:
    match path:
        case ("mcp_servers", name, str(key), *rest):
            return ("mcpServers", name, camel(key), *rest)
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


def _complaint(path: KeyPath) -> Complaint:
    """Say what must stand at the innermost key on `path` that is one of ours, and what to write."""
    match path:
        case ("mcpServers", "", "[key]"):
            return path, "a server's name must not be empty", 'write a name, such as "files"'
        case ("mcpServers", _, str(key), *_):
            return path, *_form(key, keys(Entry)[key])
        case ("settings", str(key), *_):
            return path, *_form(key, keys(Settings)[key])
        case ("mcpServers", _):
            return path, "a server must be an object", 'write {"command": "npx", "args": ["-y", "pkg"]}'
        case (str(key),):
            return path, f'"{key}" must be an object', f'write "{key}": {{}}'
        case _:
            return path, "the file must hold one object", 'write {"mcpServers": {}}'


def _form(key: str, declared: Field[Any]) -> tuple[str, str]:
    return f'"{key}" must be {declared.metadata["description"]}', f"write {declared.metadata['examples'][0]}"
