"""Detection of the era of a client's request, and of the revisions in a server's answer to a probe. Stateless."""

from search_mcp.dialects import names
from search_mcp.wire import payload, structs
from search_mcp.wire.errors import ProtocolError, invalid_params
from search_mcp.wire.structs import Fields, Raw, Struct


class Envelope(Struct, frozen=True):
    """The description of the client in a modern request."""

    revision: str
    capabilities: Fields
    info: Raw | None
    log_level: str | None


def is_modern(method: str, meta: Fields, *, opened: bool) -> bool:
    """Return whether a request is of the modern era; `opened`: `initialize` was received before it.

    Raises:
        ProtocolError: it belongs to neither era; the message names what is missing.
    """
    # "An `initialize` request selects legacy semantics"; "A request carrying modern per-request `_meta`
    # is served statelessly according to this revision."
    if method == names.INITIALIZE:
        return False
    if names.VERSION_KEY in meta or names.CAPABILITIES_KEY in meta:
        return True
    if opened or method == names.PING:
        return False
    if method == names.DISCOVER:
        raise _missing(names.VERSION_KEY, names.CAPABILITIES_KEY)
    raise invalid_params(
        f"Invalid params: send initialize first, or carry {names.VERSION_KEY} and {names.CAPABILITIES_KEY} in _meta"
    )


def read_envelope(meta: Fields) -> Envelope:
    """Check and read the `_meta` of a modern request.

    Raises:
        ProtocolError: a required key is missing or malformed, or the version is not served.
    """
    # "A request missing any required field is malformed; the server MUST reject it with JSON-RPC error
    # code -32602 (Invalid params)."
    absent = [key for key in (names.VERSION_KEY, names.CAPABILITIES_KEY) if key not in meta]
    if absent:
        raise _missing(*absent)
    revision = payload.string(meta[names.VERSION_KEY])
    if revision is None:
        raise invalid_params(f"Invalid params: _meta {names.VERSION_KEY} must be a string")
    if revision not in names.MODERN:
        # "If the server does not implement the requested version [...], it MUST respond with an
        # UnsupportedProtocolVersionError listing the versions it does support"
        raise ProtocolError(
            names.UNSUPPORTED_VERSION,
            "Unsupported protocol version",
            {"supported": names.MODERN, "requested": revision},
        )
    try:
        capabilities = payload.fields(meta[names.CAPABILITIES_KEY])
    except ValueError:
        raise invalid_params(f"Invalid params: _meta {names.CAPABILITIES_KEY} must be an object") from None
    return Envelope(revision, capabilities, meta.get(names.CLIENT_INFO_KEY), _log_level(meta))


def _missing(*keys: str) -> ProtocolError:
    return invalid_params(f"Invalid params: _meta lacks {' and '.join(keys)}")


def _log_level(meta: Fields) -> str | None:
    # "If the io.modelcontextprotocol/logLevel value [...] is not a recognized log level, the server
    # SHOULD reject that request with a standard JSON-RPC error: Invalid log level: -32602"
    if names.LOG_LEVEL_KEY not in meta:
        return None
    level = payload.string(meta[names.LOG_LEVEL_KEY])
    if level not in names.LOG_LEVELS:
        raise invalid_params(
            f"Invalid params: _meta {names.LOG_LEVEL_KEY} must be one of {', '.join(names.LOG_LEVELS)}"
        )
    return level


def modern_revisions(result: Raw) -> list[str]:
    """Return the modern revisions of a discover result that are supported here; none if the server is not modern."""
    try:
        supported = payload.value(payload.fields(result).get("supportedVersions", structs.EMPTY))
    except ValueError:
        return []
    return [revision for revision in names.MODERN if isinstance(supported, list) and revision in supported]
