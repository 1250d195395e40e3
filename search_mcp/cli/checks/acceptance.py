"""Acceptance of changed and new definitions by `check --accept`.

Decides which definitions a name stands for, and that only those shown are accepted, none that are listed later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from search_mcp.backends.pin_records import ABOUT, Open
from search_mcp.backends.pins import TrustStore
from search_mcp.cli.counting import counted
from search_mcp.cli.problem import Misuse, Problem, did_you_mean
from search_mcp.cli.terminal import Terminal
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.model.similar import nearest


@dataclass(frozen=True)
class Wanted:
    """A request to accept all differences of a server, or one of its tools or prompts."""

    server: ServerConfig
    name: str | None = None

    def among(self, differences: Sequence[Open]) -> list[Open]:
        """Choose those of the server's differences that the user named.

        Raises:
            Misuse: no difference has that name.
        """
        if self.name is None:
            return list(differences)
        found = [each for each in differences if each.section != ABOUT and each.name == self.name]
        if not found:
            whole = f"{self.server.name}.{self.name}"
            known = [f"{self.server.name}.{each.name}" for each in differences if each.section != ABOUT]
            none = f"you have accepted all definitions of {self.server.name}"
            otherwise = f"new or changed are {', '.join(known)}" if known else none
            raise Misuse(
                f"no new or changed definition is called {whole!r}", did_you_mean(nearest(whole, known), otherwise)
            )
        return found


def wanted(names: Sequence[str], config: Config) -> list[Wanted]:
    """Look up names of servers, and full names of tools and prompts.

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
    otherwise = f"the servers are {', '.join(known)}" if known else "there are no servers"
    raise Misuse(f"no server or changed tool is called {name!r}", did_you_mean(nearest(name, known), otherwise))


def chosen(all_wanted: Sequence[Wanted], differences: Mapping[str, Sequence[Open]]) -> dict[str, list[Open]]:
    """Choose the differences to accept, by server.

    Raises:
        Misuse: no difference has one of the names.
    """
    found: dict[str, list[Open]] = {}
    for each in all_wanted:
        of_server = found.setdefault(each.server.name, [])
        of_server += [new for new in each.among(differences.get(each.server.name, ())) if new not in of_server]
    return found


def confirmed(chosen_of: Mapping[str, Sequence[Open]], screen: Terminal, *, is_sure: bool) -> bool:
    """Ask for consent to the differences that were shown, if there are any."""
    count = sum(map(len, chosen_of.values()))
    question = f"Accept {counted(count, 'difference')} of {', '.join(chosen_of)}?"
    return screen.agrees(question, is_sure=is_sure or not count)


def accept(server: ServerConfig, shown: Sequence[Open], trust: TrustStore, screen: Terminal) -> None:
    """Accept differences of one server, which were shown.

    Raises:
        Problem: the decision cannot be recorded.
    """
    try:
        trust.accept(server, shown)
    except OSError as exc:
        what = f"{server.name}: the decision cannot be recorded in {trust.folder} ({exc.strerror})"
        raise Problem(what, "check that you may write there") from exc
    names = list(dict.fromkeys(each.name for each in shown))
    what = f"accepted {', '.join(names)}" if names else "nothing to accept."
    screen.note(f"{server.name}: {what}")
