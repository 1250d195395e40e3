"""The addresses that servers asked the user of one client to open, and that this client cannot show.

The page for people shows them; the server is asked again once the user is done there.
"""

from collections.abc import Callable, Iterable

from search_mcp.model.calls import Link

MOST_LINKS = 16
"""Addresses that are kept; a new one takes the place of the oldest."""
KEPT_SECONDS = 600.0
"""Time for which they are kept, in seconds: most such addresses are valid no longer."""


class Links:
    """The addresses that wait for the user."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._noted: dict[Link, float] = {}

    def note(self, links: Iterable[Link]) -> None:
        """Keep addresses."""
        for link in links:
            self._noted.pop(link, None)
            self._noted[link] = self._clock()
        for oldest in list(self._noted)[:-MOST_LINKS]:
            del self._noted[oldest]

    def drop(self, link: Link) -> None:
        """Forget an address: the user is done with it."""
        self._noted.pop(link, None)

    def waiting(self) -> list[Link]:
        """Return the addresses that wait, the newest last."""
        earliest = self._clock() - KEPT_SECONDS
        return [link for link, at in self._noted.items() if at > earliest]
