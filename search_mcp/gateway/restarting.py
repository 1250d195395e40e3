"""The answer of `restart_server`: the state of the server after the restart, and what changed in its tools."""

from collections.abc import Mapping
from typing import Any

from search_mcp.catalog.profiles import Audience
from search_mcp.gateway.client_state import ClientState
from search_mcp.gateway.servers import Servers
from search_mcp.model.calls import Call, Result
from search_mcp.model.errors import ask_user
from search_mcp.model.names import Kind, State
from search_mcp.own_tools.arguments import MOST_NAMED, ArgumentError, enumerated, instead, read_argument, read_server
from search_mcp.wire import payload
from search_mcp.wire.structs import Fields


def restart(servers: Servers, client: ClientState, call: Call, arguments: Mapping[str, Any]) -> None:
    """Restart the server that a call names, and answer the call when the server has listed its tools, or failed."""
    try:
        name = _named(servers, arguments)
    except ArgumentError as exc:
        call.reply(_answer(str(exc), {}, is_error=True))
        return
    audience = client.audience(call.caller.viewer)
    before = _tools(servers, name, audience)
    is_awaited = servers.backends[name].restart()

    def answer() -> None:
        call.reply(_report(servers, name, before, _tools(servers, name, audience)))

    kinds = frozenset({Kind.TOOLS})
    client.lists.when_settled(kinds, [name], answer, call.reply, None, lambda _name, _kind: is_awaited())


def _named(servers: Servers, arguments: Mapping[str, Any]) -> str:
    """Return the server that the arguments name.

    Raises:
        ArgumentError: there is no such server, or it is not under development.
    """
    developed = [each for each in servers.backends if servers.configs[each].watch]
    name = read_server(read_argument(arguments, "server", str, ""), list(servers.configs))
    if name in developed:
        return name
    if name is None:
        raise ArgumentError(f"server is missing{instead(arguments, 'server')}. Give one of {enumerated(developed)}")
    raise ArgumentError(f'Only servers with "watch" in their configuration are restarted: {enumerated(developed)}')


def _tools(servers: Servers, server: str, audience: Audience) -> Mapping[str, Fields]:
    """Return the definitions of a server's tools by the names that the client is shown."""
    shown = servers.spellings.of(Kind.TOOLS, audience.profile)
    items = servers.catalog.tools()
    return {shown[item]: item.fields for item in items if item.server == server and item.is_for_models}


def _report(servers: Servers, name: str, before: Mapping[str, Fields], after: Mapping[str, Fields]) -> Result:
    if name not in servers.configs:
        return _answer(f"{name} is no longer in the configuration", {"server": name}, is_error=True)
    status = servers.status(name)
    if status.state is not State.READY:
        error = servers.not_running(status)
        return _answer(str(error), error.data(), is_error=True)
    data: dict[str, Any] = {"server": name, "state": status.state, "tools": len(after)}
    said = [f"{name} was restarted and is ready, with {len(after)} tool{'' if len(after) == 1 else 's'}"]
    if servers.catalog.is_unlistable(name, Kind.TOOLS):
        said.append("Its list of tools could not be read")
    changes = {
        "added": [tool for tool in after if tool not in before],
        "removed": [tool for tool in before if tool not in after],
        "changed": [tool for tool in after if tool in before and before[tool] != after[tool]],
    }
    for what, tools in changes.items():
        if tools:
            data[what] = tools[:MOST_NAMED]
            said.append(f"{what.capitalize()}: {enumerated(tools)}")
    if not any(changes.values()):
        said.append("Its tools are the same as before")
    if withheld := servers.catalog.withheld(name):
        data["withheld"] = len(withheld)
        remedy = ask_user(servers.configs[name].check("--accept"))
        said.append(f"{len(withheld)} withheld until the user accepts them. {remedy}")
    return _answer(f"{'. '.join(said)}.", data)


def _answer(text: str, data: Mapping[str, Any], *, is_error: bool = False) -> Result:
    body: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    if data:
        body["structuredContent"] = data
    if is_error:
        body["isError"] = True
    return Result(payload.encode(body))
