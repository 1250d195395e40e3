"""A command that has subcommands, such as `auth`; without one of them, it shows its help."""

import typer

from search_mcp.cli.help_text import Group
from search_mcp.cli.terminal import Terminal


def command_group(about: str) -> typer.Typer:
    """Make such a command, to which its module adds the subcommands."""
    app = typer.Typer(cls=Group, help=about, invoke_without_command=True)
    app.callback()(_without_command)
    return app


def _without_command(context: typer.Context) -> None:
    """Show the help."""
    if context.invoked_subcommand is None:
        assert isinstance(context.obj, Terminal)
        context.obj.text(context.get_help())
