"""Whether AI clients can live with what there is: how long they wait, how long names may be, how many tools.

Knows what `profiles` says of the clients, and nothing else of them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.profiles import Audience, Profile
from search_mcp.catalog.shown_names import ShownNames
from search_mcp.config.schema import ServerConfig
from search_mcp.gateway.own_tool_definitions import definitions
from search_mcp.model.servers import Status

SLOW_SECONDS = 5.0
"""Longer than this is a slow start."""
EXAMPLES = 3
"""How many names a remark shows of those it is about."""


@dataclass(frozen=True)
class Remark:
    """What a client makes of something, and what to do about it."""

    text: str
    is_fatal: bool = False


def of_start(status: Status) -> float | None:
    """Give the seconds that a server took to start, if that is long for a person who waits for a call."""
    seconds = status.start_seconds
    return seconds if seconds is not None and seconds > SLOW_SECONDS else None


def of_prefix(server: ServerConfig) -> str | None:
    """Report a prefix without a readable character."""
    if not server.effective_prefix or re.search("[A-Za-z0-9_.-]", server.effective_prefix):
        return None
    return (
        'its name has no character that tools\' names may have, so "_" stands for each; '
        'give it a "prefix" of letters from a to z'
    )


def of_catalog(catalog: Catalog, audience: Audience, client: Profile) -> Iterator[Remark]:
    """Say what a client will not take of the list it is shown, and what is done to its names.

    `audience` has the user's settings over the client's own, which `client` has as they are.
    """
    shown = ShownNames(catalog.tools(), audience.profile)
    spelt = {item.name: shown[item] for item in catalog.tools()}
    if too_long := [name for name in spelt.values() if len(name) > client.max_length]:
        yield Remark(
            f"{client.name} refuses names over {client.max_length} characters: {_enumerated(too_long)}; "
            'leave "maxNameLength" to "auto"',
            is_fatal=True,
        )
    if shortened := [f"{name} as {spelt[name]}" for name in _shortened(catalog, audience.profile)]:
        yield Remark(
            f"names over {audience.profile.max_length} characters are shown shortened: {_enumerated(shortened)}; "
            'give the server a shorter "prefix", or the tool another name with "rename"'
        )
    listed = _listed(catalog, audience.profile)
    if client.most_tools is not None and listed > client.most_tools:
        yield Remark(
            f"{client.name} takes {client.most_tools} tools in all, and {listed} are listed; "
            'write "listing": "search" into the settings, or leave some out with "tools": {"deny": [...]}',
            is_fatal=True,
        )


def _shortened(catalog: Catalog, profile: Profile) -> list[str]:
    return [
        item.name for item in catalog.tools() if len(profile.shown_name(item.prefix, item.own)) > profile.max_length
    ]


def _listed(catalog: Catalog, profile: Profile) -> int:
    items = catalog.tools()
    shown = [item for item in items if profile.listing != "search" or item.pinned]
    is_whole = profile.reads_later_lists is not False
    return len(shown) + len(definitions(profile.listing, is_whole=is_whole, call_tool=profile.call_tool))


def _enumerated(examples: Sequence[str]) -> str:
    more = len(examples) - EXAMPLES
    return ", ".join([*examples[:EXAMPLES], *([f"and {more} more"] if more > 0 else [])])
