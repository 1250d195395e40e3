"""The way to a server that is a child process: its program, environment and log file."""

import sys
from collections.abc import Callable, Mapping, Sequence

from search_mcp.backends.channel import CannotOpenChannelError, Channel, Listener
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.process.launching import Command, is_program
from search_mcp.backends.process.stderr_log import file_name
from search_mcp.backends.process.variables import child_environment, find_program, missing_program
from search_mcp.config.schema import ServerConfig


class ProcessTransport:
    """Starts the command of an entry; the `Transport` of local servers."""

    is_http = False

    def __init__(self, config: ServerConfig, dependencies: Dependencies) -> None:
        self._config, self._dependencies = config, dependencies

    def program(self) -> str:
        """Find the executable.

        Raises:
            CannotOpenChannelError: it does not exist.
        """
        return self._resolved(self._environment())

    def start(self, counts: Callable[[str], bool]) -> Sequence[object]:
        """Return the program, its arguments, its environment and its folder.

        Raises:
            CannotOpenChannelError: it does not exist.
        """
        environment, own = self._environment(), self._config.env
        given = sorted((name, value) for name, value in environment.items() if name in own or counts(name))
        return [self._resolved(environment), self._config.args, given, self._folder()]

    async def open(self, listener: Listener) -> Channel:
        """Start the process.

        Raises:
            CannotOpenChannelError: it cannot be started.
        """
        command = self._command()
        try:
            return await self._dependencies.spawn(command, listener.on_bytes, listener.on_end)
        except (OSError, ValueError) as exc:
            raise CannotOpenChannelError(f"it could not be started: {exc}") from exc

    def _command(self) -> Command:
        config, folder = self._config, self._dependencies.log_folder
        environment = self._environment()
        log_file = folder / file_name(config.name) if folder is not None else None
        program = self._resolved(environment)
        return Command(program, config.args, environment, self._folder(), log_file, config.secrets)

    def _folder(self) -> str | None:
        return self._dependencies.folder if self._config.cwd is None else self._config.cwd

    def _environment(self) -> Mapping[str, str]:
        config, given = self._config, self._dependencies
        return child_environment(sys.platform, given.variables, config.env, config.inherit_env, given.home)

    def _resolved(self, environment: Mapping[str, str]) -> str:
        def find(command: str) -> str | None:
            return find_program(sys.platform, command, environment, self._folder(), is_program)

        command = self._config.command
        found = find(command)
        if found is None:
            raise CannotOpenChannelError(missing_program(command, lambda other: bool(find(other))))
        return found
