"""Selection of the servers of a configuration file that are held until the user accepts their programs.

The rules, at the start and for every edit while `serve` runs:

- The user's own file is trusted; an edit of it takes effect at once.
- A file that was named (`--config`, the variable), or is in the checkout that search-mcp runs from, is trusted as it is
  at the start; a program that an edit adds or changes is held until it is accepted, or until the next start.
- In a file that was found in the current folder, only the accepted programs are trusted, with the texts about them.
- `confirmCommands`, as it was at the start, overrides the rule for edits. If it is true, programs that were never
  accepted are held after the next start, too, and removing it has no effect until the user trusts the file again. In a
  file that was found it has no effect, because the file could approve its own programs.
- If approval is needed and its record cannot be read or written, all servers are held.

Switches, filters and settings are never held, except an address that the search sends texts and a key to: one in a file
that was found has no effect, and where programs of an edit are held, an edited address has none before the next start.
`trust` keeps the record of accepted programs.
"""

import enum
import logging
from collections.abc import Callable
from pathlib import Path

from search_mcp.config import identity
from search_mcp.config.held_command import held_command
from search_mcp.config.schema import Config, Embeddings, Held, ServerConfig
from search_mcp.config.trust import Approvals, Record, printable, real_path
from search_mcp.model.errors import for_shell
from search_mcp.wire.structs import replace

log = logging.getLogger(__name__)


class Origin(enum.Enum):
    """The reason why a configuration file is used."""

    OWN = "the file in the user's own configuration folder, whichever way it was named"
    NAMED = "another file that was named, or that of our own checkout"
    FOUND = "a file in the current folder, which the user trusted"


def for_command(config: Config, path: Path, origin: Origin, approvals: Approvals) -> Config:
    """Mark the servers that a command must not start: those held at every start, or by a running `serve`."""
    record = approvals.read(path)
    if origin is Origin.FOUND:
        config = _without_address(config, path, _IS_FOUND)
    if origin is Origin.FOUND or _confirms(config, record):
        if warning := _about_removed(config, record, path, origin):
            config = replace(config, warnings=(*config.warnings, warning))
        record = _at_start(config, path, origin, record, approvals)
        return _marked(config, path, origin, _accepts(record, origin), record.fault)
    if origin is not Origin.OWN and record.folder == "trusted":  # the remedy in a folder names the file
        return _marked(config, path, origin, record.accepts_texts)
    return _marked(config, path, origin, lambda server: not record.holds(server))


class Gate:
    """The rules for the configuration file of a running `serve`."""

    def __init__(self, path: Path, origin: Origin, approvals: Approvals) -> None:
        self.path, self.origin = path, origin
        self.is_remembered = False
        """Whether commands can read which servers are held here."""
        self._approvals = approvals
        self._holds_edits = True
        self._warning = ""
        self._fault = ""
        self._allowed: set[tuple[str, str, bytes, bytes]] = set()  # real path, server, program, texts
        self._reported: set[tuple[str, bytes]] = set()
        self._held: list[ServerConfig] = []
        self._embeddings: Embeddings | None = None  # those of the start

    def at_start(self, config: Config) -> Config:
        """Mark the servers that are held from the start; this configuration also decides the rule for edits."""
        record = self._approvals.read(self.path)
        confirms = True if record.confirms else config.settings.confirm_commands
        is_own = self.origin is Origin.OWN
        self._holds_edits = self.origin is Origin.FOUND or (not is_own if confirms is None else confirms)
        self._warning = _about_removed(config, record, self.path, self.origin)
        if self.origin is Origin.FOUND or confirms is True:
            record = _at_start(config, self.path, self.origin, record, self._approvals)
            self._fault = record.fault
            config = _marked(config, self.path, self.origin, _accepts(record, self.origin), self._fault)
        self._embeddings = None if config.embeddings is None else config.embeddings.written
        if self.origin is Origin.FOUND:
            config = _without_address(config, self.path, _IS_FOUND)
        real = real_path(self.path)
        self._allowed |= {self._key(real, each) for each in config.servers if each.held is None}
        self._held = [each for each in config.servers if each.held is not None]
        return config

    def after_edit(self, config: Config) -> Config:
        """Mark the servers whose programs are neither accepted nor unchanged since the start."""
        if not self._holds_edits:
            return config
        if self.origin is Origin.FOUND:
            config = _without_address(config, self.path, _IS_FOUND)
        elif config.embeddings is not None and config.embeddings.written != self._embeddings:
            config = _without_address(config, self.path, _IS_EDITED)
        real, allowed = real_path(self.path), self._allowed
        if any(self._key(real, each) not in allowed for each in config.servers):
            record = self._approvals.read(self.path)
            is_accepted = _accepts(record, self.origin)
            allowed |= {self._key(real, each) for each in config.servers if is_accepted(each)}
            self._fault = "" if record.accepted else record.fault or self._fault
        config = _marked(config, self.path, self.origin, lambda server: self._key(real, server) in allowed, self._fault)
        held = [each for each in config.servers if each.held is not None]
        self.is_remembered = self.is_remembered and held == self._held
        self._held = held
        return config

    def _key(self, real: str, server: ServerConfig) -> tuple[str, str, bytes, bytes]:
        return real, server.name, server.program, identity.texts(server) if self.origin is Origin.FOUND else b""

    def report(self) -> None:
        """Log once for each held program why it is held; for a disabled server, when it is enabled."""
        if self._warning:
            log.warning("! %s", self._warning)
            self._warning = ""
        for server in self._held:
            if server.enabled and (server.name, server.program) not in self._reported:
                self._reported.add((server.name, server.program))
                line = held_command(server)
                log.warning("! %s: held: %s. The %s: %s", server.name, server.held, server.noun, line)

    def remember_held(self) -> None:
        """Record for commands which servers are held here; may be called in any thread, but in one at a time."""
        self.is_remembered = True
        if self.origin is Origin.OWN and not self._holds_edits:
            return
        held = self._held
        if not held and not self._approvals.read(self.path).held:
            return
        try:
            self._approvals.note_held(self.path, held)
        except OSError as exc:
            log.warning("! which servers are held cannot be remembered in %s: %s", self._approvals.folder, exc)


_IS_FOUND = "has no effect in a project file; write it into your own file"
_IS_EDITED = "was changed by an edit; restart search-mcp to use it"


def _without_address(config: Config, path: Path, why: str) -> Config:
    """Mark the address that makes vectors of texts as not used."""
    if config.embeddings is None:
        return config
    problem = f'the address in "semantic" of {printable(path)} {why}'
    return replace(config, embeddings=replace(config.embeddings, problem=problem), warnings=(*config.warnings, problem))


def _confirms(config: Config, record: Record) -> bool:
    return config.settings.confirm_commands is True or record.confirms


def _accepts(record: Record, origin: Origin) -> Callable[[ServerConfig], bool]:
    return record.accepts_texts if origin is Origin.FOUND else record.accepts


def _about_removed(config: Config, record: Record, path: Path, origin: Origin) -> str:
    """Warn that removing `confirmCommands` has no effect yet."""
    if origin is Origin.FOUND or not record.confirms or config.settings.confirm_commands is True:
        return ""
    file = printable(path)
    return f"{file}: confirmCommands was true and still counts, until `search-mcp config trust {for_shell(file)}`"


def _at_start(config: Config, path: Path, origin: Origin, record: Record, approvals: Approvals) -> Record:
    """Return the record of a file; with `confirmCommands`, the first start accepts all programs."""
    is_confirmed = config.settings.confirm_commands is True and origin is not Origin.FOUND
    if not is_confirmed or record.fault or (record.has_baseline and record.confirms):
        return record
    try:
        return approvals.confirm(path, config.servers)
    except OSError as exc:
        return replace(record, fault=f"{approvals.folder}: {exc.strerror}")


def _marked(
    config: Config, path: Path, origin: Origin, is_allowed: Callable[[ServerConfig], bool], fault: str = ""
) -> Config:
    if all(map(is_allowed, config.servers)):
        return config
    servers = (
        each if is_allowed(each) else replace(each, held=_held(each, path, origin, fault)) for each in config.servers
    )
    return replace(config, servers=tuple(servers))


def _held(server: ServerConfig, path: Path, origin: Origin, fault: str) -> Held:
    file = printable(path)
    if fault:
        why = f"the record of the commands that you accepted cannot be used ({fault})"
        return Held(why, f"search-mcp config trust {for_shell(file)}")
    named = "" if origin is Origin.OWN else f" --config {for_shell(file)}"
    parts = f"{server.noun}, or a text about it," if origin is Origin.FOUND else server.noun
    why = f"its {parts} is new or changed in {file}"
    return Held(why, f"search-mcp check --accept {for_shell(server.name)}{named}")
