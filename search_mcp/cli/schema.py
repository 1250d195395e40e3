"""The JSON Schema of mcp-servers.json, for editors.

The types come from the models that read the file; the descriptions are here, because only people need them. A key that
is null counts as absent, as in other clients.
"""

import sys
from collections.abc import Mapping
from typing import Any, Final

from search_mcp.config import validation

JsonSchema = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PLACEHOLDERS: Final = (
    "${VAR}, ${VAR:-default}, ~, ${home}, ${configDir} and ${python}, "
    "the Python that search-mcp runs on, are filled in."
)

ABOUT: Final[Mapping[str, str]] = {
    "$schema": "Where this schema is, for editors.",
    "mcpServers": "The servers, by name. Their tools are shown as name.tool, in the order of this file.",
    "settings": "How tools are shown, and defaults for all servers.",
    # of servers
    "command": f"The program that starts the server. {_PLACEHOLDERS}",
    "args": f"What the program is started with. {_PLACEHOLDERS}",
    "env": f"Environment variables for the server; it gets these and a minimal environment. {_PLACEHOLDERS}",
    "cwd": f"The folder the server is started in, relative to this file's. {_PLACEHOLDERS}",
    "enabled": "Whether the server is used. Takes effect when the file is saved.",
    "disabled": "The same switch as other clients spell it.",
    "type": "How the server is spoken to. This version runs stdio servers only.",
    "description": "What the server is for: searched, and told to the model.",
    "tags": "Words by which the server's tools are to be found, too.",
    "prefix": 'Another word than the server\'s name before its tools; "" for bare names.',
    "tools": "Which of its tools there are: globs over their names, or a list of those that are allowed.",
    "allow": "Globs over names of tools: only these are there. Without it, all are.",
    "deny": "Globs over names of tools that are not there, whatever is allowed.",
    "pinned": "Tools that are always listed, and in full.",
    "rename": "Other names for its tools, by their own.",
    "describe": "Other descriptions for its tools, by their own names.",
    "headers": "Headers of an HTTP server, which this version does not run.",
    "url": "The address of an HTTP server, which this version does not run.",
    "serverUrl": "The address of an HTTP server, which this version does not run.",
    "httpUrl": "The address of an HTTP server, which this version does not run.",
    # of servers and of settings
    "startup": '"eager": start with the client. "lazy": start with the first call, stop when idle. "auto": lazy if its '
    "lists are remembered, none of its tools was called in the last three days and they are not pinned, else eager.",
    "callTimeoutSeconds": "How long a call may take; progress starts it anew, and time in which the user is asked "
    "does not count. Without it, as long as the client waits.",
    "maxCallSeconds": "How long a call may take in all, whatever progress it makes.",
    "startTimeoutSeconds": "How long the server may take to answer for the first time.",
    "idleStopSeconds": "How long the server is without a call before it is stopped; the next call starts it again.",
    "protocol": "The protocol revision the server is spoken to in; auto finds it out.",
    "inheritEnv": "What the server gets of search-mcp's environment beside the essentials: all of it, or the named.",
    "pinTools": "Withhold changed and new tools, prompts and instructions, until `search-mcp check --accept NAME`.",
    "readOnly": "List and call only the tools that the server declares read-only (readOnlyHint: true).",
    # of the settings
    "listing": (
        "What a client is listed: light, every tool in a few tokens; full, as the servers define them; "
        "search, only the search. auto is what pays for the client."
    ),
    "separator": "What stands between server and tool in the names a client is shown; auto is what it takes.",
    "maxNameLength": "How long a shown name may be; auto is what the client takes.",
    "descriptionLength": "Characters of a description in the light listing and in search results.",
    "maxMessageBytes": "How long one message of a server may be; read at the start only.",
    "logLevel": "What is written to the log, which is search-mcp's stderr.",
    "confirmCommands": "Whether a server that an edit adds, or whose program it changes, waits for `search-mcp check "
    "--accept NAME`. true: in your own file too, and after the next start as well. false: in no file that --config "
    "names. Without it: in every file but your own, until the next start. Read at the start only.",
    "firstListSeconds": "How long a client's first list waits for servers whose lists are not remembered; auto follows "
    "what is known of the client.",
    "callTool": "Which tools for calling by name there are: all, call_tool and call_read_only_tool; read-only, the "
    "second only; off, neither.",
}


def of_file() -> JsonSchema:
    """Return the schema of the file."""
    generated = validation.json_schema()
    definitions = {name: _object(schema) for name, schema in generated["$defs"].items()}
    tools = definitions["Entry"]["properties"]["tools"]
    tools["anyOf"].insert(1, {"type": "array", "items": {"type": "string"}})
    described = {key: _described(key, each) for key, each in generated["properties"].items()}
    return {
        "$schema": DIALECT,
        "title": "mcp-servers.json of search-mcp",
        "type": "object",
        "required": ["mcpServers"],
        "properties": {
            "$schema": {"description": ABOUT["$schema"], "type": "string"},
            "mcpServers": described["mcpServers"],
            "settings": _nullable(described["settings"]),
        },
        "allowComments": True,  # this and the next key are VS Code's
        "allowTrailingCommas": True,
        "$defs": definitions,
    }


def _object(schema: JsonSchema) -> JsonSchema:
    properties = {key: _nullable(_described(key, each)) for key, each in schema["properties"].items()}
    return {"type": "object", "properties": properties}


def _described(key: str, schema: JsonSchema) -> JsonSchema:
    """Add the description of a key."""
    kept = {word: value for word, value in schema.items() if word != "title"}
    if not kept.get("default") or isinstance(kept["default"], dict):
        kept.pop("default", None)  # empty, or made of other defaults
    return {"description": ABOUT[key], **kept}


def _nullable(schema: JsonSchema) -> JsonSchema:
    """Allow null for a key."""
    about: JsonSchema = {word: schema[word] for word in ("description", "default") if word in schema}
    rest = {word: value for word, value in schema.items() if word not in about}
    if not rest:
        return about  # any value
    choices = [_without_infinity(each) for each in rest.get("anyOf", [rest]) if each != _NULL]
    return {**about, "anyOf": [*choices, _NULL]}


def _without_infinity(schema: JsonSchema) -> JsonSchema:
    """Remove the limit that makes numbers finite: JSON has no others."""
    return {word: value for word, value in schema.items() if value != sys.float_info.max}


_NULL: Final = {"type": "null"}
