"""Reading of the capabilities that a server declares when it is opened."""

import logging

from search_mcp.dialects import names
from search_mcp.model.names import Era, Kind
from search_mcp.model.servers import ServerCapabilities
from search_mcp.wire import payload
from search_mcp.wire.payload import SMALL_BYTES
from search_mcp.wire.structs import UNSET, Fields, Raw

log = logging.getLogger(__name__)

LONGEST_INSTRUCTIONS = 65_536
LONGEST_TITLE = 1_000
"""Most characters that are kept of a server's instructions and title; fewer of them are shown."""


def read_server_capabilities(result: Fields, revision: str, era: Era) -> ServerCapabilities:
    """Read the capabilities in an opening result; malformed members are ignored."""
    declared = result.get("capabilities")
    is_too_large = declared is not None and len(declared) > SMALL_BYTES
    if is_too_large:
        log.warning("! a server's capabilities of more than %d bytes are ignored", SMALL_BYTES)
    # A copy: views would keep the whole answer, of which the rest may be megabytes, as long as the connection.
    capabilities = {} if is_too_large or declared is None else payload.object_or_empty(declared.copy())
    nested = {name: payload.object_or_empty(raw) for name, raw in capabilities.items()}
    info = result.get("serverInfo")
    if info is None:
        info = payload.members(result.get(names.META), names.SERVER_INFO_KEY).get(names.SERVER_INFO_KEY)
    about = payload.members(info, "title", "name")
    kinds = frozenset(kind for kind, capability in names.CAPABILITY.items() if capability in capabilities)
    # "extensions?: { [key: string]: JSONObject }": one other value may make a client refuse all capabilities.
    extensions = {name: raw for name, raw in nested.get("extensions", {}).items() if memoryview(raw)[0] == ord("{")}
    skills = extensions.get(names.SKILLS_EXTENSION)
    return ServerCapabilities(
        revision=revision,
        era=era,
        # A server that declares no lists at all is asked for all of them: simple servers forget to declare.
        # "Clients issue `skills/list` and `skills/get` only after observing the server's declaration."
        kinds=(kinds or frozenset(names.CAPABILITY)) | ({Kind.SKILLS} if skills is not None else frozenset()),
        logging="logging" in capabilities,
        completions="completions" in capabilities,
        subscribe=nested.get("resources", {}).get("subscribe") == Raw(b"true"),
        instructions=(payload.string(result.get("instructions")) or "")[:LONGEST_INSTRUCTIONS],
        title=(payload.string(about.get("title")) or payload.string(about.get("name")) or "")[:LONGEST_TITLE],
        extensions=extensions,
        tasks=capabilities.get("tasks", UNSET),
        has_tasks="tasks" in capabilities or names.TASKS_EXTENSION in extensions,
        notifies=frozenset(
            kind
            for kind, capability in names.CAPABILITY.items()
            if nested.get(capability, {}).get("listChanged") == Raw(b"true")
        ),
        reads_directories=payload.members(skills, names.DIRECTORY_READ).get(names.DIRECTORY_READ) == Raw(b"true"),
    )
