"""Servers in a text that a person pastes: a snippet, an address, a command, or a line that adds a server to a client.

Decides what such a text is read as, and what of its servers looks wrong before they are tried.
"""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from search_mcp.cli.files import adding
from search_mcp.cli.problem import Misuse, Problem
from search_mcp.clients import entries, found, merging, native
from search_mcp.clients.found import Server
from search_mcp.clients.suggestion import FALLBACK, suggested_name
from search_mcp.config.blanks import IS_BLANK, blanks

Suggest = Callable[[Server], str]
_SOURCE = "what you pasted"
_FENCE = re.compile(r"[ \t]*(```+|~~~+)")
"""The begin of a line that begins a block of code in Markdown; no backquote follows in it."""
_JSON_BEGINS = ("{", "[", '"', "//", "/*")
_BRACE = re.compile(r"(?<!\$)\{")
_CLIENTS = ("claude", "codex", "gemini")
"""Programs with a command `mcp add`."""
_OPTIONS = {"-e": "env", "--env": "env", "-H": "header", "--header": "header", "-t": "transport"}
_OPTIONS |= {"--transport": "transport", "-s": "scope", "--scope": "scope", "--url": "url"}


def servers(text: str, name: str, suggest: Suggest) -> list[Server]:
    """Read the servers of a text; `name` is that of the only one, `suggest` gives one to a server without a name.

    Raises:
        Problem, ConfigError: it has no server, or is not valid.
    """
    text = _unfenced(text).strip()
    if text.startswith(_JSON_BEGINS):
        return [_named(each, suggest) for each in found.pasted(text, name or None, _SOURCE)]
    words = _words(text)
    if PurePath(words[0]).name in _CLIENTS and words[1:2] == ["mcp"]:
        return [_added_to_client(words[2:], name)]
    if _BRACE.search(text):  # a part of a snippet: the error names the line
        return [_named(each, suggest) for each in found.pasted(text, name or None, _SOURCE)]
    server = adding.typed(name or FALLBACK, words)
    return [server if name else replace(server, name=suggest(server))]


def _unfenced(text: str) -> str:
    """Return the only block of code in a text; the whole text if it has no block, or more than one."""
    blocks: list[str] = []
    block, fence = "", ""
    for line in text.splitlines(keepends=True):
        if fence and line.lstrip(" \t").startswith(fence):
            blocks.append(block)
            block = fence = ""
        elif fence:
            block += line
        elif (begin := _FENCE.match(line)) and "`" not in line[begin.end() :]:
            fence = begin[1]
    return blocks[0] if len(blocks) == 1 else text


def _words(text: str) -> list[str]:
    try:
        words = adding.words(text)
    except Misuse:
        if not _BRACE.search(text):
            raise
        words = text.split()
    if not words:
        raise Problem("there is nothing to add", "paste a snippet, an address or a command")
    return words


def _added_to_client(words: Sequence[str], name: str) -> Server:
    """Read the arguments of `claude mcp`, `codex mcp` or `gemini mcp`.

    Raises:
        Problem: it is another command than `add`, or has options that are not known here.
    """
    match words:
        case ["add-json", *rest]:
            own, (text, *_), _ = _arguments(rest)
            return found.pasted(text, name or own, _SOURCE)[0]
        case ["add", *rest]:
            own, command, given = _arguments(rest)
            transports = [each for each in given["transport"] if each != "stdio"]
            return adding.typed(name or own, command, given["env"], None, given["header"], next(iter(transports), None))
    raise _unknown(" ".join(["mcp", *words[:1]]))


def _unknown(what: str) -> Problem:
    return Problem(f"{what} is not understood here", "paste the part after --, or the address")


def _arguments(words: Sequence[str]) -> tuple[str, list[str], dict[str, list[str]]]:
    """Return the name of a server, its command or its address, and the values of options."""
    left, found_words = list(words), list[str]()
    given: dict[str, list[str]] = {kind: [] for kind in _OPTIONS.values()}
    while left:
        word = left.pop(0)
        option, sign, value = word.partition("=")
        if word == "--" or (len(found_words) == 2 and not native.is_address(found_words[1])):
            found_words += left if word == "--" else [word, *left]
            break
        if option in _OPTIONS and (sign or left):
            given[_OPTIONS[option]].append(value if sign else left.pop(0))
        elif word.startswith("-"):
            raise _unknown(f"the option {option}")
        else:
            found_words.append(word)
    own, *command = [*found_words, *given["url"]] or [""]
    if not own or not command:
        raise Problem("this line has no command and no address", "paste the part after --, or the address")
    return own, command, given


def _named(server: Server, suggest: Suggest) -> Server:
    return server if server.name else replace(server, name=suggest(server))


def suggestion(present: Mapping[str, Any], server: Server) -> str:
    """Return a name for a server without one, which no other server among those `present` has; empty if none fits."""
    raw = server.raw if isinstance(server.raw, dict) else {}
    address = entries.address(raw)
    words = entries.program(raw) if address is None else [address]
    if not words:
        return ""
    name = suggested_name(words)
    is_taken = name in present and not merging.is_same(server, present[name])
    return merging.free_name(name, present) if is_taken else name


def doubts(entry: Mapping[str, Any], path: str | None) -> Iterator[str]:
    """Write what looks wrong in a server: its program is not on this `PATH`, or a value is still to be filled in."""
    program = entry.get("command")
    if isinstance(program, str) and _is_missing(program, path):
        yield f"`{program}` is not a program on this computer."
    for _, name in blanks(entry):
        yield f"{name} {IS_BLANK}; replace it before you keep the server, or run `search-mcp secret` afterwards."


def _is_missing(program: str, path: str | None) -> bool:
    """Return whether a program is not found; one with a placeholder or a relative path may be."""
    place = PurePath(program)
    is_relative = len(place.parts) > 1 and not place.is_absolute()
    return (
        not is_relative and not program.startswith("~") and "$" not in program and not shutil.which(program, path=path)
    )
