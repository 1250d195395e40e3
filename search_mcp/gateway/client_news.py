"""Which notifications of servers are meant for one client.

Several clients may share a server. A client gets the notifications that belong to its own calls, subscriptions, tasks
and elicitations. A client that is alone gets everything that a server sends, as if it were connected to the server.
"""

import logging
from typing import TypeAlias

from search_mcp.dialects.asking import elicitation_id
from search_mcp.dialects.params import is_wanted
from search_mcp.gateway.client_state import ClientState
from search_mcp.gateway.servers import Servers
from search_mcp.model.names import Kind
from search_mcp.model.servers import ElicitationComplete, LogMessage, ResourceUpdated, TaskChanged

log = logging.getLogger(__name__)

DEFAULT_LOG_LEVEL = "info"
"""The least severe log messages for a client that set no level, once it shares the servers with others."""

Notification: TypeAlias = ResourceUpdated | LogMessage | ElicitationComplete | TaskChanged


def is_for_client(news: Notification, servers: Servers, client: ClientState, session: object) -> bool:
    """Return whether a server's notification is meant for this client, whose calls have this session."""
    is_alone = servers.was_alone(news.server)
    match news:
        case ResourceUpdated(server, uri):
            is_meant = _is_update_wanted(server, uri, servers, client)
        case ElicitationComplete(server, params):
            given = elicitation_id(params)
            is_meant = given is not None and client.elicitations.known(server, given) is not None
        case LogMessage():
            is_meant = is_alone or _is_log_wanted(news, client, session)
        case TaskChanged(server, params):
            is_meant = is_alone or client.tasks.knows_named(server, params)
    if is_alone and not is_meant:
        why = "it is about a resource of another server, or an unknown elicitation"
        log.debug("! %s: %s is not passed on: %s", news.server, type(news).__name__, why)
    return is_meant and not client.names_task_of_another(news.server, news.params)


def _is_update_wanted(server: str, uri: str, servers: Servers, client: ClientState) -> bool:
    """Return whether the client gets an update of a resource from this server.

    It does if it subscribed to the resource at this server. If no other server owns the resource, it also does if
    it subscribed to a parent of it, or if this server owns the resource and the client is alone.
    """
    if client.subscriptions.has(server, uri):
        return True
    # Templates are not matched: a server may send any URI as often as it likes, and list thousands of them.
    owner = servers.catalog.owner(uri)
    owner = owner or servers.only_server(lambda able: Kind.RESOURCES in able.kinds)
    if owner == server and servers.was_alone(server):
        return True
    return owner in (None, server) and client.subscriptions.cover(server, uri)


def _is_log_wanted(message: LogMessage, client: ClientState, session: object) -> bool:
    """Return whether a log message is of this client's call, or of no call, and as severe as it wants."""
    if message.call is None:
        return is_wanted(message.params, client.log_level or DEFAULT_LOG_LEVEL)
    caller = message.call.caller
    return caller.session is session and is_wanted(message.params, caller.log_level or DEFAULT_LOG_LEVEL)
