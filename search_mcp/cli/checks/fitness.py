"""Remarks on limits of AI clients: their waiting time, the length of names, and the number of tools.

Knows nothing about clients besides their profiles.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.profiles import Audience, Profile, by_client_name
from search_mcp.catalog.shown_names import ShownNames
from search_mcp.config.schema import ServerConfig
from search_mcp.model.servers import Status
from search_mcp.own_tools.definitions import definitions

if TYPE_CHECKING:
    from search_mcp.usage.store import Largest

SLOW_SECONDS = 5.0
"""Duration above which a start is slow."""
EXAMPLES = 3
"""Number of names in a remark."""
TOKEN_CHARACTERS = 4
"""Characters of a token, as clients estimate them; of JSON, Japanese or code it is fewer."""


@dataclass(frozen=True)
class Remark:
    """A consequence for a client, with a remedy."""

    text: str
    is_fatal: bool = False


def of_start(status: Status) -> float | None:
    """Return the duration of a server's start in seconds, if it was slow."""
    seconds = status.start_seconds
    return seconds if seconds is not None and seconds > SLOW_SECONDS else None


def of_prefix(server: ServerConfig) -> str | None:
    """Return a remark on a prefix without a character that names may have."""
    if not server.effective_prefix or re.search("[A-Za-z0-9_.-]", server.effective_prefix):
        return None
    return (
        'its name has no character that tool names may contain, so each is replaced by "_"; '
        'give it a "prefix" of letters from a to z'
    )


def of_catalog(catalog: Catalog, audience: Audience, client: Profile) -> Iterator[Remark]:
    """Yield remarks on tools and names that a client refuses, and on names that are shortened for it.

    The profile of `audience` includes the user's settings; `client` is the plain profile.
    """
    shown = ShownNames(catalog.tools(), audience.profile)
    spelt = {item.name: shown[item] for item in catalog.tools()}
    if too_long := [name for name in spelt.values() if len(name) > client.max_length]:
        yield Remark(
            f"{client.name} refuses names longer than {client.max_length} characters: {_enumerated(too_long)}; "
            'set "maxNameLength" to "auto"',
            is_fatal=True,
        )
    if shortened := [f"{name} as {spelt[name]}" for name in _shortened(catalog, audience.profile)]:
        yield Remark(
            f"names longer than {audience.profile.max_length} characters are shortened: {_enumerated(shortened)}; "
            'give the server a shorter "prefix", or rename the tool with "rename"'
        )
    listed = _listed(catalog, audience.profile)
    if client.most_tools is not None and listed > client.most_tools:
        yield Remark(
            f"{client.name} accepts at most {client.most_tools} tools, but {listed} are listed; "
            'set "listing" to "search", or leave some out with "tools": {"deny": [...]}',
            is_fatal=True,
        )


def of_usage(
    seen: "Iterable[Largest]", servers: Iterable[ServerConfig], client: Profile | None = None
) -> Iterator[Remark]:
    """Yield a remark for each client that got results which it does not take whole; only for `client`, if it is given.

    `seen`: the largest result of each tool that each client got. Servers with a limit of results are left out, and a
    server's `resultSize` raises Claude Code's limit.
    """
    raised = {each.name: each.result_size or 0 for each in servers if each.max_result_characters is None}
    longest: dict[Profile, dict[str, int]] = {}
    for each in seen:
        profile = by_client_name(each.client_name)
        if each.server not in raised or client not in (None, profile):
            continue
        if profile.takes_result_size and each.characters <= raised[each.server]:
            continue
        longest.setdefault(profile, {})[f"{each.server}.{each.tool}"] = each.characters
    for profile, sizes in longest.items():
        remark = of_results(profile, sizes)
        if remark is not None:
            yield remark


def of_results(client: Profile, longest: Mapping[str, int]) -> Remark | None:
    """Return a remark on tools with longer results than the client passes to its model whole.

    `longest`: the characters of the longest result of each tool that was seen.
    """
    limit = client.most_result
    if limit.characters is None and limit.tokens is None:
        return None
    estimate = TOKEN_CHARACTERS * limit.tokens if limit.tokens is not None else None
    most = min(each for each in (limit.characters, estimate) if each is not None)
    longer = {tool: size for tool, size in longest.items() if size > most}
    if not longer:
        return None
    named = [f"{tool} ({longer[tool]:,})" for tool in sorted(longer, key=lambda tool: -longer[tool])]
    about = "" if limit.characters == most else "about "
    raising = ', and "resultSize" raises the limit'
    return Remark(
        f"{client.name} does not pass results of more than {about}{most:,} characters to its model whole: "
        f'{_enumerated(named)}; with "maxResultCharacters" the model can read on with read_result'
        f"{raising if client.takes_result_size else ''}"
    )


def _shortened(catalog: Catalog, profile: Profile) -> list[str]:
    return [
        item.name for item in catalog.tools() if len(profile.shown_name(item.prefix, item.own)) > profile.max_length
    ]


def _listed(catalog: Catalog, profile: Profile) -> int:
    items = catalog.tools()
    shown = [item for item in items if profile.listing != "search" or item.pinned]
    is_whole = profile.reads_later_lists is not False
    own = definitions(
        profile.listing, is_whole=is_whole, call_tool=profile.call_tool, reads_results=profile.reads_results
    )
    return len(shown) + len(own)


def _enumerated(examples: Sequence[str]) -> str:
    more = len(examples) - EXAMPLES
    return ", ".join([*examples[:EXAMPLES], *([f"and {more} more"] if more > 0 else [])])
