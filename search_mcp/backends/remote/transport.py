"""The opening of channels to remote servers."""

from functools import partial

from search_mcp.auth.access import Access
from search_mcp.auth.settings import login_settings
from search_mcp.auth.store import LoginStore
from search_mcp.backends.channel import CannotOpenChannelError, Channel, Listener
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.remote.channel import HttpChannel
from search_mcp.backends.remote.client import new_client
from search_mcp.backends.remote.requests import NoLogin
from search_mcp.config.schema import Remote, ServerConfig
from search_mcp.folders import logins_folder
from search_mcp.http.failures import RefusedError


async def open_channel(config: ServerConfig, remote: Remote, dependencies: Dependencies, listener: Listener) -> Channel:
    """Prepare a connection; the first message makes it.

    Raises:
        CannotOpenChannelError: the address or the file with certificates cannot be used.
    """
    try:
        new = dependencies.new_http_client or new_client
        client = await dependencies.run_blocking(partial(new, remote))
    except RefusedError as exc:
        raise CannotOpenChannelError(str(exc)) from exc
    except ValueError as exc:
        raise CannotOpenChannelError(f"its address cannot be used: {exc}") from exc
    login = _login(config, remote, dependencies)
    channel = HttpChannel(client, remote, listener, dependencies.max_message_bytes, login, dependencies.conceal)
    await channel.start()
    return channel


def _login(config: ServerConfig, remote: Remote, dependencies: Dependencies) -> Access | NoLogin:
    if remote.may_log_in:
        store = LoginStore(logins_folder(config.principal))
        return Access(login_settings(config.name, remote), store, run=dependencies.run_blocking)
    if remote.oauth is None:
        return NoLogin('it needs a login, which "oauth": false in its entry excludes')
    return NoLogin("it does not accept the credentials of its entry")
