"""What the catalog cache has of a client's servers, read in a thread before the client opens.

The event loop of an engine process serves other clients, and a disk or a network folder may take seconds for a file.
"""

import contextlib
from collections.abc import Collection, Iterable
from mmap import mmap
from pathlib import Path

from search_mcp.backends.cache import PROGRAM_LENGTH, CatalogCache, program_digest, with_state
from search_mcp.backends.channel import CannotOpenChannelError
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.transports import transport_to
from search_mcp.config.schema import ServerConfig
from search_mcp.files import read_whole


class ReadAhead(CatalogCache):
    """The catalog cache with files in memory, all of some programs, until they are dropped."""

    def __init__(self, folder: Path, programs: Collection[str]) -> None:
        """Read the files of these programs; may block."""
        super().__init__(folder)
        self._programs = frozenset(programs)
        self._files: dict[Path, tuple[slice, float]] = {}  # where its content is, and when it was changed
        sizes: dict[Path, int] = {}
        with contextlib.suppress(OSError):  # there is no folder yet
            for path in filter(self._is_known, folder.iterdir()):
                with contextlib.suppress(OSError):  # it was deleted meanwhile
                    sizes[path] = path.stat().st_size
        # Not on the heap: the process would keep the heap of this thread after its end.
        self._contents = mmap(-1, sum(sizes.values()) or 1)
        for path in sizes:
            begin = self._contents.tell()
            with contextlib.suppress(OSError, ValueError):  # it cannot be read, or has grown meanwhile
                self._contents.write(read_whole(path))
                self._files[path] = slice(begin, self._contents.tell()), path.stat().st_mtime

    def drop(self) -> None:
        """Read the folder itself from now on."""
        self._programs = frozenset()
        self._files = {}
        self._contents.close()

    def _records_of(self, program: str) -> list[Path]:
        if program not in self._programs:
            return super()._records_of(program)
        return [path for path in self._files if path.name.startswith(f"{program}-") and path.suffix == ".json"]

    def _content(self, path: Path) -> bytes:
        return self._contents[self._file(path)[0]] if self._is_known(path) else super()._content(path)

    def _modified_at(self, path: Path) -> float:
        return self._file(path)[1] if self._is_known(path) else super()._modified_at(path)

    def _is_known(self, path: Path) -> bool:
        return path.name[:PROGRAM_LENGTH] in self._programs

    def _file(self, path: Path) -> tuple[slice, float]:
        if path not in self._files:
            raise FileNotFoundError(path)
        return self._files[path]


def read_ahead(folder: Path, servers: Iterable[ServerConfig], dependencies: Dependencies) -> ReadAhead:
    """Read what is cached of these servers; may block."""
    programs: set[str] = set()
    for config in servers:
        if not config.may_run or config.problem is not None:
            continue
        with contextlib.suppress(CannotOpenChannelError, OSError):  # it cannot be started, so nothing of it is used
            transport = transport_to(config, dependencies)
            program = transport.program()
            programs.add(program_digest(config, program if transport.is_http else with_state(program)))
    return ReadAhead(folder, programs)
