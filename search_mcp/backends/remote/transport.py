"""The transport of remote servers."""

from collections.abc import Sequence
from functools import partial

from search_mcp.auth.access import Access
from search_mcp.auth.settings import login_settings
from search_mcp.auth.store import LoginStore
from search_mcp.backends.channel import CannotOpenChannelError, Channel, Listener
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.remote.channel import HttpChannel
from search_mcp.backends.remote.client import new_client
from search_mcp.backends.remote.requests import Login, NoLogin
from search_mcp.config import identity
from search_mcp.config.schema import Remote
from search_mcp.folders import logins_folder
from search_mcp.http.failures import RefusedError


class RemoteTransport:
    """Opens channels to the address of an entry; the `Transport` of remote servers."""

    is_http = True

    def __init__(self, name: str, remote: Remote, dependencies: Dependencies) -> None:
        self._remote, self._dependencies = remote, dependencies
        self._login = _login(name, remote, dependencies)

    def program(self) -> str:
        """Return the address."""
        return self._remote.url

    def start(self) -> Sequence[object]:
        """Return the address, the headers and the login."""
        return identity.reached_by(self._remote)

    async def open(self, listener: Listener) -> Channel:
        """Prepare a connection; the first message makes it.

        Raises:
            CannotOpenChannelError: the address or the file with certificates cannot be used.
        """
        try:
            new = self._dependencies.new_http_client or new_client
            client = await self._dependencies.run_blocking(partial(new, self._remote))
        except RefusedError as exc:
            raise CannotOpenChannelError(str(exc)) from exc
        except ValueError as exc:
            raise CannotOpenChannelError(f"its address cannot be used: {exc}") from exc
        conceal, limit = self._dependencies.conceal, self._dependencies.max_message_bytes
        channel = HttpChannel(client, self._remote, listener, limit, self._login, conceal)
        await channel.start()
        return channel


def _login(name: str, remote: Remote, dependencies: Dependencies) -> Login:
    if remote.may_log_in:
        store = LoginStore(logins_folder())
        return Access(login_settings(name, remote), store, run=dependencies.run_blocking)
    if remote.oauth is None:
        return NoLogin('it needs a login, which "oauth": false in its entry excludes')
    return NoLogin("it does not accept the credentials of its entry")
