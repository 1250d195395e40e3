"""Which servers of a configuration file are held, because the user has not accepted their programs.

Decides that for the start and for every edit while `serve` runs; `approvals` remembers what was accepted. The rules:

- The user's own file is trusted; an edit of it takes effect at once.
- A file that was named (`--config`, the variable), or belongs to our own checkout, is trusted as it is at the start;
  a program that an edit adds or changes is held until it is accepted, or until the next start.
- A file that was found in the current folder is trusted as far as its programs were accepted.
- `confirmCommands`, as it was at the start, overrides the rule for edits; if true, what was never accepted is held
  after the next start, too. In a file that was found it counts for nothing: it could approve its own programs.

Switches, filters and settings are never held.
"""

import enum
import logging
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from search_mcp.approvals import Approvals, real_path
from search_mcp.config import Config, ServerConfig, command_line
from search_mcp.jsonrpc import altered

log = logging.getLogger(__name__)


class Origin(enum.Enum):
    """How a configuration file came to be used."""

    OWN = "the file in the user's own configuration folder, whichever way it was named"
    NAMED = "another file that was named, or that of our own checkout"
    FOUND = "a file in the current folder, which the user trusted"


def for_command(config: Config, path: Path, origin: Origin, approvals: Approvals) -> Config:
    """Mark the servers that a command must not start: those held at every start, and those that a `serve` holds."""
    if _is_confirmed_at_start(config, origin):
        return _at_start(config, path, origin, approvals)
    if origin is Origin.OWN:
        return config
    record = approvals.read(path)
    if record.folder == "trusted":  # the remedy for a program that is held in a folder's file names that file
        return _marked(config, path, origin, record.accepts)
    return _marked(config, path, origin, lambda server: not record.holds(server))


class Gate:
    """The rules for the one file that a running `serve` follows."""

    def __init__(self, path: Path, origin: Origin, approvals: Approvals) -> None:
        self.path = path
        self.is_remembered = False
        """Whether commands can know what is held here."""
        self._origin, self._approvals = origin, approvals
        self._holds_edits = True
        self._allowed: set[tuple[str, str, bytes]] = set()  # real path, server, program
        self._reported: set[tuple[str, bytes]] = set()
        self._held: list[ServerConfig] = []

    def at_start(self, config: Config) -> Config:
        """Mark what is held from the start; the rule for edits follows from this configuration."""
        confirms = config.settings.confirm_commands
        is_own = self._origin is Origin.OWN
        self._holds_edits = self._origin is Origin.FOUND or (not is_own if confirms is None else confirms)
        if _is_confirmed_at_start(config, self._origin):
            config = _at_start(config, self.path, self._origin, self._approvals)
        real = real_path(self.path)
        self._allowed |= {(real, each.name, each.program) for each in config.servers if each.held is None}
        self._held = [each for each in config.servers if each.held is not None]
        return config

    def after_edit(self, config: Config) -> Config:
        """Mark the servers whose programs are neither accepted nor those of the start."""
        if not self._holds_edits:
            return config
        real = real_path(self.path)
        if any((real, each.name, each.program) not in self._allowed for each in config.servers):
            record = self._approvals.read(self.path)
            self._allowed |= {(real, each.name, each.program) for each in config.servers if record.accepts(each)}
        allowed = self._allowed
        config = _marked(config, self.path, self._origin, lambda server: (real, server.name, server.program) in allowed)
        held = [each for each in config.servers if each.held is not None]
        self.is_remembered = self.is_remembered and held == self._held
        self._held = held
        return config

    def report(self) -> None:
        """Log once of each held program why it is held; of one that is switched off when it is switched on."""
        for server in self._held:
            if server.enabled and (server.name, server.program) not in self._reported:
                self._reported.add((server.name, server.program))
                log.warning("! %s: held: %s. The command: %s", server.name, server.held, command_line(server))

    def remember_held(self) -> None:
        """Let commands know what is held here; may be called in any thread, but in one at a time."""
        self.is_remembered = True
        if self._origin is Origin.OWN and not self._holds_edits:
            return
        held = self._held
        if not held and not self._approvals.read(self.path).held:
            return
        try:
            self._approvals.note_held(self.path, held)
        except OSError as exc:
            log.warning("! which servers are held cannot be remembered in %s: %s", self._approvals.folder, exc)


def _is_confirmed_at_start(config: Config, origin: Origin) -> bool:
    return origin is Origin.FOUND or config.settings.confirm_commands is True


def _at_start(config: Config, path: Path, origin: Origin, approvals: Approvals) -> Config:
    """Hold what was never accepted; with `confirmCommands` the first start accepts what there is."""
    record = approvals.read(path)
    if origin is not Origin.FOUND and not record.has_baseline:
        try:
            approvals.accept_all(path, config.servers)
        except OSError as exc:
            log.warning("! which programs are accepted cannot be remembered in %s: %s", approvals.folder, exc)
        return config
    return _marked(config, path, origin, record.accepts)


def _marked(config: Config, path: Path, origin: Origin, is_allowed: Callable[[ServerConfig], bool]) -> Config:
    if all(map(is_allowed, config.servers)):
        return config
    servers = (each if is_allowed(each) else altered(each, held=_reason(each, path, origin)) for each in config.servers)
    return altered(config, servers=tuple(servers))


def _reason(server: ServerConfig, path: Path, origin: Origin) -> str:
    named = "" if origin is Origin.OWN else f" --config {_quoted(str(path))}"
    remedy = f"`search-mcp check --accept {_quoted(server.name)}{named}` shows and accepts it"
    return f"its command is new or was changed in {path}; {remedy}"


def _quoted(word: str) -> str:
    """Quote a word for a command that a person may copy: the name of the server is the file's."""
    if sys.platform == "win32":
        return f'"{word}"' if " " in word else word
    quoted: str = import_module("shlex").quote(word)  # for the few that are held, not for every start
    return quoted
