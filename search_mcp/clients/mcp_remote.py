"""Command lines of mcp-remote, a bridge from stdio to HTTP, as native entries for the same server. Pure.

Decides which command lines have a native entry that does the same. The others are kept, with the reason.
"""

import json
import ntpath
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import dropwhile
from typing import Any, Final

from search_mcp.clients import native
from search_mcp.clients.native import Native

_PACKAGE = re.compile(r"mcp-remote(@.*)?")
_HEADER = re.compile(r"([A-Za-z0-9_-]+):\s*(.*)", re.DOTALL)  # what mcp-remote accepts
_RUNNERS: Final = (["npx"], ["bunx"], ["pnpx"], ["pnpm", "dlx"], ["yarn", "dlx"], ["bun", "x"])
_OPTIONS_OF_RUNNERS: Final = {"-y", "--yes", "-q", "--quiet", "--bun", "--prefer-online", "--prefer-offline"}

_TRANSPORTS: Final = {"http-only": "http", "sse-only": "sse", "http-first": None, "sse-first": None}
_WITHOUT_USE: Final = {"--allow-http", "--debug", "--silent", "--keep-alive", "--ipv4", "--disable-cookies"}
"""Flags that change nothing that a native entry needs."""
_WITHOUT_USE_BUT_A_VALUE: Final = {
    *("--auth-timeout", "--connect-timeout", "--headers-timeout", "--body-timeout", "--ping-interval"),
    *("--auth-success-url", "--protocol"),
}
_OF_PROXIES: Final = {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"}
_OF_NODE: Final = {"NODE_TLS_REJECT_UNAUTHORIZED", "NODE_OPTIONS"}

LOG_IN_ONCE: Final = (
    "a login that mcp-remote made cannot be taken over; if the server asks for one, run search-mcp auth login"
)


ABOUT: Final = (
    "npx mcp-remote, which needs Node.js; the first start opens a browser to log in if the server asks for it"
)


class _Kept(Exception):
    """The command line has no native counterpart, for the given reason."""


def is_bridge(words: Sequence[str]) -> bool:
    """Return whether a command line runs mcp-remote."""
    return any(_PACKAGE.fullmatch(word) for word in words)


def protected(arg: str, env: Container[str]) -> str:
    """Escape the placeholders of variables in `env`, so that mcp-remote expands them instead of search-mcp."""
    return re.sub(r"(?<!\$)\$\{(\w+)\}", lambda match: f"${match[0]}" if match[1] in env else match[0], arg)


def translated(words: Sequence[str], env: Mapping[str, str]) -> Native | str:
    """Return the native entry for a command line of mcp-remote, or the reason why there is none."""
    try:
        return _native(_arguments(words), env)
    except _Kept as reason:
        return f"it still runs through mcp-remote, because {reason}"


def _arguments(words: Sequence[str]) -> list[str]:
    """Return what is passed to mcp-remote by a command line that runs it."""
    first, *rest = words
    if _stem(first) == "cmd":  # `cmd /c npx ...`, which many READMEs give for Windows
        first, *rest = [*dropwhile(lambda word: word.startswith("/"), rest), ""]
        rest = [word for word in rest if word]
    words = [_stem(first), *rest]
    if words[0] == "mcp-remote":
        return rest
    runner = next((each for each in _RUNNERS if words[: len(each)] == each), None)
    if runner is None:
        raise _Kept(f"{words[0]} starts it")
    rest = words[len(runner) :]
    rest = [*dropwhile(lambda word: word in _OPTIONS_OF_RUNNERS, rest)]
    if not rest or not _PACKAGE.fullmatch(rest[0]):
        raise _Kept("it is started with other options")
    return rest[1:]


def _native(words: Sequence[str], env: Mapping[str, str]) -> Native:
    if not words or not native.is_address(words[0]):
        raise _Kept("its first argument is not an address")
    made: dict[str, Any] = {"url": native.inlined(words[0], env)}
    login: dict[str, Any] = {}
    denied: list[str] = []
    dropped: list[str] = []
    rest = iter(words[1:])
    for position, word in enumerate(rest):
        if word.isdecimal() and position == 0:
            login["callbackPort"] = int(word)
        elif word in _WITHOUT_USE:
            dropped.append(word)
        elif word in _WITHOUT_USE_BUT_A_VALUE:
            dropped.append(word)
            _value(word, rest)
        elif word == "--enable-proxy":
            dropped.append(word)  # search-mcp always uses the variables of proxies
        elif word == "--header":
            name, value = _header(_value(word, rest), env)
            made.setdefault("headers", {})[name] = value
        elif word == "--transport":
            transport = _value(word, rest)
            if transport not in _TRANSPORTS:
                raise _Kept(f"its transport is {transport}")
            if _TRANSPORTS[transport]:
                made["type"] = _TRANSPORTS[transport]
        elif word == "--ignore-tool":
            denied.append(_value(word, rest))
        else:
            login |= _of_login(word, rest, env)
    if "clientId" in login:
        # Servers compare the address with that of the registration, which for mcp-remote has these parts by default.
        login = {"callbackHost": "localhost", "callbackPath": "/oauth/callback", **login}
    if login:
        made["oauth"] = login
    if denied:
        made["tools"] = {"deny": denied}
    has_credentials = any(name.lower() == "authorization" for name in made.get("headers", ()))
    result = Native(made, remarks=[] if has_credentials else [LOG_IN_ONCE])
    if dropped:
        result.remarks.append(f"{', '.join(dropped)} of mcp-remote {'is' if len(dropped) == 1 else 'are'} left out")
    _take_variables(env, words, result)
    return result


def _of_login(word: str, rest: Iterator[str], env: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of a login that a flag means."""
    login: dict[str, Any] = {}
    match word:
        case "--host":
            login = {"callbackHost": _value(word, rest)}
            if login["callbackHost"] not in ("localhost", "127.0.0.1"):
                raise _Kept(f"its --host is {login['callbackHost']}")
        case "--callback-path":
            login = {"callbackPath": _value(word, rest)}
        case "--resource":
            login = {"resource": native.inlined(_value(word, rest), env)}
        case "--disable-resource-parameter":
            login = {"resource": False}
        case "--client-metadata-url":
            login = {"clientMetadataUrl": _value(word, rest)}
        case "--client-credentials":
            login = {"grant": "client_credentials"}
        case "--static-oauth-client-info":
            login = _client(_object(word, _value(word, rest)), env)
        case "--static-oauth-client-metadata":
            scope = _object(word, _value(word, rest)).get("scope")
            login = {"scopes": scope.split()} if isinstance(scope, str) else {}
        case _:
            raise _Kept(f"{word} has no counterpart")
    return login


def _client(given: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    if not isinstance(given.get("client_id"), str):
        raise _Kept("--static-oauth-client-info has no client_id")
    named = {"clientId": given["client_id"], "clientSecret": given.get("client_secret")}
    return {key: native.inlined(value, env) for key, value in named.items() if isinstance(value, str)}


def _header(text: str, env: Mapping[str, str]) -> tuple[str, str]:
    found = _HEADER.fullmatch(text)
    if found is None:
        raise _Kept("a --header is not NAME:VALUE")
    return found[1], native.inlined(found[2], env)


def _object(word: str, text: str) -> Mapping[str, Any]:
    if text.startswith("@"):
        raise _Kept(f"{word} reads a file")
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise _Kept(f"{word} is not a JSON object")
    return value


def _value(word: str, rest: Iterator[str]) -> str:
    value = next(rest, None)
    if value is None:
        raise _Kept(f"{word} has no value")
    return value


def _take_variables(env: Mapping[str, str], words: Sequence[str], result: Native) -> None:
    """Take over the variables of the entry that are more than values of placeholders."""
    used = {name for word in words for name in re.findall(r"\$\{(\w+)", word)}
    for name, value in env.items():
        if name in _OF_NODE:
            raise _Kept(f"it sets {name}")
        if name == "NODE_EXTRA_CA_CERTS":
            result.entry["caFile"] = value
        elif name.upper() in _OF_PROXIES:
            result.changes.append(f"search-mcp uses {name} of its own environment; set it there")
        elif name not in used:
            result.remarks.append(f"its variable {name} is left out")


def _stem(command: str) -> str:
    name = ntpath.basename(command).lower()
    return name.removesuffix(".exe").removesuffix(".cmd")
