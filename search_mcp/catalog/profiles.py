"""What AI clients accept: how names must look, how long they may be, which listing pays.

Facts only, one row a client. An unknown client gets `CANONICAL`. A profile never changes what can be
called, only what is shown.
"""

import re
from typing import Final, Literal, TypeAlias

from search_mcp.wire.structs import Struct, replace

Listing: TypeAlias = Literal["light", "full", "search"]
CallTool: TypeAlias = Literal["all", "read-only", "off"]
REGISTERED_AS: Final = "search-mcp"
"""The name people register us under; clients put it before ours and count it."""
_REGISTRATION: Final = re.compile(r"(?:mcp__?)?" + REGISTERED_AS.replace("-", "[-_]") + r"(?:__|[-_.:/])")


def without_registration(name: str) -> str | None:
    """Take off what clients put before our names, as in `mcp__search-mcp__`; `None` where nothing of it is there."""
    found = _REGISTRATION.match(name)
    return name[found.end() :] if found else None


class Profile(Struct, frozen=True, cache_hash=True):
    """How one client wants its list. `max_length` is in characters of the name we show."""

    name: str
    client_names: tuple[str, ...] = ()
    """`clientInfo.name` of a legacy `initialize`."""
    separator: str = "."
    refused: str = r"[^A-Za-z0-9_.-]"
    """Characters that become `_` in a shown name."""
    max_length: int = 128
    listing: Listing = "light"
    added_arguments: frozenset[str] = frozenset()
    """Arguments the client puts into every call on its own; dropped unless the tool declares them."""
    patience_seconds: float = 30.0
    """How long the client waits for its first list; beyond that it goes on without us."""
    reads_later_lists: bool | None = None
    """Whether it asks again after `list_changed`; False: only its first list counts; None: not known."""
    most_tools: int | None = None
    """How many tools the client takes in one request, where it has a limit."""
    call_tool: CallTool = "all"
    """Which of our tools for calling by name there are: `call_tool` and `call_read_only_tool`, the second, neither."""

    def shown_name(self, server: str, tool: str) -> str:
        """Spell a tool's name for this client, before shortening; an empty server means a bare name."""
        whole = f"{server}{self.separator}{tool}" if server else tool
        return re.sub(self.refused, "_", whole)


_UNDERSCORES: Final = r"[^A-Za-z0-9_-]"
CANONICAL: Final = Profile("canonical")

PROFILES: Final = (
    Profile("claude-desktop", ("claude-ai",), "__", _UNDERSCORES, 64, patience_seconds=60, reads_later_lists=False),
    # These fold dots to `_` before their model sees a name: it could not call the names that our answers give.
    # 128 characters with `mcp__<server>__` before our name
    Profile(
        "claude-code",
        ("claude-code",),
        "__",
        _UNDERSCORES,
        max_length=128 - len(f"mcp__{REGISTERED_AS}__"),
        listing="full",
        reads_later_lists=True,
    ),
    Profile(
        "codex", ("codex-mcp-client",), "__", _UNDERSCORES, listing="full", patience_seconds=5, reads_later_lists=False
    ),
    Profile(
        "vscode", ("Visual Studio Code", "Visual-Studio-Code"), "__", _UNDERSCORES, 64, listing="full", most_tools=128
    ),  # warns of dots and maps them back; the spelling it does not warn of is as good
    # server + tool <= 60; `-` is flagged by some versions
    Profile("cursor", ("cursor-vscode",), "__", r"[^A-Za-z0-9_]", 60 - len(REGISTERED_AS), listing="full"),
    Profile(
        "gemini-cli",
        ("gemini-cli-mcp-client",),
        max_length=63 - len(f"mcp_{REGISTERED_AS}_"),
        added_arguments=frozenset({"wait_for_previous"}),
        reads_later_lists=True,
    ),
    Profile("copilot-cli", ("copilot-cli",), max_length=64 - len(f"{REGISTERED_AS}-"), reads_later_lists=True),
    # It closes every schema: a light one would tell its model that the tool takes no arguments.
    Profile("opencode", ("opencode",), "__", _UNDERSCORES, listing="full", reads_later_lists=True),
    Profile("cline", ("@cline/core", "Cline"), max_length=64, patience_seconds=3, reads_later_lists=False),
    Profile("windsurf", ("windsurf-client", "Windsurf"), "__", _UNDERSCORES, 60, most_tools=100),
    Profile("zed", ("Zed",), max_length=64),
    Profile("goose", ("goose",), "__", _UNDERSCORES, 60),
    Profile("antigravity", ("antigravity-client",), "__", _UNDERSCORES, 60),
    Profile("augment", ("Augment",), "__", _UNDERSCORES, 60),
    Profile("lm-studio"),  # nothing is known to differ
)

IMPATIENCE: Final = 0.6
"""The part of a client's patience that its first list may take."""
NEWS_SECONDS: Final = 1.0
"""How long the first list of a client waits that reads later ones: Claude Code offers its model what was listed
1.5 s after the start, and what is announced later from the next request on."""
PARTIAL_SECONDS: Final = 5.0
"""How long a client of which it is not known waits for the rest of a list that has something in it."""


class Patience(Struct, frozen=True):
    """How long something waits for lists, in seconds: for any of them, and for the rest once one has entries."""

    most: float
    partial: float


def first_list_patience(profile: Profile, setting: float | Literal["auto"], *, hears_news: bool = False) -> Patience:
    """Decide how long a client's first list waits; `hears_news` if it has asked to be told of changes."""
    most = profile.patience_seconds * IMPATIENCE
    if setting != "auto":
        return Patience(min(setting, most), min(setting, most))
    if profile.reads_later_lists or (profile.reads_later_lists is None and hears_news):
        return Patience(min(NEWS_SECONDS, most), min(NEWS_SECONDS, most))
    if profile.reads_later_lists is None:
        return Patience(most, min(PARTIAL_SECONDS, most))
    return Patience(most, most)


BY_NAME: Final = {profile.name: profile for profile in (*PROFILES, CANONICAL)}
_BY_CLIENT_NAME: Final = {name: profile for profile in PROFILES for name in profile.client_names}


def by_client_name(client_name: str | None) -> Profile:
    """Find the profile of a client that introduced itself, or the canonical one."""
    return _BY_CLIENT_NAME.get(client_name or "", CANONICAL)


def adjusted(
    profile: Profile, *, separator: str, max_length: int | None, listing: Listing | None, call_tool: CallTool = "all"
) -> Profile:
    """Put a user's own settings over a client's; `"auto"` and `None` leave the client's."""
    return replace(
        profile,
        separator=profile.separator if separator == "auto" else separator,
        max_length=profile.max_length if max_length is None else max_length,
        listing=profile.listing if listing is None else listing,
        call_tool=call_tool,
    )


class Audience(Struct, frozen=True):
    """For whom a list is made: the client's profile, whether output schemas must be objects, whether apps are shown."""

    profile: Profile
    object_output_only: bool
    shows_apps: bool = False
