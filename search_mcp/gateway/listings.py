"""The lists and instructions that one client is shown, and whether the lists differ from those shown last.

Chooses the profile a list is made for, and keeps a list until the catalogue changes. How a tool is written and its name
spelt is decided in `catalog.rendering` and `catalog.shown_names`.
"""

import time
from collections.abc import Iterable, Iterator, Mapping

from search_mcp.catalog import profiles
from search_mcp.catalog.list_limits import FEW_ENTRIES
from search_mcp.catalog.profiles import Audience, CallTool, Profile
from search_mcp.catalog.rendering import kept_light_definition, prompt_list, resource_list, tool_list
from search_mcp.catalog.shown_names import Spellings
from search_mcp.config.schema import Settings
from search_mcp.model.calls import Viewer
from search_mcp.model.names import Kind
from search_mcp.own_tools import definitions as own_tool_definitions
from search_mcp.own_tools.definitions import CALL, CALL_READ_ONLY, DESCRIBE, SEARCH
from search_mcp.wire.structs import EMPTY, Raw

INSTRUCTIONS_LENGTH = 3500
"""Characters; Claude Code cuts instructions at about 4,096."""
COALESCE_SECONDS = 0.05
"""Delay that gathers changes before a client is notified: a server that starts changes several lists."""

SLICE_SECONDS = 0.005
"""Time that a longer list is prepared before other messages are handled."""

_HOW_TO: Mapping[str, str] = {
    "light": "Listed tools show only the names of their parameters, in parentheses, with ? if optional: "
    f"{SEARCH} finds tools and shows how to call them, {DESCRIBE} gives the exact schema; "
    "then call the tool by its name.",
    "full": f"{SEARCH} finds tools by what they do.",
    "search": f"They are not listed: {SEARCH} finds tools and shows how to call them",
}
_HOW_TO_CALL: Mapping[CallTool, str] = {
    "all": f", {CALL} calls one, {CALL_READ_ONLY} one that is read-only.",
    "read-only": f", {CALL_READ_ONLY} calls one that is read-only.",
    "off": "; then call the tool by its name.",
}


def instructions(servers: Iterable[str], profile: Profile, notice: str = "") -> str:
    """Write what the names mean and how to search, then the line of each server.

    `notice` is a sentence about the selection of the servers.
    """
    how_to = _HOW_TO[profile.listing] + (_HOW_TO_CALL[profile.call_tool] if profile.listing == "search" else "")
    names = f"Tools of several MCP servers, named server{profile.separator}tool. {how_to}"
    text = "\n".join([names, *([notice] if notice else []), *(f"- {line}" for line in servers)])
    return text if len(text) <= INSTRUCTIONS_LENGTH else text[: INSTRUCTIONS_LENGTH - 1].rpartition("\n")[0] + "\n…"


class Presentation:
    """The lists of one catalogue as one client was shown them last."""

    def __init__(self, spellings: Spellings, settings: Settings, explicit_profile: Profile | None) -> None:
        self._spellings, self._catalog = spellings, spellings.catalog
        self._explicit_profile = explicit_profile
        self._made: dict[tuple[Kind, Audience, bool], tuple[int, Raw]] = {}
        self._was_partial = False
        self._shown: dict[tuple[Kind, Viewer], Raw] = {}
        self._work: Iterator[None] | None = None  # a list that is being prepared
        self._prepared: dict[Audience, int] = {}  # the catalogue's version that each audience's list was prepared of
        self.configure(settings)

    def configure(self, settings: Settings) -> None:
        """Apply other settings; the catalogue's version has to change with them."""
        self._settings = settings
        self._audiences: dict[Viewer, Audience] = {}

    def audience(self, viewer: Viewer) -> Audience:
        """Choose the profile: the one named on the command line, else the client's own, else the canonical."""
        audience = self._audiences.get(viewer)
        if audience is None:
            settings = self._settings
            profile = profiles.adjusted(
                self._explicit_profile or profiles.by_client_name(viewer.client_name),
                separator=settings.separator,
                max_length=None if settings.max_name_length == "auto" else settings.max_name_length,
                listing=None if settings.listing == "auto" else settings.listing,
                call_tool=settings.call_tool,
                reads_results=self._catalog.limits_results,
                result_size=self._catalog.result_size,
            )
            audience = Audience(profile, viewer.object_output_only, viewer.shows_apps)
            self._audiences[viewer] = audience
        return audience

    def note_partial(self) -> None:
        """Record that a list goes out without some server's tools: `call_tool` is listed from now on."""
        self._was_partial = True

    def show(self, kind: Kind, viewer: Viewer) -> Raw:
        """Make a list as it is shown now: a JSON array."""
        items = self._shown[kind, viewer] = self._list(kind, self.audience(viewer))
        return items

    def has_shown(self, kind: Kind, viewer: Viewer) -> bool:
        """Return whether such a client was shown a list of this kind."""
        return (kind, viewer) in self._shown

    def advance(self, kind: Kind, viewer: Viewer) -> bool:
        """Prepare a list for some milliseconds; return whether more is due.

        Called between other work, so that no call waits for a long list; `show` prepares what is left.
        """
        audience = self.audience(viewer)
        if self._work is None and (kind is not Kind.TOOLS or self._prepared.get(audience) == self._catalog.version):
            return False
        if self._work is None:
            self._work = self._prepare(audience)
        ends = time.monotonic() + SLICE_SECONDS
        for _ in self._work:
            if time.monotonic() > ends:
                return True
        self._work = None
        return self._is_long()

    def advance_shown(self) -> bool:
        """Prepare the lists that `changed` compares."""
        return any(self.advance(kind, viewer) for kind, viewer in self._shown)

    def _prepare(self, audience: Audience) -> Iterator[None]:
        """Spell and write the tools of a list, in slices where there are many."""
        version, items = self._catalog.version, self._catalog.tools()
        self._prepared[audience] = version  # later changes are prepared with the next list
        if not self._is_long():
            return
        yield
        names = self._spellings.of(Kind.TOOLS, audience.profile)
        if self._rest_of(audience) in names.lists:  # another client was shown the same
            return
        yield
        for item in items:
            _ = item.is_of_app
            if audience.profile.listing == "light" and not item.pinned and version == self._catalog.version:
                kept_light_definition(item, names, self._settings.description_length)
            yield

    def _is_long(self) -> bool:
        return len(self._catalog.tools()) > FEW_ENTRIES

    def changed(self) -> frozenset[Kind]:
        """Return the kinds of the lists that differ from those shown last; these count as shown from now on."""
        changed: set[Kind] = set()
        for (kind, viewer), shown in list(self._shown.items()):
            if self.show(kind, viewer) != shown:
                changed.add(kind)
        return frozenset(changed)

    def _is_whole(self, audience: Audience) -> bool:
        """Return whether `call_tool` need not be listed for tools that come later."""
        return not self._was_partial and audience.profile.reads_later_lists is not False

    def _list(self, kind: Kind, audience: Audience) -> Raw:
        is_whole = self._is_whole(audience)
        version, items = self._made.get((kind, audience, is_whole), (-1, EMPTY))
        if version != self._catalog.version:
            if kind is Kind.TOOLS:
                items = self._tool_list(audience)
            elif kind is Kind.PROMPTS:
                items = prompt_list(self._spellings, audience)
            else:
                items = resource_list(self._catalog, kind)
            self._made[kind, audience, is_whole] = self._catalog.version, items
        return items

    def _rest_of(self, audience: Audience) -> object:
        """Return everything that a list of tools is made of besides the names."""
        return audience, self._is_whole(audience), self._settings.description_length

    def _tool_list(self, audience: Audience) -> Raw:
        """Write the list of tools, unless another client was shown the same."""
        profile, names = audience.profile, self._spellings.of(Kind.TOOLS, audience.profile)
        key = self._rest_of(audience)
        if key not in names.lists:
            is_whole = self._is_whole(audience)
            own = own_tool_definitions.definitions(
                profile.listing,
                is_whole=is_whole,
                call_tool=profile.call_tool,
                can_restart=self._catalog.can_restart,
                reads_results=profile.reads_results,
                result_size=profile.result_size,
            )
            names.lists[key] = tool_list(self._spellings, audience, own, self._settings.description_length)
        return names.lists[key]
