"""`auth`: logins at remote servers.

Decides which server is meant. `logging_in` makes the requests; it is loaded when there are any.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from search_mcp.auth.store import LoginStore
from search_mcp.cli import completion, inventory
from search_mcp.cli.counting import enumerated
from search_mcp.cli.groups import command_group
from search_mcp.cli.help_text import Command
from search_mcp.cli.logins.states import NEEDED, NEEDED_NONE, NONE, LoginState, login_states, stored, why_not_used
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, Misuse, Problem, command
from search_mcp.cli.session import read_cache
from search_mcp.cli.terminal import Terminal
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.folders import logins_folder, tokens_folder
from search_mcp.fronts.http.token_store import TokenStore

app = command_group("Log in to remote servers, show their logins, and log out.")


@app.command(cls=Command, epilog="search-mcp auth login notion\nsearch-mcp auth login notion --no-browser")
@takes("config", "debug")
def login(
    options: Options,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[SERVER]",
            help="The server; not needed if only one needs a login.",
            autocompletion=completion.remote_names,
        ),
    ] = None,
    no_browser: Annotated[
        bool,
        typer.Option(
            "--no-browser",
            help="Print the address to open, and read the address to which the browser is sent: from the terminal, "
            "or one line from stdin.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Accept all hosts of the login without asking.")] = False,
    principal: Annotated[
        str | None,
        typer.Option("--for", metavar="NAME", help="For the clients over HTTP with the token of this name."),
    ] = None,
) -> int:
    """Log in to a remote server in the browser."""
    config, _ = options.configuration()
    server = _with_login(config, name) if name is not None else _only_one_to_log_in(config)
    from search_mcp.cli.logins.logging_in import log_in  # with the HTTP library

    if principal is not None and TokenStore(tokens_folder()).find(principal) is None:
        raise Misuse(f"there is no token {principal!r}", "`search-mcp token list` shows all")
    return log_in(config, server, options, by_hand=no_browser, is_sure=yes, principal=principal or "")


@app.command(cls=Command, epilog="search-mcp auth logout notion")
@takes("config", "debug")
def logout(
    options: Options,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[SERVER]",
            help="The server; not needed if only one has a login.",
            autocompletion=completion.remote_names,
        ),
    ] = None,
) -> int:
    """Log out of a remote server: revoke its tokens and delete them."""
    config, _ = options.configuration()
    from search_mcp.cli.logins.logging_in import log_out, log_out_by_name

    if name is None:
        log_out(_only_one_logged_in(config), options.screen)
        return FINE
    found = next((each for each in config.servers if each.name == name), None)
    if found is not None and found.remote is not None and found.remote.oauth is not None:
        log_out(found, options.screen)
    elif not log_out_by_name(name, options.screen):
        inventory.known_server(config, name)  # raises the error about an unknown name
        options.screen.text(f"{name} was not logged in.")
    return FINE


@app.command(cls=Command, epilog="search-mcp auth status\nsearch-mcp auth status notion --json")
@takes("config", "as_json", "debug")
def status(
    options: Options,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[SERVER]", help="Only this server.", autocompletion=completion.remote_names),
    ] = None,
) -> int:
    """Show the logins of the remote servers, without contacting any."""
    config, path = options.configuration()
    if name is not None:
        _remote(config, name)
    found = [each for each in _login_states(config) if name in (None, each.server.name)]
    others = _others(config) if name is None else []
    if options.as_json:
        servers = [each.as_json() for each in found]
        options.screen.json({"config": str(path), "servers": servers, "otherLogins": others})
    else:
        _show(config, found, others, path, options.screen)
    return FINE


def _show(config: Config, found: Sequence[LoginState], others: Sequence[str], path: Path, screen: Terminal) -> None:
    if found:
        screen.table(("Server", "Login", "Details"), [each.row() for each in found])
    else:
        screen.note(f"There are no remote servers in {path}.")
    needed = [each.server for each in found if each.state == NEEDED]
    if needed:
        screen.note(f"`{_command(needed)}` logs in.")
    unknown = [each.server.name for each in found if each.state == NONE and each.reason != NEEDED_NONE]
    if unknown:
        them = "it needs" if len(unknown) == 1 else "they need"
        screen.note(f"`{command(config.servers, 'check', *unknown)}` shows whether {them} a login.")
    if others:
        logout = command((), "auth", "logout", others[0] if len(others) == 1 else "NAME")
        screen.note(f"Logins of servers that are not in this file: {', '.join(others)}. `{logout}` deletes them.")


def _login_states(config: Config) -> list[LoginState]:
    cached = read_cache(config, None, lambda session: {each.server: each for each in session.statuses()})
    return login_states(config, cached, _store())


def _store() -> LoginStore:
    return LoginStore(logins_folder())


def _others(config: Config) -> list[str]:
    """List the servers that have a login and are not in this configuration with the address that the login is for."""
    present = {(each.name, each.remote.url) for each in config.servers if each.remote is not None}
    return sorted({each.name for each in _store().logins() if (each.name, each.url) not in present})


def _remote(config: Config, name: str) -> ServerConfig:
    """Return the remote server of a name.

    Raises:
        Misuse: there is none.
    """
    server = inventory.known_server(config, name)
    if server.remote is None:
        raise Misuse(f"{name} is not a remote server", "only servers with a `url` in their entry have logins")
    return server


def _with_login(config: Config, name: str) -> ServerConfig:
    """Return the server of a name, if a login there is possible.

    Raises:
        Problem: it is not.
    """
    server = _remote(config, name)
    if server.held is not None:
        raise Problem(f"{name} is held: {server.held}")
    if server.problem is not None:
        raise Problem(f"{name} cannot be reached: {server.problem}")
    assert server.remote is not None
    if not server.remote.may_log_in:
        raise Misuse(
            f"{name} takes no login, because {why_not_used(server.remote)}", "remove that from the entry first"
        )
    return server


def _only_one_to_log_in(config: Config) -> ServerConfig:
    """Return the only server that needs a login; if none is known to need one, the only one that may.

    Raises:
        Problem: there is none.
        Misuse: there are several.
    """
    found = _login_states(config)
    for state, need in ((NEEDED, "need a login"), (NONE, "may need a login")):
        servers = [each.server for each in found if each.state == state and each.server.enabled]
        if len(servers) == 1:
            return servers[0]
        if servers:
            raise Misuse(f"{enumerated([each.name for each in servers])} {need}", f"name one: {_command(servers)}")
    raise Problem("no server needs a login", "`search-mcp auth status` shows all remote servers")


def _only_one_logged_in(config: Config) -> ServerConfig:
    """Return the only server that has a login.

    Raises:
        Problem: there is none.
        Misuse: there are several.
    """
    store = _store()
    possible = [each for each in config.servers if each.remote is not None and each.remote.oauth is not None]
    servers = [each for each in possible if stored(each, store) is not None]
    if len(servers) > 1:
        names = enumerated([each.name for each in servers])
        raise Misuse(f"{names} have logins", f"name one: {_command(servers, 'logout')}")
    if not servers:
        raise Problem("no server has a login", "`search-mcp auth status` shows all remote servers")
    return servers[0]


def _command(servers: Sequence[ServerConfig], word: str = "login") -> str:
    """Write the command for one of these servers."""
    return command(servers, "auth", word, servers[0].name if len(servers) == 1 else "NAME")
