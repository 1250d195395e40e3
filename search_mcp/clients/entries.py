"""Translation between a client's entry for a server and ours, in both directions. Pure.

Decides which keys correspond to each other, and how a client's placeholder is written in our file. A setting without a
counterpart is reported in a note, never guessed.
"""

import ntpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import Any

from search_mcp.catalog import profiles
from search_mcp.catalog.profiles import REGISTERED_AS
from search_mcp.clients import mcp_remote, native
from search_mcp.clients.command import SAFELY
from search_mcp.clients.known import Client, Shape
from search_mcp.clients.native import Native
from search_mcp.config import sources
from search_mcp.config.placeholders import may_have_sources
from search_mcp.config.schema import SERVER_KEYS
from search_mcp.config.subset import OPTION as SERVERS

_PLACEHOLDER = re.compile(r"\$\{([^{}]+)\}")
_VARIABLE = re.compile(r"[A-Za-z_][\w()]*(:-[^}]*)?")
_HOME, _SEPARATOR = {"userHome", "env:HOME"}, {"/", "pathSeparator"}
_FILE = re.compile(r"(?<!\$)\{file:([^{}]*)\}")
_WHOLE_PATH = re.compile(r"[~/\\]|[A-Za-z]:[/\\]")
_SAME_SOURCES = {"windsurf": ("file",)}
"""Sources of secrets that a client has, too."""
_WINDOW_SCHEMES = ("workspaceFolder", "workspaceRoot", "workspaceFolderBasename", "cwd", "fileDirname")

_URLS = ("httpUrl", "url", "serverUrl", "uri")  # Gemini CLI prefers httpUrl
_ENVIRONMENTS = ("env", "envs", "environment")
_ALLOWED = ("includeTools", "enabled_tools", "enabledTools", "available_tools")
_DENIED = ("excludeTools", "disabled_tools", "disabledTools")
_SECONDS = {"startup_timeout_sec": "startTimeoutSeconds", "tool_timeout_sec": "callTimeoutSeconds"}
_DERIVED = {"type", "command", "args", "env", "cwd", "headers", "oauth", "caFile", "enabled", "disabled", "tools"}
_CARRIED = SERVER_KEYS - {*_DERIVED, *_URLS}
"""Keys of our own entries that are copied unchanged."""


@dataclass(frozen=True)
class Translation:
    """An entry of ours, with notes for the user."""

    entry: Mapping[str, Any]
    notes: tuple[str, ...]
    runs: bool
    """Whether the entry is expected to run without changes by the user."""


def program(entry: Mapping[str, Any]) -> list[str] | None:
    """Return the command and the arguments of a client's entry; None if it has no command."""
    command: Any = entry.get("command") or entry.get("cmd")
    args: Any = entry.get("args")
    if isinstance(command, dict):  # Zed's former format
        command, args = command.get("path"), command.get("args")
    words = command if isinstance(command, list) else [command, *(args if isinstance(args, list) else [])]
    if not words or not isinstance(words[0], str) or not words[0]:
        return None
    return [_plain(word) for word in words if _is_scalar(word)]


def is_ours(entry: object) -> bool:
    """Return whether a client's entry starts search-mcp."""
    if not isinstance(entry, dict):
        return False
    command, *args = program(entry) or [""]
    if _name(command) == "cmd":  # `cmd /c npx ...`, which many READMEs give for Windows
        command, *args = [*dropwhile(lambda arg: arg.startswith("/"), args), ""]
    name = _name(command)
    if name.startswith("py"):
        return args[:2] == ["-m", "search_mcp"] or args[:3] == [*SAFELY, "search_mcp"]
    return name == REGISTERED_AS or (name in ("uvx", "uv", "pipx") and REGISTERED_AS in args)


def chosen_servers(entry: Mapping[str, Any]) -> str | None:
    """Return the value of the option `--servers` in our entry; None if it has none."""
    words = iter(program(entry) or [])
    for word in words:
        if word == SERVERS:
            return next(words, None)
        if word.startswith(f"{SERVERS}="):
            return word.removeprefix(f"{SERVERS}=")
    return None


def is_bridge(entry: object) -> bool:
    """Return whether an entry reaches a remote server through mcp-remote."""
    return isinstance(entry, dict) and mcp_remote.is_bridge(program(entry) or [])


def is_disabled(entry: object) -> bool:
    """Return whether an entry, ours or a client's, is disabled."""
    return isinstance(entry, dict) and (entry.get("enabled") is False or entry.get("disabled") is True)


def _name(command: str) -> str:
    return ntpath.basename(command).lower().removesuffix(".exe")


def registration(
    client: Client,
    command: Sequence[str],
    config: str,
    variables: Iterable[str],
    present: Mapping[str, Any],
    servers: str | None = None,
) -> dict[str, Any]:
    """Build the entry that starts search-mcp from a client, keeping keys that the user added to the present one.

    `command` starts search-mcp, `config` is the path of its file, `variables` are the names that the file refers to,
    and `servers` is the value of the option `--servers`, if any.
    """
    profile = ["--client", client.name] if client.name in profiles.BY_NAME else []
    chosen = [SERVERS, servers] if servers is not None else []
    first, *rest = [*command, *profile, *chosen, "--config", config]
    programs: dict[Shape, dict[str, object]] = {
        "standard": {"command": first, "args": rest},
        "opencode": {"command": [first, *rest]},
        "goose": {"cmd": first, "args": rest},
    }
    decided = {**client.fixed, **programs[client.shape]}
    entry: dict[str, Any] = {**decided, **client.defaults, **present, **decided}
    needed = [name for name in variables if name not in entry.get("env_vars", [])]
    if client.passes_on_named_variables_only and needed:
        entry["env_vars"] = [*entry.get("env_vars", []), *needed]
    return entry


def translate(
    entry: Mapping[str, Any], client: Client, inputs: Mapping[str, Mapping[str, Any]], separator: str
) -> Translation | None:
    """Translate a client's entry into ours; None if it has neither a command nor a URL.

    `inputs` are VS Code's inputs by id; `separator` is the path separator of this platform.
    """
    entry = native.flattened(entry)
    words, url = program(entry), address(entry)
    if words is None and url is None:
        return None
    reading = _Reading(client, inputs, separator)
    env = _environment(entry, reading)
    if url is not None:
        ours = _remote(entry, reading, url, env)
    else:
        ours = _bridge(reading, words or [], env) or _local(entry, reading, words or [], env)
    ours |= _choices(entry, client, ours.get("tools", {}))
    ours |= {key: value for key, value in entry.items() if key in _CARRIED and value not in ("", None)}
    if entry.get("envFile"):
        reading.needs_change("search-mcp does not read its envFile; copy the variables into env")
    if is_disabled(entry) or ("url" in ours and not _is_reachable(ours)):
        ours["enabled"] = False
    return Translation(ours, tuple(reading.notes), reading.needs_no_change)


def address(entry: Mapping[str, Any]) -> str | None:
    """Return the URL of a remote entry, even if it was written as the command; None if the entry has a command."""
    words = program(entry)
    if words is None:
        return next((entry[key] for key in _URLS if isinstance(entry.get(key), str)), None)
    return words[0] if native.is_address(words[0]) else None


def _is_reachable(ours: Mapping[str, Any]) -> bool:
    """Return whether an address may be one of HTTP; the beginning of some is a placeholder."""
    return ours.get("type") != "ws" and (native.is_address(ours["url"]) or ours["url"].startswith("${"))


def _local(
    entry: Mapping[str, Any], reading: "_Reading", words: Sequence[str], env: Mapping[str, str]
) -> dict[str, Any]:
    command, *args = words
    local: dict[str, Any] = {"command": reading.text(command)}
    if args:
        local["args"] = [reading.text(arg) for arg in args]
    elif isinstance(entry.get("args"), str):
        # Not a list: kept, so that validation reports it. Without its arguments it would be another server.
        local["args"] = entry["args"]
    if args and mcp_remote.is_bridge(words):
        local["args"] = [mcp_remote.protected(arg, env) for arg in local["args"]]
    if env:
        local["env"] = env
    if isinstance(entry.get("cwd"), str):
        local["cwd"] = reading.text(entry["cwd"])
    return local


def _bridge(reading: "_Reading", words: Sequence[str], env: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the native entry for a command that runs mcp-remote; `None` for any other."""
    if not mcp_remote.is_bridge(words):
        return None
    found = mcp_remote.translated(words, env)
    if isinstance(found, str):
        reading.remark(found)
        return None
    return reading.native(found)


def _remote(entry: Mapping[str, Any], reading: "_Reading", url: str, env: Mapping[str, str]) -> dict[str, Any]:
    if (words := program(entry)) and words[1:]:
        reading.needs_change("its command is a URL; its arguments are left out")
    found = native.entry(entry, url, _headers(entry), env)
    login = found.entry.get("oauth")
    if reading.client.name == "claude-code" and isinstance(login, dict) and "clientId" in login:
        # Claude Code has clients registered with http://localhost:PORT/callback.
        found.entry["oauth"] = {"callbackHost": "localhost", **login}
    return reading.native(found)


def _headers(entry: Mapping[str, Any]) -> dict[str, str]:
    given = entry.get("headers") or entry.get("http_headers")
    headers = {key: _plain(value) for key, value in _scalars(given).items()}
    # In Codex, the values are names of environment variables.
    headers |= {key: f"${{{variable}}}" for key, variable in _scalars(entry.get("env_http_headers")).items()}
    if isinstance(entry.get("bearer_token_env_var"), str):
        headers["Authorization"] = f"Bearer ${{{entry['bearer_token_env_var']}}}"
    return headers


def _scalars(value: object) -> dict[str, Any]:
    return {key: each for key, each in value.items() if _is_scalar(each)} if isinstance(value, dict) else {}


def _environment(entry: Mapping[str, Any], reading: "_Reading") -> dict[str, str]:
    command = entry.get("command")
    given: Any = next((entry[key] for key in _ENVIRONMENTS if isinstance(entry.get(key), dict)), {})
    if isinstance(command, dict) and isinstance(command.get("env"), dict):
        given = command["env"]
    environment = {key: reading.text(_plain(value)) for key, value in given.items() if _is_scalar(value)}
    for name in _strings(entry.get("env_keys")):
        environment[name] = f"${{{name}}}"
        reading.needs_change(f"goose keeps {name} in the system's keyring; set the environment variable {name}")
    return environment


def _choices(entry: Mapping[str, Any], client: Client, denied: Mapping[str, Any]) -> dict[str, Any]:
    """Translate the user's settings for the server: time limits, tools and inherited variables."""
    choices: dict[str, Any] = {}
    for key, ours in _SECONDS.items():
        if _is_number(entry.get(key)):
            choices[ours] = entry[key]
    if _is_number(entry.get("timeout")):
        seconds = round(entry["timeout"] * client.timeout_seconds, 3)
        choices["callTimeoutSeconds"] = int(seconds) if seconds == int(seconds) else seconds
    tools = entry.get("tools")
    if isinstance(tools, list) and tools != ["*"]:  # Copilot CLI
        choices["tools"] = {"allow": _strings(tools)}
    elif isinstance(tools, dict) and client.name == "":
        choices["tools"] = tools
    for keys, ours in ((_ALLOWED, "allow"), (_DENIED, "deny")):
        names = [name for key in keys for name in _strings(entry.get(key))]
        if names:
            choices["tools"] = {**choices.get("tools", {}), ours: names}
    if denied and "tools" in choices:  # by an option of mcp-remote
        choices["tools"] = {**choices["tools"], "deny": [*denied["deny"], *choices["tools"].get("deny", [])]}
    if names := _strings(entry.get("env_vars")):
        choices["inheritEnv"] = names
    return choices


class _Reading:
    """Replaces the placeholders in one entry by ours, and collects notes about them."""

    def __init__(self, client: Client, inputs: Mapping[str, Mapping[str, Any]], separator: str) -> None:
        self.notes: list[str] = []
        self.needs_no_change = True
        self.client, self._inputs, self._separator = client, inputs, separator

    def needs_change(self, note: str) -> None:
        """Add a reason why the entry will not run without changes, once."""
        self.needs_no_change = False
        if note not in self.notes:
            self.notes.append(note)

    def remark(self, note: str) -> None:
        """Add a note about an entry that runs without changes."""
        self.notes.append(note)

    def native(self, found: Native) -> dict[str, Any]:
        """Return an entry for a remote server with our placeholders, and add the notes about it."""
        for note in found.remarks:
            self.remark(note)
        for note in found.changes:
            self.needs_change(note)
        return {key: self._texts(value) for key, value in found.entry.items()}

    def _texts(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._texts(each) for each in value]
        return {key: self._texts(each) for key, each in value.items()} if isinstance(value, dict) else value

    def text(self, text: str) -> str:
        if self.client.variables:
            text = re.sub(self.client.variables, r"${\1}", text)
        text = _PLACEHOLDER.sub(self._placeholder, self._without_sources(text))
        return _FILE.sub(self._file, text) if self.client.shape == "opencode" else text

    def _without_sources(self, text: str) -> str:
        """Escape what would be run or read for a secret here, and has another meaning for the client, or none."""
        if not self.client.name or not may_have_sources(text):
            return text
        return sources.as_plain_text(text, except_for=_SAME_SOURCES.get(self.client.name, ()))

    def _file(self, match: re.Match[str]) -> str:
        if _WHOLE_PATH.match(match[1]):
            return f"${match[0]}"
        self.needs_change(f"{match[0]} is relative to the client's file; write ${{file:PATH}} with the whole path")
        return match[0]

    def _placeholder(self, match: re.Match[str]) -> str:
        name: str = match[1]
        scheme, _, rest = name.partition(":")
        if name in _HOME:
            return "${home}"
        if name in _SEPARATOR:
            return self._separator
        if scheme == "input":
            return self._input(rest)
        if scheme == "env" and _VARIABLE.fullmatch(rest):
            return f"${{{rest}}}"
        if scheme in _WINDOW_SCHEMES:
            self.needs_change(f"{match[0]} depends on the client's open window; write a path instead")
        elif scheme in _SAME_SOURCES.get(self.client.name, ()) or (not self.client.name and scheme in sources.KINDS):
            return match[0]
        elif not _VARIABLE.fullmatch(name) and scheme in ("config", *sources.KINDS):
            self.needs_change(f"only {self.client.title} supports {match[0]}; write the value instead")
        return match[0]

    def _input(self, identifier: str) -> str:
        asked = self._inputs.get(identifier, {})
        variable = re.sub(r"\W", "_", identifier).upper()
        default = asked.get("default")
        if isinstance(default, str) and default and "}" not in default:
            return f"${{{variable}:-{default}}}"
        about = asked.get("description")
        described = f" ({about})" if isinstance(about, str) and about else ""
        self.needs_change(
            f"only VS Code asks for ${{input:{identifier}}}{described}; set the variable {variable}, or use "
            "`search-mcp secret`"
        )
        return f"${{{variable}}}"


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float)


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _strings(value: object) -> list[str]:
    """Return the strings in a list, and the names of the objects in it, which Codex writes."""
    if not isinstance(value, list):
        return []
    named = [item.get("name") if isinstance(item, dict) else item for item in value]
    return [item for item in named if isinstance(item, str)]
