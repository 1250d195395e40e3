"""The servers of a configuration that one client uses, as its option `--servers` names them. Pure.

An expression is a list of selectors with commas between them: names of servers, `tag:` with a tag, and patterns of
either; a selector behind `-` excludes. Their order has no meaning: a server is used if one of the selectors includes
it, or if all of them exclude, and if none excludes it.

A selector that matches no server includes nothing, so a wrong name or a deleted tag never leaves a client with more
servers. Texts for a model name neither servers outside of the subset nor the expression, which may name such servers.
"""

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TypeAlias

from search_mcp.config.schema import Config
from search_mcp.model.errors import ConfigError, for_shell
from search_mcp.model.sentences import enumerated
from search_mcp.model.similar import closest
from search_mcp.wire.structs import Struct, replace

OPTION = "--servers"
TAG = "tag:"
EVERYTHING = "*"
"""The expression that means all servers."""

Tags: TypeAlias = Mapping[str, Collection[str]]
"""The tags of each server, by its name."""


class Selector(Struct, frozen=True):
    """One part of an expression, without its sign."""

    text: str

    @property
    def is_tag(self) -> bool:
        return self.text.startswith(TAG)

    @property
    def pattern(self) -> str:
        return self.text.removeprefix(TAG)

    def matches(self, name: str, tags: Collection[str]) -> bool:
        words = tags if self.is_tag else (name,)
        return any(word == self.pattern or fnmatchcase(word, self.pattern) for word in words)

    def matches_any(self, servers: Tags) -> bool:
        return any(self.matches(name, tags) for name, tags in servers.items())


class Subset(Struct, frozen=True):
    """The servers that an expression selects."""

    text: str
    """The expression as it was written."""
    included: tuple[Selector, ...]
    """Without any, all servers are included."""
    excluded: tuple[Selector, ...]

    @property
    def option(self) -> str:
        """The option as a person writes it in a shell."""
        return f"{OPTION} {for_shell(self.text)}"

    def has(self, name: str, tags: Collection[str]) -> bool:
        """Return whether a server is used."""
        is_included = not self.included or any(each.matches(name, tags) for each in self.included)
        return is_included and not any(each.matches(name, tags) for each in self.excluded)

    def names(self, servers: Tags) -> list[str]:
        """Return the names of the servers that are used."""
        return [name for name, tags in servers.items() if self.has(name, tags)]

    def of(self, config: Config) -> Config:
        """Return the configuration with these servers only."""
        servers = tags_of(config)
        used = set(self.names(servers))
        inside = tuple(each for each in config.servers if each.name in used)
        outside = tuple(each for each in config.servers if each.name not in used)
        others = [f"mcpServers.{each.name}." for each in outside]
        warnings = tuple(text for text in config.warnings if not any(other in text for other in others))
        notice = self._notice(servers, is_empty=not inside)
        return replace(config, servers=inside, warnings=warnings, outside=outside, notice=notice)

    # For a person

    def report(self, config: Config) -> list[str]:
        """Write the lines of the log about the servers that are used, of all those of a file."""
        servers = tags_of(config)
        faults = (*self.faults(servers), *self.remarks(servers))
        return [f"= {self.summary(servers)}", *(f"! {fault}" for fault in faults)]

    def summary(self, servers: Tags) -> str:
        """Write how many servers are used, which, and why."""
        used = self.names(servers)
        return f"{len(used) or 'none'} of {_counted(servers)} ({self.option}){': ' if used else ''}{enumerated(used)}"

    def faults(self, servers: Tags) -> list[ConfigError]:
        """Report the selectors that include no server, or that nothing is left to use."""
        found = [self._fault(each, servers) for each in self.included if not each.matches_any(servers)]
        if not found and servers and not self.names(servers):
            found.append(
                ConfigError(
                    self.option, "it excludes every server that it includes", f"{OPTION} '{EVERYTHING}' selects all"
                )
            )
        return found

    def remarks(self, servers: Tags) -> list[ConfigError]:
        """Report the selectors that exclude no server; each may be a misspelling, or name a server that was removed."""
        return [self._fault(each, servers) for each in self.excluded if not each.matches_any(servers)]

    def _fault(self, selector: Selector, servers: Tags) -> ConfigError:
        pattern, tags = selector.pattern, _all_tags(servers)
        is_pattern = any(sign in pattern for sign in "*?[")
        if selector.is_tag:
            problem, known, others = (
                f"no server has {'such a' if is_pattern else 'the'} tag {pattern!r}",
                tags,
                [*servers],
            )
        else:
            problem, known, others = f"there is no {'such ' if is_pattern else ''}server {pattern!r}", [*servers], tags
        if pattern in others:
            meant: str | None = pattern if selector.is_tag else f"{TAG}{pattern}"
        else:
            meant = _closest(pattern, known)
            meant = f"{TAG}{meant}" if meant is not None and selector.is_tag else meant
        if meant is not None:
            return ConfigError(self.option, problem, f"did you mean {meant}?")
        if not servers:
            return ConfigError(self.option, problem, "the configuration has no servers yet")
        if selector.is_tag and not tags:
            return ConfigError(self.option, problem, f'write "tags": ["{pattern}"] into the entries of servers')
        return ConfigError(
            self.option, problem, f"the {'tags' if selector.is_tag else 'servers'} are {enumerated(known)}"
        )

    # For a model

    def _notice(self, servers: Tags, *, is_empty: bool) -> str:
        lost = [each.text for each in self.included if not each.matches_any(servers)]
        lost += [f"-{each.text}" for each in self.excluded if not each.matches_any(servers)]
        if not lost and not is_empty:
            return ""
        unknown = f"names what no server has: {enumerated(lost)}"
        what = f"leaves this client no server{f', and {unknown}' if lost else ''}" if is_empty else unknown
        return f"The user's option {OPTION} {what}. Only the user can change it; the log of search-mcp says more."

    def veiled(self, error: ConfigError) -> ConfigError:
        """Return a fault of the file without its details, which may name servers outside of the subset."""
        if error.line is None and error.key is None:
            return error
        remedy = f"`search-mcp config validate --config {for_shell(error.source)}` names it"
        return ConfigError(error.source, "the file has a fault", remedy)


def parse(text: str) -> Subset:
    """Parse an expression.

    Raises:
        ConfigError: it has no selector, or an empty one.
    """
    included: list[Selector] = []
    excluded: list[Selector] = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        selector = Selector(part.removeprefix("-").strip())
        if not selector.pattern:
            raise ConfigError(OPTION, f"{part!r} names nothing", "write a name, tag:NAME, or a pattern of either")
        (excluded if part.startswith("-") else included).append(selector)
    if not included and not excluded:
        raise ConfigError(OPTION, "it is empty", f"write names, tag:NAME, or '{EVERYTHING}' for all servers")
    return Subset(text.strip(), tuple(included), tuple(excluded))


def tags_of(config: Config) -> Tags:
    """Return the tags of all servers of a file."""
    return {each.name: each.tags for each in config.servers}


def _all_tags(servers: Tags) -> list[str]:
    return list(dict.fromkeys(tag for tags in servers.values() for tag in tags))


def _closest(word: str, words: Sequence[str]) -> str | None:
    """Return the word that was most likely meant, whatever its case."""
    folded = {each.casefold(): each for each in words}
    meant = closest(word.casefold(), folded)
    return None if meant is None else folded[meant]


def _counted(servers: Collection[str]) -> str:
    return "1 server" if len(servers) == 1 else f"{len(servers)} servers"
