"""`check --accept`: the user takes changed and new definitions for what they should be.

Decides what is meant by a name, and that exactly what was shown is accepted, nothing that is listed later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from search_mcp.backends.pin_records import ABOUT, Open
from search_mcp.backends.pins import TrustStore
from search_mcp.catalog.suggest import nearest
from search_mcp.cli.counting import counted
from search_mcp.cli.problem import Misuse, Problem, did_you_mean
from search_mcp.cli.terminal import Terminal
from search_mcp.config.schema import Config, ServerConfig


@dataclass(frozen=True)
class Wanted:
    """What is to be accepted: all of a server, or one of its tools or prompts."""

    server: ServerConfig
    name: str | None = None

    def among(self, differences: Sequence[Open]) -> list[Open]:
        """Choose of a server's differences those that are meant.

        Raises:
            Misuse: none of them has that name.
        """
        if self.name is None:
            return list(differences)
        found = [each for each in differences if each.section != ABOUT and each.name == self.name]
        if not found:
            whole = f"{self.server.name}.{self.name}"
            known = [f"{self.server.name}.{each.name}" for each in differences if each.section != ABOUT]
            otherwise = f"there are {', '.join(known)}" if known else f"all of {self.server.name} is as it was accepted"
            raise Misuse(f"{whole!r} is no tool or prompt that changed", did_you_mean(nearest(whole, known), otherwise))
        return found


def wanted(names: Sequence[str], config: Config) -> list[Wanted]:
    """Find out what is meant by names of servers, and by full names of tools and prompts.

    Raises:
        Misuse: there is no such server.
    """
    return [_wanted(name, config) for name in names]


def _wanted(name: str, config: Config) -> Wanted:
    for server in config.servers:
        if server.name == name:
            return Wanted(server)
    owners = [server for server in config.servers if name.startswith(f"{server.name}.")]
    if owners:
        owner = max(owners, key=lambda server: len(server.name))
        return Wanted(owner, name[len(owner.name) + 1 :])
    known = [server.name for server in config.servers]
    otherwise = f"there are {', '.join(known)}" if known else "there are no servers"
    raise Misuse(f"{name!r} is no server, and no tool that changed", did_you_mean(nearest(name, known), otherwise))


def chosen(all_wanted: Sequence[Wanted], differences: Mapping[str, Sequence[Open]]) -> dict[str, list[Open]]:
    """Choose what is to be accepted of each server.

    Raises:
        Misuse: there is nothing of that name to be accepted.
    """
    found: dict[str, list[Open]] = {}
    for each in all_wanted:
        of_server = found.setdefault(each.server.name, [])
        of_server += [new for new in each.among(differences.get(each.server.name, ())) if new not in of_server]
    return found


def confirmed(chosen_of: Mapping[str, Sequence[Open]], screen: Terminal, *, is_sure: bool) -> bool:
    """Ask for consent to what was written, if there is anything."""
    count = sum(map(len, chosen_of.values()))
    question = f"Accept {counted(count, 'difference')} of {', '.join(chosen_of)}?"
    return screen.agrees(question, is_sure=is_sure or not count)


def accept(server: ServerConfig, shown: Sequence[Open], trust: TrustStore, screen: Terminal) -> None:
    """Accept what was shown of one server.

    Raises:
        Problem: it cannot be remembered.
    """
    try:
        trust.accept(server, shown)
    except OSError as exc:
        what = f"{server.name}: what is accepted cannot be remembered in {trust.folder} ({exc.strerror})"
        raise Problem(what, "check that you may write there") from exc
    names = list(dict.fromkeys(each.name for each in shown))
    what = f"accepted {', '.join(names)}" if names else "nothing to accept."
    screen.note(f"{server.name}: {what}")
