"""`config`: location, validation, trust and JSON Schema of configuration files."""

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from search_mcp.cli import command_lines, consent
from search_mcp.cli.counting import counted
from search_mcp.cli.groups import command_group
from search_mcp.cli.help_text import Command
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, MISUSED, WRONG, Misuse, Problem
from search_mcp.cli.session import Session, read_cache
from search_mcp.cli.terminal import Terminal
from search_mcp.config import location
from search_mcp.config.location import FILE_NAME
from search_mcp.config.parsing import FaultyFile
from search_mcp.config.schema import EMPTY_CONFIG, Config
from search_mcp.config.trust import printable, real_path
from search_mcp.model.errors import ConfigError

app = command_group("Show, check and trust config files.")


@app.command(cls=Command, epilog="search-mcp config path")
@takes("config", "debug")
def path(options: Options) -> int:
    """Print the path of the config file in use."""
    places = location.places(options.config, os.environ)
    found = next((place for place in places if place.is_file()), None)
    options.screen.text(str(found or places[-1]))
    if found is None:
        options.screen.note("That file does not exist yet. `search-mcp import` or `search-mcp add` creates it.")
    return FINE if found is not None else WRONG


@app.command(cls=Command, epilog="search-mcp config validate\nsearch-mcp config validate --config ./mcp-servers.json")
@takes("config", "as_json", "debug")
def validate(options: Options) -> int:
    """Report every mistake in the config file, without starting any server."""
    screen = options.screen
    file, loaded, faults = _examined(options)
    unmatched, shows_denied = ([], False) if faults else read_cache(loaded, None, _unmatched)
    warnings = (*loaded.warnings, *unmatched)
    if options.as_json:
        screen.json(
            {
                "config": file,
                "ok": not faults and not loaded.problems and not shows_denied,
                "faults": [_as_json(each) for each in faults],
                "problems": [_as_json(each) for each in loaded.problems],
                "warnings": warnings,
            }
        )
    else:
        for each in (*faults, *loaded.problems):
            screen.error(str(each))
        for warning in warnings:
            screen.warning(warning)
    if faults:
        return MISUSED
    if loaded.problems or shows_denied:
        return WRONG
    if not options.as_json:
        enabled = sum(server.enabled for server in loaded.servers)
        screen.text(f"{file}: {counted(len(loaded.servers), 'server')}, {enabled} enabled")
    return FINE


def _unmatched(session: Session) -> tuple[list[str], bool]:
    """Report names that fit no cached tool, and return whether one of them is in `deny`."""
    found = [
        (server.name, *each) for server in session.config.servers for each in session.catalog.unmatched(server.name)
    ]
    return [f"{name}: {sentence}" for name, sentence, _ in found], any(hides for *_, hides in found)


def _examined(options: Options) -> tuple[str, Config, Sequence[ConfigError]]:
    """Return the file's name, the valid part of its content, and its faults."""
    try:
        loaded, found = options.configuration()
    except FaultyFile as exc:
        return exc.source, exc.rest, exc.faults
    except ConfigError as exc:
        options.screen.traceback(exc)
        return exc.source, EMPTY_CONFIG, [exc]
    return str(found), loaded, []


def _as_json(fault: ConfigError) -> dict[str, Any]:
    return {
        "file": fault.source,
        "line": fault.line,
        "key": fault.key,
        "problem": fault.problem,
        "remedy": fault.remedy,
    }


_Path = Annotated[
    str, typer.Argument(metavar="[PATH]", help="A config file, or a folder with a config/mcp-servers.json.")
]
_TRUSTING = (
    "If you trust this file, search-mcp uses it instead of your own file when started in its folder, and runs these "
    "commands with your rights. A command that is added or changed later is held until you accept it. Clients that "
    "you registered with `search-mcp install` keep using your own file."
)


@app.command(
    cls=Command,
    epilog="search-mcp config trust --dry-run\nsearch-mcp config trust ~/work/project\nsearch-mcp config trust --undo",
)
@takes("dry_run", "as_json", "debug")
def trust(
    options: Options,
    path: _Path = ".",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Trust without asking.")] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Stop using the file, and forget the commands accepted in it.")
    ] = False,
) -> int:
    """Trust a project's config file, so that search-mcp uses it in that folder."""
    screen, file = options.screen, _meant(path)
    if undo:
        return _end_trust(options, file)
    if not file.exists():
        raise Misuse(
            f"there is no config file {printable(file)}", "name a file or folder: search-mcp config trust PATH"
        )
    loaded = location.read(file, os.environ)
    before = location.approvals().read(file)
    is_trusted = before.folder == "trusted"
    new = {each.name for each in loaded.servers if not before.accepts_texts(each)}
    say = screen.note if options.as_json else screen.text
    _show_trusted(file, loaded, new if is_trusted else None, screen, say)
    if not options.dry_run:
        if not screen.agrees("Trust it?", is_sure=yes or (is_trusted and not new)):
            screen.note("Nothing was changed." if is_trusted else "It is not trusted.")
            return WRONG
        with consent.remembering(file):
            location.approvals().trust(file, loaded.servers, confirms=loaded.settings.confirm_commands is True)
    if options.as_json:
        programs = [command_lines.as_json(each) for each in loaded.servers]
        screen.json({"config": printable(file), "trusted": not options.dry_run, "servers": programs})
    elif not options.dry_run:
        screen.note(f"{printable(file)} is trusted.")
    return FINE


def _show_trusted(
    file: Path, loaded: Config, new: Collection[str] | None, screen: Terminal, say: Callable[[str], None]
) -> None:
    """Show every command in a file, and mark the new ones if the file is trusted already."""
    state = "" if new is None else "is trusted, and "
    say(f"{printable(file)} {state}has {counted(len(loaded.servers), 'server')}:")
    for each in loaded.servers:
        mark = " (new or changed)" if new is not None and each.name in new else ""
        consent.show(each.name + mark, command_lines.entry_of(each), screen, say)
    screen.note(_TRUSTING if new is None or new else "Every command in it is accepted already.")


def _end_trust(options: Options, file: Path) -> int:
    screen = options.screen
    if not file.exists() and location.approvals().read(file).folder == "undecided":
        raise Problem(f"{printable(file)} does not exist and was never trusted", "name the project's folder")
    if not options.dry_run:
        with consent.remembering(file):
            location.approvals().refuse(file)
    if options.as_json:
        screen.json({"config": printable(file), "trusted": False})
    elif options.dry_run:
        screen.paragraph(f"Would no longer trust {printable(file)}.")
    else:
        screen.paragraph(
            f"{printable(file)} is no longer trusted, and is skipped without a notice. "
            "`search-mcp config trust` reverses this."
        )
        screen.note("Running clients keep these servers until they are restarted.")
    return FINE


def _meant(path: str) -> Path:
    """Return the file that a path stands for: the file itself or the one in a project's folder, with links resolved."""
    meant = Path(path).expanduser().absolute()
    return Path(real_path(meant / "config" / FILE_NAME if meant.is_dir() else meant))


@app.command("schema", cls=Command, epilog="search-mcp config schema > mcp-servers.schema.json")
@takes("debug")
def schema_(options: Options) -> int:
    """Print the JSON Schema of the config file, for editors."""
    from search_mcp.cli.files import schema  # no other command needs it

    options.screen.json(schema.of_file())
    return FINE
