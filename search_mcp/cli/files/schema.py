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
    "Replaced in it: ${VAR}, ${VAR:-default}, ~, ${home}, ${configDir} and ${python} (the Python that runs search-mcp)."
)
_SECRETS: Final = (
    f"{_PLACEHOLDERS[:-1]}, and when the server starts: ${{file:PATH}}, ${{command:PROGRAM ARGS...}}, "
    "${keyring:SERVICE/NAME} and ${user:NAME}."
)
_AT_FIRST_SEARCH: Final = _SECRETS.replace("when the server starts", "with the first search")

ABOUT: Final[Mapping[str, str]] = {
    "$schema": "Path or address of this schema, for editors.",
    "mcpServers": "The servers, by name. Their tools are shown as name.tool, in the order of this file.",
    "settings": "How tools are shown, and defaults for all servers.",
    # of servers
    "command": f"Program that starts the server. {_PLACEHOLDERS}",
    "args": f"Arguments of the program. {_SECRETS}",
    "env": f"Environment variables of the server, besides a minimal environment. {_SECRETS}",
    "cwd": f"Folder in which the server starts, relative to the folder of this file. {_PLACEHOLDERS}",
    "enabled": "false switches the server off.",
    "disabled": "true switches the server off: the spelling of other clients.",
    "type": "stdio for a program, http or sse for a remote server. Not set: detected.",
    "description": "Purpose of the server, for search and models.",
    "tags": "Search terms for the server's tools. --servers tag:NAME selects it.",
    "share": "Whether clients share one process of the server. all: also clients with different tokens. "
    "Not set: if it is known to keep nothing between calls.",
    "watch": "Files whose change restarts the server, such as src/**/*.py, relative to cwd. !pattern excludes files.",
    "prefix": "First part of its tools' names, instead of the server's name. \"\": none.",
    "tools": "Which tools are available: an object with allow and deny, or a list of allowed names.",
    "allow": "Patterns such as read_*. Only tools that match one of them are available. Default: all tools.",
    "deny": "Patterns such as delete_*. Tools that match one of them are not available, even if allow matches them "
    "too.",
    "prompts": "false hides the server's prompts.",
    "resources": "false hides the server's resources, except those that a tool's result refers to.",
    "pinned": "Tools that are always listed in full.",
    "rename": "New names for tools, by original name.",
    "describe": "New descriptions for tools, by original name.",
    "resultSize": "Characters up to which a result stays in the chat of Claude Code, and does not go to a file.",
    "headers": f"HTTP headers of a remote server. {_SECRETS}",
    **dict.fromkeys(
        ("url", "serverUrl", "httpUrl"),
        f"Address of a remote server. {_SECRETS}",
    ),
    "oauth": "The login at a remote server; false: never log in.",
    "clientId": f"Id of a client that you registered. {_PLACEHOLDERS}",
    "clientSecret": f"Secret of that client, sent only to `issuer`, or to the host of `url`. {_SECRETS}",
    "clientMetadataUrl": f"Address of a Client ID Metadata Document. {_PLACEHOLDERS}",
    "grant": "authorization_code: in a browser. client_credentials: with the client's id and secret alone.",
    "issuer": f"The only authorization server to log in at. Default: the one that the server names. {_PLACEHOLDERS}",
    "scopes": f"Scopes to ask for. Default: those that the server names. {_PLACEHOLDERS}",
    "resource": "The resource that a token is for. true: the server's own. false: none.",
    "callbackHost": "Host to which the browser returns after the login.",
    "callbackPort": "Port to which it returns. Default: any free one.",
    "callbackPath": "Path to which it returns.",
    "caFile": f"File with certificates (PEM) to trust besides those of the system, relative to the folder of this "
    f"file. {_PLACEHOLDERS}",
    # of servers and of settings
    "startup": "eager: start with the client. lazy: start once to read the lists, then at a call; stop when "
    "idle. auto: eager after a call in the last three days, or with pinTools or watch; otherwise lazy.",
    "callTimeoutSeconds": "Time limit for a call, restarted by progress. Default: none.",
    "maxCallSeconds": "Time limit for a call, also with progress. Default: none.",
    "startTimeoutSeconds": "Time limit for the server's first answer.",
    "idleStopSeconds": "Stop the server after this time without a call. Default: 300 if it starts lazily, else never.",
    "protocol": "Protocol revision. auto: negotiated.",
    "inheritEnv": "Variables that the server gets from search-mcp's own environment: all, or these.",
    "pinTools": "Withhold new and changed tools, prompts and instructions until you accept them.",
    "readOnly": "Have only tools that the server declares read-only (readOnlyHint: true).",
    "maxResultCharacters": "Longest text of a result; the model reads the rest with read_result. Default: none.",
    # of the settings
    "listing": "Contents of a client's tool list. light: every tool, in a few tokens. full: every tool, with its whole "
    "definition. search: only search-mcp's own tools. auto: light or full, chosen for the client.",
    "separator": "Characters between server and tool in names. auto: chosen for the client.",
    "maxNameLength": "Maximum length of names. auto: chosen for the client.",
    "descriptionLength": "Maximum length of a description in the light list and in search results, in characters.",
    "maxMessageBytes": "Maximum size of one message of a server. Read at the start only.",
    "logLevel": "Level of search-mcp's log on stderr.",
    "confirmCommands": "Whether new and changed commands are held. true: also in your own file. false: not in a named "
    "file. Read at the start only.",
    "firstListSeconds": "Longest time that a client's first list waits for servers. auto: chosen for the client.",
    "callTool": "all: the model has call_tool and call_read_only_tool. read-only: only the second. off: neither.",
    "engine": "shared: one process for all clients. own: one for each, as always on Windows. Read when a client "
    "starts.",
    "usage": "Whether calls are recorded for `search-mcp usage`, without arguments and results.",
    "search": "How search finds tools.",
    "semantic": "Comparison of meanings. local: by the installed model. An object: by a service. Not set: local if a "
    "model is installed.",
    "model": "The name of the model at that address.",
    "apiKey": f"The key for that address, sent as Authorization: Bearer. {_AT_FIRST_SEARCH}",
}
_ABOUT_IN: Final[Mapping[tuple[str, str], str]] = {
    ("Embeddings", "url"): "Address of a service up to its version, such as http://localhost:11434/v1. The texts of "
    f"your tools and all queries are sent to it. {_AT_FIRST_SEARCH}",
}
"""The keys that mean something else in an object than elsewhere, by model and key."""


def about(model: str, key: str) -> str:
    """Return the meaning of a key of a model."""
    return _ABOUT_IN.get((model, key)) or ABOUT[key]


def of_file() -> JsonSchema:
    """Return the schema of the file."""
    generated = validation.json_schema()
    definitions = {name: _object(name, schema) for name, schema in generated["$defs"].items()}
    tools = definitions["Entry"]["properties"]["tools"]
    tools["anyOf"].insert(1, {"type": "array", "items": {"type": "string"}})
    definitions["OAuth"]["properties"]["scopes"]["anyOf"].insert(1, {"type": "string"})
    described = {key: _described("File", key, each) for key, each in generated["properties"].items()}
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


def _object(name: str, schema: JsonSchema) -> JsonSchema:
    properties = {key: _nullable(_described(name, key, each)) for key, each in schema["properties"].items()}
    return {"type": "object", "properties": properties}


def _described(model: str, key: str, schema: JsonSchema) -> JsonSchema:
    """Add the description of a key."""
    kept = {word: value for word, value in schema.items() if word != "title"}
    if not kept.get("default") or isinstance(kept["default"], dict):
        kept.pop("default", None)  # empty, or made of other defaults
    return {"description": about(model, key), **kept}


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
