"""Reading of the client's requests, as far as both eras have the same rules: targets and cursors."""

from search_mcp.dialects import MergedCapabilities, names
from search_mcp.model.names import Action, Kind
from search_mcp.wire import payload
from search_mcp.wire.errors import invalid_params, method_not_found
from search_mcp.wire.structs import Fields, Raw


def read_target(method: str, params: Fields) -> tuple[Action, str]:
    """Return the action and the target of a request.

    Raises:
        ProtocolError: the method is unknown, or the parameter that names the target is wrong.
    """
    if method in names.TARGETED:
        action, key = names.TARGETED[method]
        return action, payload.string(params.get(key)) or _required_string(params, key)
    if method == names.COMPLETE:
        return _read_reference(params)
    if method == names.TASKS_LIST:
        refuse_cursor(params)
        return Action.LIST_TASKS, ""
    raise method_not_found(method)


def _read_reference(params: Fields) -> tuple[Action, str]:
    try:
        reference = payload.fields(params["ref"])
    except (KeyError, ValueError):
        raise invalid_params("Invalid params: ref must be an object") from None
    try:
        payload.fields(params["argument"])
    except (KeyError, ValueError):
        raise invalid_params("Invalid params: argument must be an object") from None
    found = names.REFERENCES.get(payload.string(reference.get("type")) or "")
    if found is None:
        raise invalid_params(f"Invalid params: ref.type must be {' or '.join(names.REFERENCES)}")
    action, key = found
    return action, _required_string(reference, key)


def _required_string(params: Fields, key: str) -> str:
    value = payload.string(params.get(key))
    if not value:
        problem = "is missing" if key not in params else "must be a string and not empty"
        raise invalid_params(f"Invalid params: {key} {problem}")
    return value


def refuse_undeclared_skills(offered: MergedCapabilities) -> None:
    """Check that a server has skills: an extension that is not declared does not exist for a client.

    Raises:
        ProtocolError: no server has skills.
    """
    if Kind.SKILLS not in offered.kinds:
        raise method_not_found(f"{names.LIST_METHOD[Kind.SKILLS]} (no server has skills)")


def refuse_cursor(params: Fields) -> None:
    """Check that a request has no cursor: lists have one page, so no cursor was ever given out.

    Raises:
        ProtocolError: there is one. "Invalid cursors SHOULD result in an error with code -32602"
    """
    if payload.value(params.get("cursor", Raw(b"null"))) is not None:
        raise invalid_params("Invalid params: this cursor was not given here; lists are one page")
