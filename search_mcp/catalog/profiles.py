"""Client profiles: the names that each AI client accepts, and the kind of list that suits it.

An unknown client has the profile `CANONICAL`. A profile changes what is shown, not what can be called.
"""

import re
from typing import Final, Literal, TypeAlias

from search_mcp.wire.structs import Struct, replace

Listing: TypeAlias = Literal["light", "full", "search"]
CallTool: TypeAlias = Literal["all", "read-only", "off"]
REGISTERED_AS: Final = "search-mcp"
"""The usual registration name of search-mcp; clients put it before tool names, within their limits."""
_REGISTRATION: Final = re.compile(r"(?:mcp__?)?" + REGISTERED_AS.replace("-", "[-_]") + r"(?:__|[-_.:/])")


def without_registration(name: str) -> str | None:
    """Remove the prefix that clients add for search-mcp, such as `mcp__search-mcp__`; `None` if there is none."""
    found = _REGISTRATION.match(name)
    return name[found.end() :] if found else None


class ResultLimit(Struct, frozen=True, cache_hash=True):
    """The longest text of a result that a client passes to its model whole; `None` where there is no known limit."""

    characters: int | None = None
    tokens: int | None = None


class Profile(Struct, frozen=True, cache_hash=True):
    """The properties of one client. `max_length` is in characters of a shown name."""

    name: str
    client_names: tuple[str, ...] = ()
    """`clientInfo.name` of a legacy `initialize`."""
    separator: str = "."
    refused: str = r"[^A-Za-z0-9_.-]"
    """Characters that are replaced by `_` in a shown name."""
    max_length: int = 128
    listing: Listing = "light"
    added_arguments: frozenset[str] = frozenset()
    """Arguments that the client adds to every call; removed unless the tool declares them."""
    patience_seconds: float = 30.0
    """Seconds that the client waits for its first list, before it continues without search-mcp."""
    reads_later_lists: bool | None = None
    """Whether it lists again after `list_changed`; `False`: it uses its first list only; `None`: unknown."""
    most_tools: int | None = None
    """Most tools that the client sends to a model, if it has a limit."""
    call_tool: CallTool = "all"
    """Whether there are `call_tool` and `call_read_only_tool`, only the second, or neither."""
    most_result: ResultLimit = ResultLimit()
    """The longest result of a tool that the client passes to its model whole."""
    takes_result_size: bool = False
    """Whether a tool can raise that by `anthropic/maxResultSizeChars`."""
    reads_results: bool = False
    """Whether there is `read_result`: the user limits the length of results."""
    result_size: int | None = None
    """The size of results, in characters, that the tools which call by name declare."""

    def shown_name(self, server: str, tool: str) -> str:
        """Return a tool's name for this client, before shortening; an empty server gives a bare name."""
        whole = f"{server}{self.separator}{tool}" if server else tool
        return re.sub(self.refused, "_", whole)


_UNDERSCORES: Final = r"[^A-Za-z0-9_-]"
CANONICAL: Final = Profile("canonical")

PROFILES: Final = (
    Profile("claude-desktop", ("claude-ai",), "__", _UNDERSCORES, 64, patience_seconds=60, reads_later_lists=False),
    # These replace dots by `_` before the model sees a name, so it could not call the names in search results.
    # 128 characters, including `mcp__<server>__` before the name
    Profile(
        "claude-code",
        ("claude-code",),
        "__",
        _UNDERSCORES,
        max_length=128 - len(f"mcp__{REGISTERED_AS}__"),
        listing="full",
        reads_later_lists=True,
        # A longer text goes to a file, and the model sees the first 2 kB and the path. Raised by a tool's
        # `anthropic/maxResultSizeChars`, up to 500,000 (documentation of October 2026).
        most_result=ResultLimit(50_000, 25_000),
        takes_result_size=True,
    ),
    # The middle of a longer result is cut out (openai/codex#6544, cobuildwithus/murph#785).
    Profile(
        "codex",
        ("codex-mcp-client",),
        "__",
        _UNDERSCORES,
        listing="full",
        patience_seconds=5,
        reads_later_lists=False,
        most_result=ResultLimit(tokens=10_000),
    ),
    Profile(
        "vscode", ("Visual Studio Code", "Visual-Studio-Code"), "__", _UNDERSCORES, 64, listing="full", most_tools=128
    ),  # warns about dots and maps names back; it does not warn about `__`
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
    # It closes every schema: a light one would mean for its model that the tool takes no arguments.
    Profile("opencode", ("opencode",), "__", _UNDERSCORES, listing="full", reads_later_lists=True),
    Profile("cline", ("@cline/core", "Cline"), max_length=64, patience_seconds=3, reads_later_lists=False),
    Profile("windsurf", ("windsurf-client", "Windsurf"), "__", _UNDERSCORES, 60, most_tools=100),
    Profile("zed", ("Zed",), max_length=64),
    Profile("goose", ("goose",), "__", _UNDERSCORES, 60),
    Profile("antigravity", ("antigravity-client",), "__", _UNDERSCORES, 60),
    Profile("augment", ("Augment",), "__", _UNDERSCORES, 60),
    Profile("lm-studio"),  # no known differences
    # These add a prefix or suffix to a name, and pass it to the API of the model. Those of OpenAI and Anthropic refuse
    # dots (openai/codex#8174, github/copilot-cli#1879). n8n shortens its prefix to 64 characters in all.
    Profile("n8n", ("@n8n/n8n-nodes-langchain.mcpClientTool",), "__", _UNDERSCORES, 64),
    Profile("librechat", ("@librechat/api-client",), "__", _UNDERSCORES, 64 - len(f"_mcp_{REGISTERED_AS}")),
    # Its client name is `mcp`, the default of the Python SDK, so it cannot be recognised.
    Profile("open-webui", (), "__", _UNDERSCORES, 64 - len(f"{REGISTERED_AS}_")),
)

IMPATIENCE: Final = 0.6
"""The part of a client's waiting time that the first list may use."""
NEWS_SECONDS: Final = 1.0
"""Seconds that the first list waits for a client that reads later lists: Claude Code gives its model the tools that
were listed 1.5 s after the start, and tools announced later from the next request on."""
PARTIAL_SECONDS: Final = 5.0
"""Seconds that the first list waits for missing entries, if it is unknown whether the client reads later lists."""


class Patience(Struct, frozen=True):
    """Seconds to wait for lists: for the first entries, and for all others after that."""

    most: float
    partial: float


def first_list_patience(profile: Profile, setting: float | Literal["auto"], *, hears_news: bool = False) -> Patience:
    """Return how long a client's first list waits; `hears_news`: it subscribed to changes."""
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
    """Return the profile of a client with this name, or the canonical one."""
    return _BY_CLIENT_NAME.get(client_name or "", CANONICAL)


def adjusted(
    profile: Profile,
    *,
    separator: str,
    max_length: int | None,
    listing: Listing | None,
    call_tool: CallTool = "all",
    reads_results: bool = False,
    result_size: int | None = None,
) -> Profile:
    """Apply the user's settings to a profile; `"auto"` and `None` keep the profile's values."""
    return replace(
        profile,
        separator=profile.separator if separator == "auto" else separator,
        max_length=profile.max_length if max_length is None else max_length,
        listing=profile.listing if listing is None else listing,
        call_tool=call_tool,
        reads_results=reads_results,
        result_size=result_size,
    )


class Audience(Struct, frozen=True):
    """The properties of a client that a list depends on: its profile, output schemas of objects only, and apps."""

    profile: Profile
    object_output_only: bool
    shows_apps: bool = False
