"""`check`: start the servers, report their state and problems, and accept commands and definitions.

Decides which servers are started, and the order in which commands and definitions are shown and accepted.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated

import typer

from search_mcp.backends.pin_records import Open
from search_mcp.backends.pins import TrustStore
from search_mcp.cli import completion, consent, inventory
from search_mcp.cli.checks import acceptance, differences, report
from search_mcp.cli.checks.acceptance import Wanted
from search_mcp.cli.checks.examination import examine
from search_mcp.cli.checks.findings import Examination
from search_mcp.cli.command_cache import FreshLists
from search_mcp.cli.needed_servers import only
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import WRONG, Problem
from search_mcp.cli.session import run
from search_mcp.cli.terminal import Terminal
from search_mcp.config.schema import Config
from search_mcp.folders import trust_folder
from search_mcp.model.names import State


@takes("config", "client", "servers", "as_json", "debug")
def check(
    options: Options,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Check only these servers, and show all that a failed one wrote to stderr.",
            autocompletion=completion.server_names,
        ),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Show a held server's command, or new and changed definitions, and accept them: "
            "SERVER or SERVER.TOOL.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Accept without asking.")] = False,
) -> int:
    """Start the servers and report their state, tools and problems."""
    screen = options.screen
    loaded, path = options.configuration()
    loaded, definitions = consent.accept(accept or [], loaded, path, options, is_sure=yes)
    wanted = acceptance.wanted(definitions, loaded)
    chosen = _chosen(loaded, names or [], wanted, accept or [])
    if accept and not chosen:
        return WRONG  # the user refused every command, which is reported already
    checked = only(loaded, chosen) if chosen else loaded
    found = run(
        checked,
        options.profile,
        FreshLists,
        lambda running: examine(running, options.profile, screen, chosen),
    )
    accepting = _accepting(wanted, found)
    if options.as_json:
        screen.json({"config": str(path), **found.as_json(), "warnings": loaded.warnings})
    elif chosen:
        _show_differences(found, accepting if wanted else None, screen)
    is_refused = bool(wanted) and not _accept(accepting, loaded, screen, is_sure=yes)
    if not is_refused:
        found = found.without(accepting)
    if not options.as_json:
        report.show(found, _warnings(loaded, chosen), path, screen, is_detailed=bool(chosen))
    return WRONG if is_refused else found.exit_code


def _chosen(config: Config, names: Sequence[str], wanted: Sequence[Wanted], accepted: Collection[str]) -> list[str]:
    """List the servers to check: those that are named, else those whose command was accepted; empty for all.

    Raises:
        Misuse: there is no such server.
    """
    named = [inventory.known_server(config, name).name for name in names]
    chosen = list(dict.fromkeys([*named, *(each.server.name for each in wanted)]))
    return chosen or [each.name for each in config.servers if each.name in accepted and each.held is None]


def _accepting(wanted: Sequence[Wanted], found: Examination) -> dict[str, list[Open]]:
    """Choose the differences to accept, by server; every server must have been listed just now.

    Raises:
        Problem: a server could not be listed.
        Misuse: there is no difference of that name.
    """
    servers = {each.server.name for each in wanted}
    for finding in found.findings:
        if finding.name in servers and finding.status.state is not State.READY:
            why = finding.standing.explanation or finding.standing.word
            raise Problem(f"{finding.name}: nothing was accepted, because it could not be listed ({why})")
    return acceptance.chosen(wanted, {finding.name: finding.differences for finding in found.findings})


def _show_differences(found: Examination, accepting: Mapping[str, Sequence[Open]] | None, screen: Terminal) -> None:
    """Show the differences of the checked servers, or those to accept."""
    for finding in found.findings:
        shown = finding.differences if accepting is None else accepting.get(finding.name, finding.differences)
        differences.show(finding.name, shown, screen)
    if any(finding.differences for finding in found.findings):
        screen.text("")


def _accept(accepting: Mapping[str, Sequence[Open]], config: Config, screen: Terminal, *, is_sure: bool) -> bool:
    """Accept differences that were shown, if the user agrees; returns whether the user did.

    Raises:
        Problem: there is nobody to ask, or the decision cannot be recorded.
    """
    if not acceptance.confirmed(accepting, screen, is_sure=is_sure):
        screen.note("Nothing was accepted.")
        return False
    for name, shown in accepting.items():
        acceptance.accept(inventory.known_server(config, name), shown, TrustStore(trust_folder()), screen)
    return True


def _warnings(config: Config, chosen: Sequence[str]) -> list[str]:
    return [text for text in config.warnings if not chosen or any(f"mcpServers.{each}." in text for each in chosen)]
