"""What both eras' child sides do alike: write a call's parameters, read a list's pages.

Decides what in a backend's list can be used at all; whether a client is shown it is decided elsewhere.
"""

import logging
from collections.abc import Awaitable, Callable

from search_mcp import jsonrpc
from search_mcp.dialects import asking, names
from search_mcp.dialects.params import is_wanted
from search_mcp.errors import BackendAnswered
from search_mcp.jsonrpc import EMPTY, UNSET, ErrorObject, Fields, Raw
from search_mcp.model import Action, Call, Entry, Era, Freshness, Kind, Offer, Outcome, Page, Result

log = logging.getLogger(__name__)

MAX_PAGES = 1000
"""A backend that never stops giving cursors is cut off here."""


def targeted(call: Call, target: str) -> dict[str, object]:
    """Write a call's parameters with the backend's own name in its place."""
    if call.action in names.TARGET_KEY:
        return {**call.params, names.TARGET_KEY[call.action]: target}
    if call.action is Action.LIST_TASKS:
        return {**call.params}
    key = "name" if call.action is Action.COMPLETE_PROMPT else "uri"
    reference = {**jsonrpc.fields(call.params["ref"]), key: target}
    return {**call.params, "ref": reference}


def outcome(server: str, answer: Raw | ErrorObject) -> Outcome:
    """Read an answer as far as every era reads it alike."""
    if isinstance(answer, ErrorObject):
        error = asking.admitted_error(server, answer)
        return BackendAnswered(error) if isinstance(error, ErrorObject) else error
    if memoryview(answer)[0] != ord("{"):
        # "The `result` MAY follow any JSON object structure": clients drop anything else, and wait.
        return BackendAnswered(ErrorObject(jsonrpc.INTERNAL_ERROR, "its result is not an object"))
    return Result(answer)


def read_offer(result: Fields, revision: str, era: Era) -> Offer:
    """Read what a server says of itself, leniently."""
    capabilities = jsonrpc.object_or_empty(result.get("capabilities"))
    nested = {name: jsonrpc.object_or_empty(raw) for name, raw in capabilities.items()}
    info = result.get("serverInfo")
    if info is None:
        info = jsonrpc.object_or_empty(result.get(names.META)).get(names.SERVER_INFO_KEY)
    about = jsonrpc.object_or_empty(info)
    return Offer(
        revision=revision,
        era=era,
        # A server that offers nothing at all is asked for its lists all the same: toy servers forget.
        kinds=frozenset(kind for kind in Kind if names.CAPABILITY[kind] in capabilities) or frozenset(Kind),
        logging="logging" in capabilities,
        completions="completions" in capabilities,
        subscribe=nested.get("resources", {}).get("subscribe") == Raw(b"true"),
        instructions=jsonrpc.string(result.get("instructions")) or "",
        title=jsonrpc.string(about.get("title")) or jsonrpc.string(about.get("name")) or "",
        extensions=nested.get("extensions", {}),
        tasks=capabilities.get("tasks", UNSET),
        has_tasks="tasks" in capabilities or names.TASKS_EXTENSION in nested.get("extensions", {}),
        notifies=frozenset(
            kind for kind in Kind if nested.get(names.CAPABILITY[kind], {}).get("listChanged") == Raw(b"true")
        ),
    )


async def read_pages(kind: Kind, ask: Callable[[str, Fields], Awaitable[Raw]]) -> Page:
    """Read every page of one list; what cannot be read is left out, by name, and costs nothing else.

    Raises:
        ValueError: a page is not a list result.
    """
    entries: dict[str, Entry] = {}
    rejected: list[str] = []
    freshness: list[Freshness] = []
    cursor: Raw | None = None
    seen: set[bytes] = set()
    for _ in range(MAX_PAGES):
        result = jsonrpc.fields(await ask(names.LIST_METHOD[kind], {} if cursor is None else {"cursor": cursor}))
        _read_entries(kind, result.get(names.ITEMS_KEY[kind], EMPTY), entries, rejected)
        freshness.append(_freshness(result))
        cursor = result.get("nextCursor")
        # "Don't make any determination based on cursor value other than whether a non-null value was provided"
        if cursor is None or bytes(cursor) == b"null":
            break
        if bytes(cursor) in seen:
            rejected.append("the list repeats a cursor; the rest of it is left out")
            break
        seen.add(bytes(cursor))
    else:
        rejected.append(f"the list has more than {MAX_PAGES:,} pages; the rest of it is left out")
    shortest = Freshness(min(fresh.ttl_ms for fresh in freshness), all(fresh.public for fresh in freshness))
    return Page(tuple(entries.values()), shortest, tuple(rejected))


def _read_entries(kind: Kind, raw: Raw, entries: dict[str, Entry], rejected: list[str]) -> None:
    key_name = names.ENTRY_KEY[kind]
    for position, item in enumerate(jsonrpc.items(raw)):
        try:
            definition = jsonrpc.fields(item)
        except ValueError:
            rejected.append(f"{kind.value}[{position}] is not an object")
            continue
        key = jsonrpc.string(definition.get(key_name))
        if not key:
            rejected.append(f"{kind.value}[{position}] has no {key_name}")
        elif key in entries:
            rejected.append(f"{kind.value}[{position}] repeats the {key_name} {key!r}")
        else:
            entries[key] = Entry(key, definition)


def _freshness(result: Fields) -> Freshness:
    ttl = jsonrpc.value(result.get(names.TTL, Raw(b"0")))
    public = jsonrpc.string(result.get(names.CACHE_SCOPE)) == "public"
    # "If `ttlMs` is negative, clients SHOULD ignore it and treat it as `0`."
    return Freshness(max(0, ttl) if isinstance(ttl, int) else 0, public)


def talked_to(calls: dict[Call, None], message: Fields) -> Call | None:
    """The call a log message most likely belongs to: the newest that wants it, else the newest."""
    newest_first = list(reversed(calls.keys()))
    wanting = (call for call in newest_first if is_wanted(message, call.caller.log_level))
    return next(wanting, newest_first[0] if newest_first else None)
