"""The files of the shortened results of a process, for all its clients."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from search_mcp.results.kept_results import KeptResults


class ProcessResults:
    """The files of shortened results, made with the first of them."""

    def __init__(self, make: "Callable[[], KeptResults] | None" = None) -> None:
        self._make = make or _make_kept_results
        self._kept: KeptResults | None = None

    def load(self) -> "KeptResults":
        """Return the files, which may be made for this."""
        if self._kept is None:
            self._kept = self._make()
        return self._kept

    def end(self) -> None:
        """Delete the results, if there are any."""
        if self._kept is not None:
            self._kept.end()


def _make_kept_results() -> "KeptResults":
    from search_mcp.results.kept_results import make_kept_results

    return make_kept_results()
