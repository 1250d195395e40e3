"""Failures of HTTP exchanges with a server: a clause for an error message, and whether the request may have run."""

from collections.abc import Mapping

import httpx2

from search_mcp.auth.errors import AuthError, Unauthorized
from search_mcp.causes import causes
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


class RefusedError(Exception):
    """The exchange was not made; the text is the reason."""


BROKEN = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, RefusedError, AuthError)
"""The errors with which an exchange ends without a response."""


def of_exception(exc: Exception, url: str) -> RequestFailure:
    """Describe an exchange that broke."""
    # `hostname` has no user and password, which the address may have.
    host = urlsplit(url).hostname or "its address"
    where = urlsplit(url).netloc.rpartition("@")[2] or host
    fate, said = Fate.REFUSED, quoted(str(exc))  # h11 quotes whole header lines
    match exc:
        case Unauthorized():
            reason, fate = str(exc), Fate.UNAUTHORIZED
        case RefusedError() | AuthError():
            reason = str(exc)
        case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            reason = f"no connection to {where} within {CONNECT_SECONDS:g} s"
        case httpx2.ProxyError():
            needs = _CLAUSES[407] if "407" in str(exc) else "the proxy refused the connection"
            reason = f"{needs}: {said}"
        case httpx2.ConnectError():
            reason = _why_unconnected(exc, host, where)
        case httpx2.UnsupportedProtocol() | httpx2.LocalProtocolError() | httpx2.InvalidURL():
            reason = f"the request cannot be sent: {said}"
        case httpx2.RemoteProtocolError() if "peer closed" in str(exc) or "disconnected" in str(exc):
            reason, fate = "it closed the connection before the end of its answer", Fate.LOST
        case httpx2.DecodingError():
            reason, fate = f"its answer cannot be decompressed: {said}", Fate.LOST
        case _:
            reason, fate = f"the connection broke: {said or type(exc).__name__}", Fate.LOST
    return RequestFailure(reason, fate)


def _why_unconnected(exc: BaseException, host: str, where: str) -> str:
    for cause in causes(exc):
        if isinstance(cause, socket.gaierror):
            return f"the name {host} cannot be resolved: {cause.strerror}"
        if isinstance(cause, ssl.SSLCertVerificationError):
            remedy = 'if it is of your own network, name its file in "caFile"'
            return f"the certificate of {host} is not trusted ({cause.verify_message}); {remedy}"
        if isinstance(cause, ssl.SSLError):
            return f"no TLS connection to {host}: {getattr(cause, 'reason', None) or cause}"
        if isinstance(cause, OSError) and cause.errno:
            return f"no connection to {where}: {os.strerror(cause.errno)}"
    return f"no connection to {where}: {quoted(str(exc))}"


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
