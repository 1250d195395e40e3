"""The front over HTTP: Streamable HTTP in both eras, for clients that cannot start a process, and for teams.

`app` is the ASGI application for any server that runs such: `uvicorn search_mcp.fronts.http:app`. It needs the server's
lifespan events. The configuration is the one that `search-mcp serve` uses; every call needs a token.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class App:
    """The application, from the start to the end of its server."""

    def __init__(self) -> None:
        self._front: Callable[[MutableMapping[str, Any], _Receive, _Send], Awaitable[None]] | None = None

    async def __call__(self, scope: MutableMapping[str, Any], receive: _Receive, send: _Send) -> None:
        """Serve clients over HTTP.

        Raises:
            RuntimeError: the server has sent no lifespan event.
        """
        if scope["type"] == "lifespan":
            from search_mcp.fronts.http.lifespan import lifespan

            await lifespan(receive, send, self._show)
        elif self._front is not None:
            await self._front(scope, receive, send)
        else:
            raise RuntimeError("the ASGI server has to send lifespan events, as `uvicorn --lifespan on` does")

    def _show(self, front: Callable[[MutableMapping[str, Any], _Receive, _Send], Awaitable[None]] | None) -> None:
        self._front = front


app: Final = App()
