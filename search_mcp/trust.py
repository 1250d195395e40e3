"""What each server's tools were when first seen, and which of them are others now.

Decides what counts as a change and remembers it, one file a server, until the user accepts it. A server
that is updated, or taken over, may describe an old tool anew; a model reads that as instructions. What
to do about it is not decided here: the catalogue reports such a tool, or withholds it. Several processes share
the folder: one changes a record at a time, as it is then.
"""

import hashlib
import logging
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Literal

from search_mcp import jsonrpc
from search_mcp.catalog import fold
from search_mcp.config import ServerConfig
from search_mcp.files import locked, write_whole
from search_mcp.jsonrpc import Fields, Struct
from search_mcp.model import Page

log = logging.getLogger(__name__)

MOST_TOOLS = 10_000
"""How many tools of one server are remembered: a server that invents names without end fills no disk."""
PATIENCE_SECONDS = 5.0
"""How long another process may be at the records before nothing is remembered: it was stopped in the midst of it."""

Digests = dict[str, dict[str, str]]
"""By tool, then by variant: by protocol revision, and by the extensions that the client declares."""


class _Record(Struct, frozen=True):
    version: Literal[1]
    accepted: Digests
    changed: Digests


def _no_record() -> _Record:
    return _Record(1, {}, {})


_Change = Callable[[_Record], None]


class TrustStore:
    """A folder of records. One that is damaged counts as none, one that cannot be read is left alone; both are said."""

    def __init__(self, folder: Path, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.folder = folder
        self._lock = folder.with_name(f"{folder.name}.lock")  # not in it: edits in it are followed
        self._patience_seconds = patience_seconds

    def examine(self, config: ServerConfig, variant: str, page: Page) -> frozenset[str]:
        """Compare a list of tools with what was first seen; return those that are not what was accepted."""
        record = self._load(config)
        if record is None:
            return frozenset()
        compare = partial(_compare, variant=variant, page=page)
        if _changes(compare, record):
            try:
                record = self._revise(config, compare)
            except OSError as exc:
                log.warning("! what %s's tools are now cannot be remembered in %s: %s", config.name, self.folder, exc)
        return frozenset(record.changed)

    def changed(self, config: ServerConfig) -> frozenset[str]:
        """Tell which tools were found changed when last listed, and were not accepted since."""
        record = self._load(config)
        return frozenset(record.changed) if record is not None else frozenset()

    def accept(self, config: ServerConfig, tools: Collection[str]) -> None:
        """Take these tools as they were when last listed for what they should be.

        Raises:
            OSError: that cannot be remembered.
        """
        self._revise(config, partial(_accept, tools=tools))

    def _path(self, config: ServerConfig) -> Path:
        identity = jsonrpc.encode_bytes([config.name, config.command, config.args, config.cwd])
        return self.folder / f"{fold(config.name)[:40]}-{hashlib.sha256(identity).hexdigest()[:16]}.json"

    def _load(self, config: ServerConfig) -> _Record | None:
        path = self._path(config)
        try:
            return _read(path)
        except OSError as exc:  # it may be readable the next time
            log.warning("! what %s's tools were when first seen cannot be read: %s", config.name, exc)
            return None
        except ValueError as exc:
            log.warning("! what %s's tools were when first seen is not known any more: %s: %s", config.name, path, exc)
            return _no_record()

    def _revise(self, config: ServerConfig, change: _Change) -> _Record:
        """Change a record as it is now, whatever it was when somebody looked; return it.

        Raises:
            OSError: it cannot be read or written, or another process does not let go of it.
        """
        path = self._path(config)
        with locked(self._lock, self._patience_seconds):
            try:
                record = _read(path)
            except ValueError:  # which was said when it was looked at
                record = _no_record()
            if _changes(change, record):
                write_whole(path, jsonrpc.encode_bytes(record))
        return record


def _compare(record: _Record, variant: str, page: Page) -> None:
    """Note what is seen for the first time, and what is not as it was accepted."""
    for entry in page.entries:
        if entry.key not in record.accepted and len(record.accepted) >= MOST_TOOLS:
            continue
        seen = digest(entry.fields)
        if record.accepted.setdefault(entry.key, {}).setdefault(variant, seen) != seen:
            record.changed.setdefault(entry.key, {})[variant] = seen
        else:
            _forget(record.changed, entry.key, variant)


def _accept(record: _Record, tools: Collection[str]) -> None:
    for tool in tools:
        record.accepted.setdefault(tool, {}).update(record.changed.pop(tool, {}))


def _changes(change: _Change, record: _Record) -> bool:
    """Change a record; tell whether it is another one now."""
    before = jsonrpc.encode_bytes(record)
    change(record)
    return jsonrpc.encode_bytes(record) != before


def digest(definition: Fields) -> str:
    """Sum up a definition, whatever the order of its keys; `_meta` may hold anything, a clock included."""
    summed = hashlib.sha256()
    for key in sorted(definition.keys() - {"_meta"}):
        summed.update(jsonrpc.encode_bytes(key))
        summed.update(jsonrpc.canonical(definition[key]))
    return summed.hexdigest()


def _forget(digests: Digests, tool: str, variant: str) -> None:
    by_variant = digests.get(tool, {})
    by_variant.pop(variant, None)
    if not by_variant:
        digests.pop(tool, None)


def _read(path: Path) -> _Record:
    try:
        return jsonrpc.typed(path.read_bytes(), _Record)
    except (FileNotFoundError, NotADirectoryError):
        return _no_record()
    except ValueError as exc:
        raise ValueError(f"it is damaged, or of another version: {exc}") from exc
