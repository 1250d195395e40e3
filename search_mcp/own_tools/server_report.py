"""The answer of `list_servers`: each server's state, tools, changes and instructions, as text and as data."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.remarks import changes_for_model
from search_mcp.model.errors import ask_user
from search_mcp.model.names import Kind, State
from search_mcp.model.servers import ServerFacts, Status
from search_mcp.model.standing import NOT_STARTED, Standing, standing_of
from search_mcp.model.visible import named, one_line, quoted
from search_mcp.own_tools.arguments import MOST_NAMED
from search_mcp.times import iso

SERVER_INSTRUCTIONS_LENGTH = 1500
"""Characters of one server's own instructions."""
INSTRUCTIONS_LENGTH = 12_000
"""Characters of all servers' own instructions."""


class ServerReport:
    """The servers of one catalogue as they are now."""

    def __init__(self, catalog: Catalog, facts: Mapping[str, ServerFacts], now: float) -> None:
        """`now`: seconds since the epoch."""
        self._catalog, self._facts, self._now = catalog, facts, now
        self._tools = Counter(item.server for item in catalog.tools())
        self._skills = Counter(skill.server for skill in catalog.skills())
        self._room = INSTRUCTIONS_LENGTH  # characters of instructions that are left

    def write(self, statuses: Iterable[Status]) -> tuple[list[str], list[dict[str, Any]]]:
        """Write a line and an object for each server."""
        lines: list[str] = []
        servers: list[dict[str, Any]] = []
        for status in statuses:
            changes = self._changes(status)
            server = {**self._state(status), **self._configured(status), **changes, **self._instructions(status)}
            servers.append(server)
            lines.append(self._line(standing_of(status), server, self._changes_text(changes, status.server)))
        return lines or ["No servers are configured."], servers

    def _state(self, status: Status) -> dict[str, Any]:
        state = {"name": status.server, "state": standing_of(status).word, "tools": self._tools[status.server]}
        if self._skills[status.server]:
            state["skills"] = self._skills[status.server]
        # Nobody may have accepted the texts of a server that does not run.
        if self._facts[status.server].description and status.state not in (State.HELD, State.DISABLED):
            state["description"] = self._facts[status.server].description
        if status.reason is not None:
            state["lastError"] = status.reason
        if status.remedy and status.state is not State.DISABLED:  # the user wants it to be off
            state["remedy"] = ask_user(status.remedy)
        if standing_of(status).word in (NOT_STARTED, State.KNOWN):
            state["note"] = "a call starts it"
        if status.state is not State.READY and status.since is not None:
            state["since"] = iso(status.since)
        if status.sharing is not None:
            state["sharing"] = status.sharing
        return state

    def _configured(self, status: Status) -> dict[str, Any]:
        configured = {} if status.command is None else {"command": status.command}
        if not self._facts[status.server].read_only:
            return configured
        return {**configured, "readOnly": True, "leftOut": len(self._catalog.hidden_by_read_only(status.server))}

    def _instructions(self, status: Status) -> dict[str, Any]:
        """Give a server's own instructions, as far as there is room for them."""
        if status.capabilities is None:
            return {}
        own = _trimmed(status.capabilities.instructions, min(self._room, SERVER_INSTRUCTIONS_LENGTH))
        self._room -= len(own)
        return {"instructions": own} if own else {}

    def _changes(self, status: Status) -> dict[str, Any]:
        """Give the tools, prompts and texts that differ from those first seen; of new ones only the number.

        Names of new tools are the server's own words, which the user has not accepted.
        """
        name, found = status.server, dict[str, Any]()
        for kind, noun in ((Kind.TOOLS, "Tools"), (Kind.PROMPTS, "Prompts")):
            if changed := sorted(self._catalog.changed(name, kind)):
                found[f"changed{noun}"] = changed
            if new := self._catalog.new(name, kind):
                found[f"new{noun}"] = len(new)
        if status.is_about_changed:
            found["changedInstructions"] = True
        return {**found, "withheld": self._catalog.is_pinned(name)} if found else {}

    def _changes_text(self, changes: Mapping[str, Any], server: str) -> str:
        """Write the changes of a server as a sentence."""
        if not changes:
            return ""
        changed: list[str] = []
        new: list[str] = []
        for noun in ("Tool", "Prompt"):
            if keys := changes.get(f"changed{noun}s"):
                names = ", ".join(named(key) for key in keys[:MOST_NAMED])
                changed.append(f"{noun.lower()}{'s' if len(keys) > 1 else ''} {names}")
            if number := changes.get(f"new{noun}s", 0):
                new.append(f"{number} {noun.lower()}{'s' if number > 1 else ''}")
        if "changedInstructions" in changes:
            changed.append("title or instructions")
        return changes_for_model(self._catalog, server, changed, new)

    def _line(self, standing: Standing, server: Mapping[str, Any], changes: str) -> str:
        """Write one line about a server; line breaks in the server's own texts are removed."""
        text = f"{named(standing.server)}: {standing.word_and_age(self._now)}"
        text += f", {server['tools']} tool{'' if server['tools'] == 1 else 's'}"
        if "skills" in server:
            text += f", {server['skills']} skill{'' if server['skills'] == 1 else 's'}"
        if "description" in server:
            text += f"; {server['description']}"
        if said := ". ".join(filter(None, (standing.told, server.get("remedy")))):
            text += f" ({said})"
        if "command" in server:
            text += f"; its {self._facts[standing.server].noun}: {server['command']}"
        if "note" in server:
            text += f" ({server['note']})"
        if "sharing" in server:
            text += f"; {server['sharing']}"
        if "readOnly" in server:
            text += f"; read-only, {server['leftOut']} other tools left out"
        if changes:
            text += f"; {changes}"
        if "instructions" in server:
            text += f"; its instructions: {quoted(' '.join(server['instructions'].split()), INSTRUCTIONS_LENGTH)}"
        return one_line(text)


def _trimmed(text: str, length: int) -> str:
    """Cut a server's instructions at a word."""
    text = text[: 2 * length].strip()
    if len(text) <= length:
        return text
    head = text[: max(0, length - 1)]
    return f"{head.rpartition(' ')[0] or head}…" if head else ""
