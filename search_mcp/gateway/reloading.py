"""Applying edits of the configuration file while `serve` runs; a broken edit is only reported."""

import logging
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import anyio

from search_mcp.background import QueueOperation, run_in_thread
from search_mcp.config.gate import Gate, Origin
from search_mcp.config.location import is_borrowed, read
from search_mcp.config.schema import Config, Settings, camel
from search_mcp.config.secrets import Redactor
from search_mcp.config.trust import printable
from search_mcp.config.watches import Watches
from search_mcp.files import make_folder
from search_mcp.folders import approvals_folder, trust_folder
from search_mcp.model.errors import ConfigError

if TYPE_CHECKING:
    from search_mcp.config.subset import Subset

log = logging.getLogger(__name__)

BURST_SECONDS = 0.2
"""Delay between an edit and reading the file: an editor that writes it in pieces has finished by then."""
MOST_LEARNT = 2000
"""Spellings of secrets that become known while search-mcp runs, and are kept: a server may give a new token for every
call."""
SETTLING_SECONDS = 1.0
"""Delay after the start before the configuration is read once more: the watch is in place by then."""


class LogSettings:
    """The log's level and the secrets it must not show, from every configuration so far."""

    def __init__(self, asked_for: str | None, *, as_json: bool = False) -> None:
        self._asked_for, self.as_json = asked_for, as_json
        self._secrets: frozenset[str] = frozenset()
        self._learnt: dict[str, None] = {}  # the newest last
        self.redact = Redactor()

    def level(self, config: Config | ConfigError) -> str:
        """Record a configuration's secrets; return the level to log at."""
        settled = "info"
        if isinstance(config, Config):
            settled = config.settings.log_level
            self._secrets |= config.secrets
            self._renew()
        return (self._asked_for or settled).upper()

    def apply(self, config: Config) -> None:
        """Record a configuration's secrets, and log at its level from now on."""
        logging.getLogger().setLevel(self.level(config))

    def conceal(self, secrets: frozenset[str]) -> None:
        """Hide secrets that became known while search-mcp runs, such as tokens of logins."""
        for secret in secrets:
            self._learnt.pop(secret, None)
            self._learnt[secret] = None
        for oldest in list(self._learnt)[:-MOST_LEARNT]:
            del self._learnt[oldest]
        self._renew()

    def _renew(self) -> None:
        self.redact = Redactor(self._secrets | self._learnt.keys())

    def clean(self, text: str) -> str:
        """Take secrets and the middle of a long text out of it, and show its invisible characters."""
        text = self.redact.shortened(text)
        if text.isascii():
            return text
        from search_mcp.model.visible import visible  # for few lines, not at the start

        return visible(text)


def _load_watching() -> None:
    import search_mcp.config.watching  # noqa: F401  # takes long, so not in the event loop


class Following(Protocol):
    """One client, or several, to whom an edit is applied."""

    @property
    def file_queue(self) -> QueueOperation: ...
    def reconfigure(self, config: Config) -> None: ...
    def note_broken_edit(self, error: str | None) -> None: ...
    def tidy(self) -> None: ...
    async def look_at_trust(self) -> None:
        """Compare the lists again if the user has accepted definitions."""
        ...


async def follow_edits(
    follow: Gate,
    gateway: Following,
    current: Config,
    log_to: LogSettings,
    watches: Watches,
    variables: Mapping[str, str] = os.environ,
    subset: "Subset | None" = None,
    burst_seconds: float = BURST_SECONDS,
) -> None:
    """Apply edits of the configuration and what the user accepts; a broken edit is reported once.

    `watches` are those of the process, `variables` those that the configuration may refer to, and `subset` selects the
    servers that this client uses.
    """
    complaint = ""

    async def look() -> None:
        nonlocal complaint, current
        config = await run_in_thread(partial(_read_again, follow, variables))
        chosen = subset.of(config) if subset is not None and isinstance(config, Config) else config
        if isinstance(config, Config) and chosen == current:
            pass  # the file was written without a change, or with one of servers that this client does not use
        elif isinstance(config, Config):
            for key in _changed_start_settings(current.settings, config.settings):
                log.warning("! %s is read at the start only; restart search-mcp to change it", key)
            log.info("= the configuration changed")
            log_to.apply(config)
            for warning in config.warnings:
                log.warning("! %s", warning)
            follow.report()
            current = config if subset is None else select(subset, config)
            gateway.reconfigure(current)
        elif str(config) != complaint:
            log.error("! %s; what ran goes on running", config)
        complaint = str(config) if isinstance(config, ConfigError) else ""
        shown = str(subset.veiled(config)) if subset is not None and isinstance(config, ConfigError) else complaint
        gateway.note_broken_edit(log_to.redact(shown) or None)

    folders = [folder for folder in (trust_folder(), approvals_folder()) if is_made(folder)]
    # Loaded after the first answers, which do not need it.
    await run_in_thread(_load_watching)
    await run_in_thread(gateway.tidy)
    with watches.noticed(follow.path, *folders) as edited:
        await anyio.sleep(SETTLING_SECONDS)
        while True:
            edited.clear()
            await gateway.look_at_trust()
            await look()  # the first time for edits made before the watch was in place
            if not follow.is_remembered:
                gateway.file_queue(follow.remember_held)  # may block on another process's lock
            await edited.wait()
            await anyio.sleep(burst_seconds)


def select(subset: "Subset", config: Config) -> Config:
    """Return the configuration with the servers of a client, and log which those are."""
    for line in subset.report(config):
        log.log(logging.WARNING if line.startswith("!") else logging.INFO, "%s", line)
    return subset.of(config)


def is_made(folder: Path) -> bool:
    """Make a state folder, so that changes in it can be watched."""
    try:
        make_folder(folder)
    except OSError as exc:
        log.warning("! %s cannot be made (%s), so nothing can be accepted while this runs", folder, exc.strerror)
        return False
    return True


_START_SETTINGS = ("max_message_bytes", "confirm_commands", "engine")


def _changed_start_settings(before: Settings, after: Settings) -> list[str]:
    """Return the edited settings that are read at the start only, as the file spells them."""
    return [camel(name) for name in _START_SETTINGS if getattr(before, name) != getattr(after, name)]


def _read_again(follow: Gate, variables: Mapping[str, str]) -> Config | ConfigError:
    """Read the configuration again; called in a thread, because a file may be large or its disk slow."""
    try:
        if follow.origin is Origin.FOUND and is_borrowed(follow.path):
            problem = "it is now a link to another folder's file"
            raise ConfigError(printable(follow.path), problem, "put the file itself there")
        return follow.after_edit(read(follow.path, variables))
    except ConfigError as exc:
        return exc
