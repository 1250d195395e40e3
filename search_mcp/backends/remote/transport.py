"""The way to a remote server."""

from functools import partial

from search_mcp.backends.channel import CannotOpenChannelError, Channel, Listener
from search_mcp.backends.remote.channel import HttpChannel, Login, NoLogin
from search_mcp.backends.remote.client import new_client
from search_mcp.background import RunBlocking
from search_mcp.config.schema import Remote


class RemoteTransport:
    """Reaches the address of an entry; the `Transport` of remote servers."""

    is_http = True

    def __init__(
        self,
        address: Remote,
        run_blocking: RunBlocking,
        limit: int,
        login: Login | None = None,
    ) -> None:
        self._address, self._run_blocking, self._limit = address, run_blocking, limit
        self._login = login or NoLogin()

    def program(self) -> str:
        """Return the address."""
        return self._address.url

    async def open(self, listener: Listener) -> Channel:
        """Prepare a connection; the first message makes it.

        Raises:
            CannotOpenChannelError: the address or the file with certificates cannot be used.
        """
        try:
            client = await self._run_blocking(partial(new_client, self._address))
        except OSError as exc:
            raise CannotOpenChannelError(f"its certificates cannot be read: {exc}") from exc
        except ValueError as exc:
            raise CannotOpenChannelError(f"its address cannot be used: {exc}") from exc
        channel = HttpChannel(client, self._address, listener, self._limit, self._login)
        await channel.start()
        return channel
