"""Our own tools: what a model uses to find, read and reach all the others.

Decides their definitions and their answers: text for the model, and the same as `structuredContent`.
They have no dot in their names, so no backend's tool can be mistaken for one. `call_tool` and
`call_read_only_tool` are only defined here; carrying them out is the router's.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from search_mcp.catalog.brief import brief
from search_mcp.catalog.items import Item, fold
from search_mcp.catalog.list_limits import size
from search_mcp.catalog.profiles import Audience, without_registration
from search_mcp.catalog.rendering import compact_definition, full_definition
from search_mcp.catalog.shown_names import ShownNames, Spellings
from search_mcp.catalog.signature import signature
from search_mcp.gateway.finding import Finder, load_finder
from search_mcp.gateway.own_tool_definitions import (
    DEFAULT_LIMIT,
    DESCRIBE,
    DESCRIPTION_DETAILS,
    LIST_SERVERS,
    MOST_DESCRIBED,
    MOST_RESULTS,
    SEARCH,
    SEARCH_DETAILS,
    existing,
)
from search_mcp.model.errors import short_reason
from search_mcp.model.names import Kind, State
from search_mcp.model.servers import ServerFacts, Status
from search_mcp.model.similar import nearest
from search_mcp.model.visible import indented, one_line, quoted, visible_json
from search_mcp.wire import payload, structs
from search_mcp.wire.structs import Fields, Raw, Struct

if TYPE_CHECKING:
    from search_mcp.search import Explanation
ANSWER_LENGTH = 20_000
"""Characters an answer may have; what does not fit is left out and said to be."""
MOST_SUGGESTED_FOR = 5
"""Unknown names of one answer that are compared with all there are."""
SCHEMA_BYTES = 1 << 20
"""Bytes of schemas that are read for one answer: more than fifty of the longest that real servers have."""
SERVER_INSTRUCTIONS_LENGTH = 1500
"""Characters of one server's own instructions in the list of servers."""
INSTRUCTIONS_LENGTH = 12_000
"""Characters of all servers' instructions there."""
MOST_DOWN = 5
"""Servers an answer names when it says which do not run."""
LONGEST_NAME = 64
LONGEST_REASON = 120
"""Characters of the reason why one does not run."""
NOTHING_CLEAR = "No tool of the connected servers clearly does this"
NOTHING_FITS = f"{NOTHING_CLEAR}; nearest:"
_RUNNING = frozenset({State.READY, State.REMEMBERED, State.STOPPED, State.STOPPING, State.DISABLED})
"""States of servers whose tools can be called, or that the user switched off."""
MOST_NAMED = 50
"""Servers an answer names when it says which there are."""


class ArgumentError(Exception):
    """A model gave one of our tools arguments it does not take; the text says what to give instead."""


class _Result(Struct, frozen=True):
    """One tool in an answer."""

    name: str
    """With its parameters, if there is no schema."""
    hint: str = ""
    description: str = ""
    schema: Raw | None = None

    @property
    def heading(self) -> str:
        return f"{self.name} [{self.hint}]" if self.hint else self.name

    def text(self, position: int) -> str:
        lines = [f"{position}. {self.heading}"]
        if self.description:
            # Only a whole description has more than one line; none of them may pass for the next result.
            is_long = len(self.description.splitlines()) > 1
            lines.append(indented(self.description, "   | " if is_long else "   "))
        if self.schema is not None:
            lines.append(f"   inputSchema: {_on_one_line(self.schema)}")
        return "\n".join(lines)

    def data(self) -> str | dict[str, Any]:
        # A string says what an object with three keys says, and is no longer than the text; a double quote would
        # be escaped in it.
        if self.schema is None:
            return (f"{self.heading}: {self.description}" if self.description else self.heading).replace('"', "'")
        hint = {"hint": self.hint} if self.hint else {}
        return {"name": self.name, **hint, "description": self.description, "inputSchema": self.schema}


def _on_one_line(json: Raw) -> str:
    """Write a server's JSON, in which line breaks outside of strings are white space."""
    return visible_json(bytes(json).translate(_BREAKS_TO_SPACES).decode("utf-8", "replace"))


_BREAKS_TO_SPACES = bytes.maketrans(b"\r\n", b"  ")


_Answer: TypeAlias = tuple[str, dict[str, Any]]
"""What one of our tools answers: the text for the model, and the same as data."""


class OwnTools:
    """Our tools over one catalogue."""

    def __init__(
        self,
        spellings: Spellings,
        facts: Mapping[str, ServerFacts],
        statuses: Callable[[], Iterable[Status]],
        description_length: int,
        finder: Callable[[], Finder] | None = None,
    ) -> None:
        self._load_finder = finder or (lambda: load_finder(self._catalog, lambda: self._facts, self._statuses))
        self._spellings, self._catalog = spellings, spellings.catalog
        self._facts, self._statuses = facts, statuses
        self._description_length = description_length
        self.configuration_error: str | None = None
        """Why the last edit of the configuration is not in effect, if it is not."""
        self._tools: Mapping[str, Callable[[Mapping[str, Any], ShownNames, Audience], _Answer]] = {
            SEARCH: self._search,
            DESCRIBE: self._describe,
            LIST_SERVERS: self._list_servers,
        }

    def configure(self, facts: Mapping[str, ServerFacts], description_length: int) -> None:
        """Go over to another configuration."""
        self._facts = facts
        self._description_length = description_length

    @cached_property
    def _index(self) -> Finder:
        return self._load_finder()

    def advance(self) -> bool:
        """Go on bringing the search up to the catalogue, for some milliseconds; return whether more is due.

        Called between other work, so that no call waits for a large index.
        """
        return self._index.advance()

    def run(self, name: str, arguments: Mapping[str, Any], audience: Audience) -> Raw:
        """Carry out one of our tools but those for calling by name; wrong arguments are a result a model can act on."""
        shown = self._spellings.of(Kind.TOOLS, audience.profile)
        try:
            text, structured = self._tools[name](arguments, shown, audience)
        except ArgumentError as exc:
            return payload.encode({"content": [{"type": "text", "text": str(exc)}], "isError": True})
        return payload.encode({"content": [{"type": "text", "text": text}], "structuredContent": structured})

    # search_tools

    def _search(self, arguments: Mapping[str, Any], shown: ShownNames, audience: Audience) -> _Answer:
        if "query" not in arguments and arguments.keys() - {"limit", "server", "detail"}:
            raise ArgumentError(f"query is missing{_instead(arguments, 'query')}")
        query = _argument(arguments, "query", str, "")
        limit = max(1, min(_argument(arguments, "limit", int, DEFAULT_LIMIT), MOST_RESULTS))
        detail = _argument(arguments, "detail", str, "signature")
        if detail not in SEARCH_DETAILS:
            raise ArgumentError(f"detail must be one of {', '.join(SEARCH_DETAILS)}")
        statuses = list(self._statuses())
        servers = [status.server for status in statuses]
        server = _server(_argument(arguments, "server", str, ""), servers)
        missing = self._missing(statuses, server)
        found, fits = self.found(query, limit, server)
        # As they are by now: a list may have changed while it was indexed.
        found = [item for each in found if (item := shown.spelled(each.name)) is not None]
        if not found:
            return self._nothing_found(query, server, servers, missing, shown)
        kept, left_out = _within(self._results(found, shown, detail), len(found))
        lines = [result.text(position) for position, result in enumerate(kept, 1)]
        body: dict[str, Any] = {"results": [result.data() for result in kept]}
        if not fits:
            lines.insert(0, NOTHING_FITS)
            body = {"note": NOTHING_CLEAR, **body}
        if left_out:
            lines.append(f"{left_out} more left out: too long. Narrow the query, or use {DESCRIBE}.")
            body["leftOut"] = left_out
        if missing:
            lines.append(f"Not running: {missing}")
            body["notRunning"] = missing
        return "\n".join(lines), body

    def found(self, query: str, limit: int, server: str | None) -> tuple[list[Item], bool]:
        """Rank tools for a query; return them, and whether the first clearly does what is asked for.

        An empty query lists them in order.
        """
        if not query.strip():
            return [item for item in self._for_models() if server in (None, item.server)][:limit], True
        return self._index.search(query, limit, server)

    def _for_models(self) -> list[Item]:
        return [item for item in self._catalog.tools() if item.is_for_models]

    def explained(self, query: str, limit: int, server: str | None) -> "tuple[list[tuple[Item, Explanation]], bool]":
        """Rank tools for a query, each with its explanation; and tell whether the first clearly does it."""
        found, fits = self._index.search(query, limit, server)
        explained = [(item, self._index.explain(query, item)) for item in found]
        return [(item, why) for item, why in explained if why is not None], fits

    def _results(self, found: Iterable[Item], shown: ShownNames, detail: str) -> Iterator[_Result]:
        """Write tools one by one; where their schemas are too long to be read all, the last without parameters."""
        room = SCHEMA_BYTES
        for item in found:
            room -= len(memoryview(item.fields.get("inputSchema", structs.EMPTY)))
            if room < 0 and detail != "name":
                yield _Result(f"{shown[item]}(…)", item.hint, brief(item.description, self._description_length))
            else:
                yield self._result(item, shown[item], detail)

    def _result(self, item: Item, name: str, detail: str) -> _Result:
        if detail == "name":
            return _Result(name, item.hint)
        if detail == "full":
            schema, description = item.fields["inputSchema"], item.description
            if len(memoryview(schema)) + len(description) <= ANSWER_LENGTH:
                return _Result(name, item.hint, description, schema)
        short = brief(item.description, self._description_length)
        return _Result(signature(name, item.input_schema), item.hint, short)

    def _missing(self, statuses: Iterable[Status], server: str | None) -> str:
        """Name the servers that do not run, with the reason: all of them, or the one that is searched."""
        if server is None:
            down = [status for status in statuses if self._is_down(status)]
        else:
            asked = [status for status in statuses if status.server == server]
            down = [status for status in asked if status.state is State.DISABLED or self._is_down(status)]
        why = _reason if server is None else _whole_reason
        named = [f"{status.server[:LONGEST_NAME]} ({why(status)})" for status in down[:MOST_DOWN]]
        return ", ".join([*named, *([f"{len(down) - MOST_DOWN} more"] if len(down) > MOST_DOWN else [])])

    def _is_down(self, status: Status) -> bool:
        if status.state is State.STARTING:
            return not self._catalog.is_known(status.server, Kind.TOOLS)
        return status.state not in _RUNNING or (status.state is State.STOPPED and status.reason is not None)

    def _nothing_found(
        self, query: str, server: str | None, servers: Sequence[str], missing: str, shown: ShownNames
    ) -> _Answer:
        names = [shown[item] for item in self._for_models() if server in (None, item.server)]
        close = nearest(query, names)
        body: dict[str, Any] = {"results": [], "nearest": close, "servers": servers[:MOST_NAMED]}
        if missing:
            body["notRunning"] = missing
        if missing and server is not None:
            return f"Not running: {missing}. Servers: {_enumerated(servers)}.", body
        text = f"No tool matches {query[:200]!r}." if query.strip() else "There are no tools."
        if close:
            text += f" Nearest names: {', '.join(close)}."
        text += f" Servers: {_enumerated(servers)}."
        return f"{text}\nNot running: {missing}" if missing else text, body

    # describe_tools

    def _describe(self, arguments: Mapping[str, Any], shown: ShownNames, audience: Audience) -> _Answer:
        names = arguments.get("names")
        if isinstance(names, str):
            names = [names]
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise ArgumentError(f"names must be a list of tool names{_instead(arguments, 'names')}")
        detail = _argument(arguments, "detail", str, "compact")
        if detail not in DESCRIPTION_DETAILS:
            raise ArgumentError(f"detail must be one of {', '.join(DESCRIPTION_DETAILS)}")
        ours = existing(audience.profile.call_tool)
        described: list[Fields] = []
        unknown: list[dict[str, Any]] = []
        left_out: list[str] = []
        room = SCHEMA_BYTES
        for name in names[:MOST_DESCRIBED]:
            item = shown.find(name)
            own = name if name in ours else without_registration(name) or ""
            if item is not None and item.is_for_models:
                room -= size(item.fields)
                if room < 0 and described:
                    room += size(item.fields)
                    left_out.append(name)
                    continue
                write = full_definition if detail == "full" else compact_definition
                described.append(write(item, shown[item], audience))
            elif own in ours:
                described.append(ours[own])
            else:
                unknown.append({"name": name, **self._why_unknown(name, shown, len(unknown))})
        body: dict[str, Any] = {"tools": described}
        if unknown:
            body["unknown"] = unknown
        left_out += names[MOST_DESCRIBED:]
        if left_out:
            body["leftOut"] = left_out
        return _on_one_line(payload.encode(body)), body

    def _why_unknown(self, name: str, shown: ShownNames, position: int) -> dict[str, Any]:
        """Say why a call of it is refused; else suggest others, and say if the server is down whose prefix it carries.

        `position`: how many are unknown before it.
        """
        if (refusal := self._catalog.why_hidden(name)) is not None:
            return {"reason": str(refusal)}
        near = shown.near(name) if position < MOST_SUGGESTED_FOR else []
        return {"suggestions": near, **self._why_down(name)}

    def _why_down(self, name: str) -> dict[str, Any]:
        for status in self._statuses():
            if fold(name).startswith(f"{fold(status.server)}_") and (
                status.state is State.DISABLED or self._is_down(status)
            ):
                return {"notRunning": f"{status.server[:LONGEST_NAME]} ({_reason(status)})"}
        return {}

    # list_servers

    def _list_servers(self, _arguments: Mapping[str, Any], _shown: ShownNames, _audience: Audience) -> _Answer:
        servers: list[dict[str, Any]] = []
        lines: list[str] = []
        tools = Counter(item.server for item in self._catalog.tools())
        room = INSTRUCTIONS_LENGTH
        for status in self._statuses():
            server: dict[str, Any] = {"name": status.server, "state": status.state, "tools": tools[status.server]}
            if self._facts[status.server].description:
                server["description"] = self._facts[status.server].description
            if status.reason is not None:
                server["lastError"] = status.reason
            elif status.state is State.STOPPED:
                server["note"] = "not started yet: a call starts it"
            if status.command is not None:
                server["command"] = status.command
            if self._facts[status.server].read_only:
                server["readOnly"] = True
                server["leftOut"] = len(self._catalog.hidden_by_read_only(status.server))
            changes = self._changes(status)
            server.update(changes)
            own = (
                _trimmed(status.capabilities.instructions, min(room, SERVER_INSTRUCTIONS_LENGTH))
                if status.capabilities
                else ""
            )
            if own:
                server["instructions"] = own
                room -= len(own)
            servers.append(server)
            lines.append(_server_text(server, self._changes_text(changes, status.server)))
        lines = lines or ["No servers are configured."]
        if self.configuration_error is None:
            return "\n".join(lines), {"servers": servers}
        broken = f"The last edit of the configuration has no effect: {self.configuration_error}"
        return "\n".join([broken, *lines]), {"servers": servers, "configurationError": self.configuration_error}

    def _changes(self, status: Status) -> dict[str, Any]:
        """Say what of a server is not as when first seen; of what is new only the number: names are its own words."""
        name, found = status.server, dict[str, Any]()
        for kind, noun in ((Kind.TOOLS, "Tools"), (Kind.PROMPTS, "Prompts")):
            if changed := sorted(self._catalog.changed(name, kind)):
                found[f"changed{noun}"] = changed
            if new := self._catalog.new(name, kind):
                found[f"new{noun}"] = len(new)
        if status.is_about_changed:
            found["changedInstructions"] = True
        return {**found, "withheld": self._catalog.is_pinned(name)} if found else {}

    def _changes_text(self, changes: Mapping[str, Any], server: str) -> str:
        """Write that as a sentence."""
        if not changes:
            return ""
        changed: list[str] = []
        new: list[str] = []
        count = 0
        for noun in ("Tool", "Prompt"):
            if keys := changes.get(f"changed{noun}s"):
                changed.append(
                    f"{noun.lower()}{'s' if len(keys) > 1 else ''} {', '.join(map(_key, keys[:MOST_NAMED]))}"
                )
            if number := changes.get(f"new{noun}s", 0):
                new.append(f"{number} {noun.lower()}{'s' if number > 1 else ''}")
            count += len(keys or ()) + number
        if "changedInstructions" in changes:
            changed.append("title or instructions")
            count += 2
        return self._catalog.sentence_about(server, changed, new, count, "the user accepts")


def _trimmed(text: str, length: int) -> str:
    """Cut a server's instructions at a word."""
    text = text[: 2 * length].strip()
    if len(text) <= length:
        return text
    head = text[: max(0, length - 1)]
    return f"{head.rpartition(' ')[0] or head}…" if head else ""


def _server_text(server: Mapping[str, Any], changes: str = "") -> str:
    """Write all that is said of a server in one line, whatever it says itself."""
    text = f"{server['name']}: {server['state']}, {server['tools']} tool{'' if server['tools'] == 1 else 's'}"
    if "description" in server:
        text += f"; {server['description']}"
    if "lastError" in server:
        text += f" ({short_reason(server['lastError'])})"
    if "command" in server:
        text += f"; its command: {server['command']}"
    if "note" in server:
        text += f" ({server['note']})"
    if "readOnly" in server:
        text += f"; read-only by the user's configuration, {server['leftOut']} other tools left out"
    if changes:
        text += f"; {changes}"
    if "instructions" in server:
        text += f"; its instructions: {quoted(' '.join(server['instructions'].split()), INSTRUCTIONS_LENGTH)}"
    return one_line(text)


def _key(tool: str) -> str:
    """Write a server's own name for a tool, which may be any text."""
    return tool if _PLAIN_KEY.fullmatch(tool) else quoted(tool, LONGEST_NAME)


_PLAIN_KEY = re.compile(r"[A-Za-z0-9_./-]{1,128}")


def _argument(arguments: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    value = arguments.get(name)
    if value is None:
        return default
    if kind is int and isinstance(value, float | str):
        # Models write 5.0 and "5"; both mean 5.
        try:
            return int(float(value))
        except (ValueError, OverflowError):
            raise ArgumentError(f"{name} must be a whole number") from None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ArgumentError(f"{name} must be a {'whole number' if kind is int else 'string'}")
    return value


def _server(name: str, servers: Sequence[str]) -> str | None:
    """Find the server that is meant; None means all.

    Raises:
        ArgumentError: there is none.
    """
    if not name or name in servers:
        return name or None
    alike = [server for server in servers if server.casefold() == name.strip().casefold()]
    if len(alike) != 1:
        raise ArgumentError(f"There is no server {name[:200]!r}. Servers: {_enumerated(servers)}")
    return alike[0]


def _enumerated(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join([*names[:MOST_NAMED], *([f"… {more} more"] if more > 0 else [])]) or "none"


def _instead(arguments: Mapping[str, Any], wanted: str) -> str:
    """Name the arguments that were given in the place of another."""
    if wanted in arguments or not arguments:
        return ""
    return f"; got {_enumerated([repr(name[:LONGEST_NAME]) for name in sorted(arguments)])}"


def _within(results: Iterable[_Result], count: int) -> tuple[list[_Result], int]:
    """Keep as many results as an answer may hold, at least one; return them and how many were left out."""
    kept: list[_Result] = []
    length = 0
    for result in results:
        length += len(payload.encode_bytes(result.data()))
        if kept and length > ANSWER_LENGTH:
            break
        kept.append(result)
    return kept, count - len(kept)


def _whole_reason(status: Status) -> str:
    """Say the same with what the server wrote itself, to whoever asked for this very server."""
    return short_reason(status.reason) if status.reason and status.state is not State.STARTING else _reason(status)


def _reason(status: Status) -> str:
    """Say in one bounded line why a server does not run."""
    if status.state is State.STARTING:
        return "still starting, search again in a few seconds"
    # Without what the server wrote itself: text of an untrusted program does not belong into every answer.
    what, _, _ = (status.reason or status.state).partition("; its last words: ")
    reason = one_line(what[: 2 * LONGEST_REASON]).rstrip(".")
    return reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 1]}…"
