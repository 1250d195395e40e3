"""Texts of failures of HTTP exchanges: a clause for an error message, which names the host, not the whole address."""

import os
import re
import socket
import ssl
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import httpx2

from search_mcp.model.sentences import on_one_line

QUOTED = 200
"""Characters of a server's text that an error message quotes."""
CONNECT_SECONDS = 10.0
"""Time limit for a connection, TLS included."""
MOST_REDIRECTS = 5
LONGEST_RETRY_AFTER_SECONDS = 300.0
"""Longest pause that a server can ask for with `Retry-After`."""
NEEDS_PASSWORD = "the proxy needs a password"


class RefusedError(Exception):
    """The exchange was not made; the text is the reason."""


class TooLongError(Exception):
    """The answer is longer than the limit; the text names the limit."""


UNSENT = (
    *(httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError),
    *(httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, httpx2.InvalidURL),
)
"""Failures before the first byte of a request was sent."""
FAILURES = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, RefusedError, TooLongError)
"""All failures of an exchange."""


def why(exc: Exception, url: str) -> str:
    """Return the reason why an exchange with an address broke."""
    # `hostname` has no user and password, which the address may have.
    host = urlsplit(url).hostname or "its address"
    where = urlsplit(url).netloc.rpartition("@")[2] or host
    said = quoted(str(exc))  # h11 quotes whole header lines
    match exc:
        case RefusedError() | TooLongError():
            reason = str(exc)
        case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            reason = f"no connection to {where} within {CONNECT_SECONDS:g} s"
        case httpx2.TimeoutException():
            reason = f"{where} did not answer in time"
        case httpx2.ProxyError():
            reason = f"{NEEDS_PASSWORD if '407' in str(exc) else 'the proxy refused the connection'}: {said}"
        case httpx2.ConnectError():
            reason = _why_unconnected(exc, host, where)
        case httpx2.UnsupportedProtocol() | httpx2.LocalProtocolError() | httpx2.InvalidURL():
            reason = f"the request cannot be sent: {said}"
        case httpx2.RemoteProtocolError() if "peer closed" in str(exc) or "disconnected" in str(exc):
            reason = "it closed the connection before the end of its answer"
        case httpx2.TooManyRedirects():
            reason = f"it redirects more than {MOST_REDIRECTS} times"
        case httpx2.DecodingError():
            reason = f"its answer cannot be decompressed: {said}"
        case _:
            reason = f"the connection broke: {said or type(exc).__name__}"
    return reason


def _why_unconnected(exc: BaseException, host: str, where: str) -> str:
    for cause in _causes(exc):
        if isinstance(cause, socket.gaierror):
            return f"the name {host} cannot be resolved: {cause.strerror}"
        if isinstance(cause, ssl.SSLCertVerificationError):
            remedy = 'if your own network made it, name the CA file in "caFile" or SSL_CERT_FILE'
            return f"the certificate of {host} is not trusted ({cause.verify_message}); {remedy}"
        if isinstance(cause, ssl.SSLError):
            return f"no TLS connection to {host}: {getattr(cause, 'reason', None) or cause}"
        if isinstance(cause, OSError) and cause.errno:
            return f"no connection to {where}: {os.strerror(cause.errno)}"
    return f"no connection to {where}: {quoted(str(exc))}"


def _causes(exc: BaseException) -> Iterator[BaseException]:
    """Yield an exception, then what caused it, the first of a group, and so on."""
    cause: BaseException | None = exc
    while cause is not None:
        yield cause
        cause = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause.__cause__ or cause.__context__


def retry_after(value: str) -> float:
    """Read the header `Retry-After`: seconds or a date; 0 if it cannot be read or is over."""
    if value.isascii() and value.replace(".", "", 1).isdigit():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


def quoted(text: str) -> str:
    """Return the beginning of a server's text as one printable line, without HTML tags."""
    if text.lstrip()[:1] == "<":
        text = re.sub(r"(?is)<(script|style)\b.*?(</\1>|$)|<[^>]*>?", " ", text)
    line = on_one_line(text)
    if len(line) <= QUOTED:
        return line
    # A part of a secret would not be recognised.
    return re.sub(r"(?a)(?<![\w.~+/=:-])[\w.~+/=:-]++$", "", line[:QUOTED]).rstrip() + "…"
