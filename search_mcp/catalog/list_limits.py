"""How much of a server's lists is taken; the rest is left out and reported.

A server's lists are cut as one: first the tools, then the prompts, the templates and the resources, each in the
server's order. So what is taken does not depend on which list was read first. Pure.
"""

from collections.abc import Mapping

from search_mcp.model.names import Kind
from search_mcp.model.servers import ServerList
from search_mcp.wire.structs import Fields, replace

MOST_ENTRIES = 5_000
"""Definitions that are taken of one server, all lists together."""
MOST_BYTES = 16 << 20
"""Bytes of definitions that are taken of one server, all lists together."""
LARGEST_ENTRY = 1 << 20
"""Bytes of one definition: the largest that real servers have are a tenth of that."""
LONGEST_NAME = 1_000
"""Characters of a tool's or a prompt's name."""
# "Tool names SHOULD be between 1 and 128 characters in length (inclusive)." (2025-11-25)
LONGEST_URI = 8_192
"""Characters of a URI or a template."""
# "It is RECOMMENDED that all senders and recipients support, at a minimum, URIs with lengths of 8000 octets in
# protocol elements." (RFC 9110, section 4.1)
MOST_REMARKS = 20
"""Definitions of one list that are reported one by one as left out; of the others only the number is."""
ORDER = (Kind.TOOLS, Kind.PROMPTS, Kind.TEMPLATES, Kind.RESOURCES)
"""Resources come last: a server need not list them all, and a template or a scheme still finds them."""
_LONGEST_SHOWN = 100

LONGEST_KEY: Mapping[Kind, int] = {
    Kind.TOOLS: LONGEST_NAME,
    Kind.PROMPTS: LONGEST_NAME,
    Kind.TEMPLATES: LONGEST_URI,
    Kind.RESOURCES: LONGEST_URI,
}


def size(definition: Fields) -> int:
    """Bytes of a definition."""
    return sum(len(key) + len(memoryview(raw)) for key, raw in definition.items())


def shown(key: str) -> str:
    """Quote a name or URI for a report, cut to a readable length."""
    return repr(key if len(key) <= _LONGEST_SHOWN else f"{key[:_LONGEST_SHOWN]}…")


def cut_remark(kind: Kind, taken: int, left_out: str) -> str:
    """Say that a list was cut."""
    limits = f"the lists of a server may have {MOST_ENTRIES:,} entries and {MOST_BYTES >> 20} MiB together"
    return f"{kind.value}: the first {taken:,} are taken and {left_out} left out: {limits}"


def cut(pages: Mapping[Kind, ServerList]) -> dict[Kind, ServerList]:
    """Cut the lists of one server to what all of them together may hold."""
    entries_left, bytes_left = MOST_ENTRIES, MOST_BYTES
    taken: dict[Kind, ServerList] = {}
    for kind in ORDER:
        if kind not in pages:
            continue
        page, count = pages[kind], 0
        for entry in page.entries:
            bytes_left -= size(entry.fields)
            if count >= entries_left or bytes_left < 0:
                remark = cut_remark(kind, count, f"the other {len(page.entries) - count:,} are")
                page = replace(page, entries=page.entries[:count], rejected=(*page.rejected, remark))
                break
            count += 1
        entries_left, bytes_left = entries_left - count, max(0, bytes_left)
        taken[kind] = page
    return taken
