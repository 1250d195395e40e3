"""The skills of all servers that are shown, and the server that owns the files of each.

A client compares the files of a skill with the digests in its entry, so both must come from the same server: a skill is
shown only if all URIs in its directory belong to its server. Pure.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from search_mcp.catalog.skill_uris import directory_of, is_of_skill_scheme
from search_mcp.model.servers import Entry
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct


class Skill(Struct, frozen=True, dict=True):
    """One skill of a server. Clients identify it by its URI, because several skills may have the same name."""

    server: str
    entry: Entry

    @property
    def uri(self) -> str:
        return self.entry.key

    @property
    def name(self) -> str:
        return self._texts[0]

    @property
    def description(self) -> str:
        return self._texts[1]

    @cached_property
    def _texts(self) -> tuple[str, str]:
        found = payload.members(self.entry.fields.get("frontmatter"), "name", "description")
        return payload.string(found.get("name")) or "", payload.string(found.get("description")) or ""


Claim: TypeAlias = tuple[str, str, bool]
"""A URI that a server lists, or the literal beginning of a template; the server; whether it is the URI of a skill.

A plain tuple, because thousands are sorted at a time.
"""


class Skills:
    """The skills of several servers, in the order of the configuration."""

    def __init__(self, listed: Mapping[str, Sequence[Entry]], claims: Callable[[], Iterable[Claim]]) -> None:
        """Merge the skills that each server lists; `claims` gives the resources and templates of all servers."""
        self._listed, self._list_claims = listed, claims
        self._positions = {server: position for position, server in enumerate(listed)}
        self._rivals: dict[str, tuple[Sequence[Claim], Sequence[Claim]]] = {}
        # The outermost directories of skills, sorted, each with a slash at its end. All skills within one belong to the
        # same server, because skills of other servers are left out there.
        self._directories: list[str] = []
        self._owners: dict[str, str] = {}
        self.left_out: list[tuple[str, str, str]] = []
        """Server and URI of each skill that is not shown, and the server that has URIs in its directory."""
        self._shown = {skill.uri: skill for server in listed for skill in self._admitted(server)}

    def _admitted(self, server: str) -> Iterable[Skill]:
        """Return the skills of a server that are shown, after those of all earlier servers were decided."""
        left_out: dict[str, str] = {}
        outer_first = sorted((f"{directory_of(entry.key)}/", entry.key) for entry in self._listed[server])
        for directory, uri in outer_first:
            rival = self.rival(server, directory[:-1])
            if rival is not None:
                left_out[uri] = rival
            elif self.owner(directory[:-1]) is None:
                insort(self._directories, directory)
                self._owners[directory] = server
        self.left_out += [
            (server, entry.key, left_out[entry.key]) for entry in self._listed[server] if entry.key in left_out
        ]
        return [Skill(server, entry) for entry in self._listed[server] if entry.key not in left_out]

    def __iter__(self) -> Iterator[Skill]:
        return iter(self._shown.values())

    def __len__(self) -> int:
        return len(self._shown)

    def find(self, uri: str) -> Skill | None:
        return self._shown.get(uri)

    def named(self, name: str) -> list[Skill]:
        """Return the skills of this name, or of this URI."""
        skill = self.find(name)
        return [skill] if skill is not None else [each for each in self if each.name == name]

    def owner(self, uri: str) -> str | None:
        """Return the server of the skill whose directory is this URI or contains it."""
        if not self._directories:
            return None
        within = f"{uri}/"
        # Every text between a directory and a URI in it, in sorted order, is in that directory too.
        before = bisect_right(self._directories, within) - 1
        if before < 0 or not within.startswith(self._directories[before]):
            return None
        return self._owners[self._directories[before]]

    def rival(self, server: str, directory: str) -> str | None:
        """Return the server that prevents a skill of `server` in a directory; `None` if there is none.

        An earlier server prevents it with any URI there. With another scheme than `skill:`, a later server also does,
        with a resource or a template there: a skill must not take a folder of the user's files.
        """
        around = self.owner(directory)
        if around not in (None, server):
            return around
        if server not in self._rivals:
            self._rivals[server] = self._rivals_of(server)
        of_earlier, of_others = self._rivals[server]
        inside = f"{directory}/"
        for claims in (of_earlier,) if is_of_skill_scheme(directory) else (of_earlier, of_others):
            at = bisect_left(claims, (inside, "", False))
            if at < len(claims) and claims[at][0].startswith(inside):
                return claims[at][1]
        return None

    def _rivals_of(self, server: str) -> tuple[Sequence[Claim], Sequence[Claim]]:
        """Return the claims of earlier servers, and the resources and templates of all other servers; both sorted."""
        position = self._positions[server]
        earlier = [claim for claim in self._claims if self._positions[claim[1]] < position]
        others = [claim for claim in self._claims if claim[1] != server and not claim[2]]
        return earlier, others

    @cached_property
    def _claims(self) -> Sequence[Claim]:
        """All claims in the order of their text, so that those within a directory follow each other."""
        of_skills = ((entry.key, server, True) for server, entries in self._listed.items() for entry in entries)
        return sorted([*of_skills, *self._list_claims()])
