"""A client of `serve` that searches, and the processes that make vectors for it."""

from pathlib import Path
from typing import Any

from processes.run import Json, Run
from real.processes import living

QUERY = "time"
PROGRAM = "search_mcp.semantic.worker"


def names_in(result: Json) -> list[str]:
    return [each.split("(")[0].split(":")[0] for each in result["structuredContent"]["results"]]


class Searcher:
    """A client that searches."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def found(self, query: str = QUERY, **arguments: Any) -> list[str]:
        results = self.run.asks("tools/call", name="search_tools", arguments={"query": query, **arguments})
        return names_in(results)

    def until_found(self, query: str = QUERY, **arguments: Any) -> list[str]:
        """Search until the meaning of the query is known."""
        names: list[str] = []

        def is_found() -> bool:
            names[:] = self.found(query, **arguments)
            return bool(names)

        self.run.waits_until(is_found)
        return names


def workers(mark: str) -> list[int]:
    """Return the processes that make vectors."""
    return [pid for pid in sorted(living(mark)) if PROGRAM in _command(pid)]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
