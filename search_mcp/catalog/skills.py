"""The skills of all servers: which are shown, and which server owns the files of each.

A client compares the files of a skill with the digests in its entry, so both have to be of the same server: a skill is
shown only if all URIs in its directory belong to its server. Pure.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from search_mcp.catalog.skill_uris import directory_of, enclosing, is_of_skill_scheme
from search_mcp.model.servers import Entry
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct


class Skill(Struct, frozen=True, dict=True):
    """One skill of a server; it is known to clients by its URI, because its name may be that of another skill, too."""

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
        self._directories: dict[str, str] = {}
        self._shown: dict[str, Skill] = {}
        self.left_out: list[tuple[str, str, str]] = []
        """Server and URI of each skill that is not shown, and the server that has URIs in its directory."""
        skills = [Skill(server, entry) for server, entries in listed.items() for entry in entries]
        for skill in skills:
            directory = directory_of(skill.uri)
            assert directory is not None, "a skill with another URI is left out"
            rival = self.rival(skill.server, directory)
            if rival is None:
                self._shown[skill.uri] = skill
                self._directories[directory] = skill.server
            else:
                self.left_out.append((skill.server, skill.uri, rival))

    @cached_property
    def _claims(self) -> Sequence[Claim]:
        """All claims in the order of their text, so that those within a directory follow each other."""
        of_skills = ((entry.key, server, True) for server, entries in self._listed.items() for entry in entries)
        return sorted([*of_skills, *self._list_claims()])

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
        """Return the server of the skill whose directory contains a URI, or is it."""
        if not self._directories:
            return None
        # All enclosing directories are of one server, because another server's skill among them is left out.
        return next(filter(None, map(self._directories.get, enclosing(uri))), None)

    def rival(self, server: str, directory: str) -> str | None:
        """Return another server to which some URI in a directory belongs; `None` if a skill of `server` may be there.

        Of two servers the first in the configuration takes precedence. With a scheme that is not meant for skills, so
        does each server that lists a resource or a template there: a skill must not take a folder of the user's files.
        """
        around = self.owner(directory)
        if around not in (None, server):
            return around
        inside, is_of_skills = f"{directory}/", is_of_skill_scheme(directory)
        position = self._positions[server]
        for at in range(bisect_left(self._claims, (inside, "", False)), len(self._claims)):
            text, owner, is_skill = self._claims[at]
            if not text.startswith(inside):
                break
            takes_precedence = self._positions[owner] < position or not (is_skill or is_of_skills)
            if owner != server and takes_precedence:
                return owner
        return None
