"""The answer of `describe_tools`: full definitions of tools, and what is known of names that mean none."""

from collections.abc import Mapping, Sequence
from typing import Any

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.list_limits import size
from search_mcp.catalog.profiles import Audience, without_registration
from search_mcp.catalog.rendering import compact_definition, full_definition
from search_mcp.catalog.shown_names import ShownNames
from search_mcp.model.servers import Status
from search_mcp.own_tools.arguments import ArgumentError, instead, read_choice
from search_mcp.own_tools.definitions import DESCRIPTION_DETAILS, MOST_PER_CALL, existing
from search_mcp.own_tools.search_results import how_to_read, skill_heading
from search_mcp.own_tools.stopped_servers import owner_not_running
from search_mcp.wire.payload import LARGE_BYTES
from search_mcp.wire.structs import Fields

MOST_SUGGESTED_FOR = 5
"""Unknown names of one answer that are compared with all there are."""
MOST_SKILLS_NAMED = 5
"""Skills of one name that are described; a name may belong to any number of them."""


class ToolDescriptions:
    """The tools of one catalogue, for one client."""

    def __init__(self, catalog: Catalog, statuses: Sequence[Status], shown: ShownNames, audience: Audience) -> None:
        self._catalog, self._statuses = catalog, statuses
        self._shown, self._audience = shown, audience
        profile = audience.profile
        self._ours = existing(profile.call_tool, can_restart=catalog.can_restart, reads_results=profile.reads_results)
        self._room = LARGE_BYTES  # bytes of definitions that are left

    def write(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Describe the named tools as data.

        Raises:
            ArgumentError: the arguments are not what the tool takes.
        """
        names, detail = _read_names(arguments), read_choice(arguments, "detail", DESCRIPTION_DETAILS)
        described: list[Fields] = []
        unknown: list[dict[str, Any]] = []
        left_out: list[str] = []
        for name in names[:MOST_PER_CALL]:
            definition = self._definition(name, detail, is_first=not described)
            if definition is None:
                unknown.append({"name": name, **self._why_unknown(name, len(unknown))})
            elif definition:
                described.append(definition)
            else:
                left_out.append(name)
        left_out += names[MOST_PER_CALL:]
        more = {"unknown": unknown, "leftOut": left_out}
        return {"tools": described, **{key: each for key, each in more.items() if each}}

    def _definition(self, name: str, detail: str, *, is_first: bool) -> Fields | None:
        """Write one definition; an empty one if there is no room for it, `None` if the name is unknown."""
        item = self._shown.find(name)
        if item is None or not item.is_for_models:
            return self._ours.get(name) or self._ours.get(without_registration(name) or "")
        if size(item.fields) > self._room and not is_first:
            return {}
        self._room -= size(item.fields)
        write = full_definition if detail == "full" else compact_definition
        return write(item, self._shown[item], self._audience)

    def _why_unknown(self, name: str, position: int) -> Mapping[str, Any]:
        """Write why a call of this name is refused; else suggest names, and add the owner's state if it is down.

        `position`: the number of unknown names before it.
        """
        if (refusal := self._catalog.why_hidden(name)) is not None:
            return {"reason": str(refusal)}
        if skills := self._catalog.skills().named(name.removeprefix("skill ")):
            named = [f"{skill_heading(each)}: {how_to_read(each)}" for each in skills[:MOST_SKILLS_NAMED]]
            return {"reason": "; ".join(named)}
        near = self._shown.near(name) if position < MOST_SUGGESTED_FOR else []
        return {"suggestions": near, **owner_not_running(self._catalog, self._statuses, name)}


def _read_names(arguments: Mapping[str, Any]) -> Sequence[str]:
    names = arguments.get("names")
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"names must be a list of tool names{instead(arguments, 'names')}")
    return names
