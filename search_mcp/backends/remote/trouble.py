"""Failures of HTTP exchanges with a server: a clause for an error message, and whether the request may have run."""

from collections.abc import Mapping

from search_mcp.auth.errors import AuthError, Unauthorized
from search_mcp.http import failures
from search_mcp.http.failures import QUOTED, quoted
from search_mcp.wire.inflight import Fate, RequestFailure

_UNKNOWN = frozenset({400, 404, 405})
"""Statuses that mean, by the specification, that a server does not know such requests at its address."""
UNAVAILABLE = frozenset({429, 502, 503, 504})
"""Statuses of a server, or of one in front of it, that takes no requests for now."""
_CLAUSES = {
    401: "it needs a login",
    403: "it refuses access",
    407: failures.NEEDS_PASSWORD,
    413: "the request is too large for it",
    429: "it takes no more requests now",
    503: "it is not available now",
}


BROKEN = (*failures.FAILURES, AuthError)
"""All failures of an exchange and of the login that it needs."""


def of_exception(exc: Exception, url: str) -> RequestFailure:
    """Describe an exchange that broke."""
    is_unsent = isinstance(exc, (AuthError, failures.RefusedError, *failures.UNSENT))
    fate = Fate.UNAUTHORIZED if isinstance(exc, Unauthorized) else Fate.REFUSED if is_unsent else Fate.LOST
    return RequestFailure(str(exc) if isinstance(exc, AuthError) else failures.why(exc, url), fate)


def of_status(status: int, headers: Mapping[str, str], body: bytes, clause: str = "") -> RequestFailure:
    """Describe an answer that is no JSON-RPC message; `clause` is a better explanation than the status, if any."""
    clause = clause or _CLAUSES.get(status, "it gave no MCP answer" if status < 400 else "it refused the request")
    if status >= 500 and status not in _CLAUSES:
        clause = "it failed"
    content_type = headers.get("content-type", "").partition(";")[0].strip()
    if content_type == "text/html" and status < 400:
        clause = "it is a web page and no MCP server; check its url"
    kind = f", {quoted(content_type)}" if content_type else ""
    wait = failures.retry_after(headers.get("retry-after", ""))
    again = f"; try again in {wait:,.0f} s" if wait else ""
    words = quoted(body[: 16 * QUOTED].decode(errors="replace"))
    reason = f"{clause} (HTTP status {status}{kind}){again}{f': {words}' if words else ''}"
    fate = Fate.REFUSED if 300 <= status < 500 else Fate.LOST
    wait = min(wait, failures.LONGEST_RETRY_AFTER_SECONDS)
    return RequestFailure(reason, fate, is_unknown_request=status in _UNKNOWN, retry_after_seconds=wait)
