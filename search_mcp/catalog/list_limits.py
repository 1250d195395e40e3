"""Limits for the lists of a server; entries beyond them are left out and reported.

The limits are for all lists of a server together: tools first, then prompts, skills, templates and resources, each in
the server's order, so the result does not depend on the order in which the lists were read. Pure.
"""

from collections.abc import Mapping

from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry, ServerList
from search_mcp.wire.payload import LARGE_BYTES
from search_mcp.wire.structs import Fields, replace

MOST_ENTRIES = 5_000
"""Most definitions of one server, in all lists together."""
MOST_BYTES = 16 << 20
"""Most bytes of definitions of one server, in all lists together."""
LARGEST_ENTRY = LARGE_BYTES
"""Most bytes of one definition; the largest known is a tenth of that."""
FEW_ENTRIES = 500
"""Most definitions of all servers that are handled in one step, in five to ten milliseconds."""
MOST_MEMBERS = 1_000
"""Most members of one definition, not counting those inside its members; the specification has about ten."""
MEMBER_BYTES = 64
"""Bytes that each member counts more, for the objects that hold it: so all lists have at most 250,000 members."""
LONGEST_NAME = 1_000
"""Most characters of the name of a tool or a prompt."""
# "Tool names SHOULD be between 1 and 128 characters in length (inclusive)." (2025-11-25)
LONGEST_URI = 8_192
"""Most characters of a URI or a template."""
# "It is RECOMMENDED that all senders and recipients support, at a minimum, URIs with lengths of 8000 octets in
# protocol elements." (RFC 9110, section 4.1)
MOST_REMARKS = 20
"""Most left-out definitions of one list with remarks of their own; the others are counted."""
ORDER = (Kind.TOOLS, Kind.PROMPTS, Kind.SKILLS, Kind.TEMPLATES, Kind.RESOURCES)
"""Order of importance. Resources are last: they can be read without being listed."""

LONGEST_KEY: Mapping[Kind, int] = {
    Kind.TOOLS: LONGEST_NAME,
    Kind.PROMPTS: LONGEST_NAME,
    Kind.TEMPLATES: LONGEST_URI,
    Kind.RESOURCES: LONGEST_URI,
    Kind.SKILLS: LONGEST_URI,
}


def size(definition: Fields) -> int:
    """Return the size of a definition in bytes."""
    return sum(len(key) + len(raw) for key, raw in definition.items())


def cost(entry: Entry) -> int:
    """Return what a definition counts, in bytes; cached in the entry, because the lists are cut at each change."""
    known: int | None = entry.__dict__.get("cost")
    if known is None:
        known = entry.__dict__["cost"] = size(entry.fields) + MEMBER_BYTES * len(entry.fields)
    return known


def cut_remark(kind: Kind, taken: int) -> str:
    """Write the remark that a list was shortened."""
    limits = f"the lists of a server may have {MOST_ENTRIES:,} entries and {MOST_BYTES >> 20} MiB together"
    return f"{kind.value}: the first {taken:,} are taken and the others are left out: {limits}"


def cut(pages: Mapping[Kind, ServerList]) -> dict[Kind, ServerList]:
    """Shorten the lists of one server to the limits for all lists together."""
    entries_left, bytes_left = MOST_ENTRIES, MOST_BYTES
    taken: dict[Kind, ServerList] = {}
    for kind in ORDER:
        if kind not in pages:
            continue
        page, count = pages[kind], 0
        for entry in page.entries:
            bytes_left -= cost(entry)
            if count >= entries_left or bytes_left < 0:
                page = replace(page, entries=page.entries[:count], rejected=(*page.rejected, cut_remark(kind, count)))
                break
            count += 1
        entries_left, bytes_left = entries_left - count, max(0, bytes_left)
        taken[kind] = page
    return taken
