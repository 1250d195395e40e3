"""The address of a remote server: from an entry to a `Remote`, and the faults that prevent a connection. Pure.

Only configurations with remote servers need this module, so it is imported when there is one.
"""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Final, Literal

from search_mcp.config.placeholders import Complaint, Expansion, may_have_sources
from search_mcp.config.schema import WEBSOCKETS, Entry, OAuth, Remote
from search_mcp.config.secrets import OTHER_PARAMETER, SECRET_PARAMETER
from search_mcp.wire import structs

# RFC 9110, 5.6.2: "token = 1*tchar".
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
# RFC 9110, 5.5: "Field values containing CR, LF, or NUL characters are invalid and dangerous".
# Other characters than ASCII have no common encoding in headers.
_VALUE = r"[\t\x20-\x7e]*"
_ADDRESS = r"(?i)https?://(?:[^\s/?#@]*@)?(?P<host>\[[0-9a-f:.]+\]|[^\s/?#:@\[\]]+)(?::[0-9]{1,5})?(?P<rest>[/?][^\s#]*)?(?:#\S*)?"
_PARAMETER = rf"(?i)({SECRET_PARAMETER})(?:\$\{{[^}}]*+(?:\}}|\Z)|[^&#\s])++|{OTHER_PARAMETER}"
_OWN_HEADERS: Final = frozenset(
    (
        *("accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "host"),
        *("last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "te", "trailer"),
        *("transfer-encoding", "upgrade"),
    )
)
"""Headers that search-mcp sets for each message; entries cannot change them, although some READMEs contain them."""


def resolve(entry: Entry, expansion: Expansion, config_dir: str) -> Remote | None:
    """Return the address of an entry's server, and how to log in there; `None` if the entry has no address."""
    url = expansion.expand(entry.address, "url").strip()
    has_secret_url = any(source.key == "url" for source in expansion.sources)
    if not (has_secret_url and may_have_sources(url)):  # a placeholder may contain a `#`
        url = url.partition("#")[0]
    if not url:
        return None
    headers = {name: expansion.expand(value, "headers", name).strip() for name, value in entry.headers.items()}
    ca_file = expansion.expand(entry.ca_file, "caFile")
    return Remote(
        url=url,
        transport=_transport(entry.type),
        headers={name: value for name, value in headers.items() if not is_own_header(name)},
        oauth=_login(entry.oauth, expansion),
        ca_file=str(PurePath(config_dir) / ca_file) if ca_file else None,
        public_url=public(url),
        has_secret_url=has_secret_url,
    )


def complaints(entry: Entry, remote: Remote | None, *, is_filled: bool = True) -> Iterator[Complaint]:
    """Yield the faults of an entry that prevent a connection: its key, the fault and the remedy.

    `is_filled` is false while sources of secrets in it are placeholders; texts with them are not judged yet.
    """
    if entry.type.lower() in WEBSOCKETS or entry.address.lower().startswith(("ws:", "wss:")):
        yield (), "WebSocket servers are not supported", "use its https address"
        return
    if remote is None:
        yield (), 'it has no "url"', 'write its "url"; if it is a program, remove "type"'
        return
    is_judged = "${" not in remote.url or (remote.has_secret_url and is_filled)
    if is_judged and not re.fullmatch(_ADDRESS, remote.url):
        yield ("url",), "its url is not an http or https address", 'write "https://example.com/mcp"'
    yield from _of_headers(remote.headers, is_filled=is_filled)
    login = remote.oauth
    if login is not None and login.grant == "client_credentials" and not (login.client_id and login.client_secret):
        problem = '"client_credentials" needs the id and the secret of a client'
        yield ("oauth", "grant"), problem, 'write "clientId" and "clientSecret" in "oauth"'


def warnings(entry: Entry) -> Iterator[Complaint]:
    """Yield remarks on an entry that do not prevent a connection."""
    for name in filter(is_own_header, entry.headers):
        yield ("headers", name), "search-mcp sets this header itself, ignored", "remove it"
    if is_unencrypted(entry.address):
        yield ("url",), "everything is sent unencrypted to an http address", "use https if the server has it"


def is_own_header(name: str) -> bool:
    """Return whether search-mcp sets a header itself."""
    return name.lower() in _OWN_HEADERS or name.lower().startswith("mcp-param-")


def is_address(url: str) -> bool:
    """Return whether a text is an http or https address."""
    return re.fullmatch(_ADDRESS, url) is not None


def is_unencrypted(url: str) -> bool:
    """Return whether everything that is sent to an address can be read on its way."""
    found = re.fullmatch(_ADDRESS, url)
    return found is not None and url.lower().startswith("http:") and not is_loopback(found["host"])


def is_header_value(text: str) -> bool:
    """Return whether a text can be the value of an HTTP header."""
    return re.fullmatch(_VALUE, text) is not None


def is_loopback(host: str) -> bool:
    """Return whether the host of a URL is this computer, which no proxy can reach."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def public(url: str) -> str:
    """Replace the user, the password and the keys of an address by `***`; the path stays, it may identify a server."""
    url = re.sub(r"(?<=://)[^\s/?#@]+(?=@)", "***", url)
    return re.sub(_PARAMETER, lambda found: f"{found[1]}***" if found[1] else found[0], url)


def _transport(kind: str) -> Literal["auto", "http", "sse"]:
    folded = kind.lower().replace("_", "-")
    if folded == "sse":
        return "sse"
    return "http" if folded in ("http", "streamable-http", "streamablehttp") else "auto"


def _login(written: OAuth | bool, expansion: Expansion) -> OAuth | None:
    if isinstance(written, bool):
        return OAuth() if written else None
    resource = written.resource
    return structs.replace(
        written,
        client_id=expansion.expand(written.client_id, "oauth", "clientId"),
        client_secret=expansion.expand(written.client_secret, "oauth", "clientSecret"),
        client_metadata_url=expansion.expand(written.client_metadata_url, "oauth", "clientMetadataUrl"),
        issuer=expansion.expand(written.issuer, "oauth", "issuer"),
        scopes=tuple(expansion.expand(scope, "oauth", "scopes") for scope in written.scopes),
        resource=expansion.expand(resource, "oauth", "resource") if isinstance(resource, str) else resource,
    )


def _of_headers(headers: Mapping[str, str], *, is_filled: bool) -> Iterator[Complaint]:
    for name, value in headers.items():
        if not re.fullmatch(_TOKEN, name):
            yield ("headers", name), "this is not the name of an HTTP header", "write letters, digits and hyphens"
        elif (is_filled or not may_have_sources(value)) and not re.fullmatch(_VALUE, value):
            yield ("headers", name), "its value has a character that headers cannot have", "write ASCII on one line"
    seen = set[str]()
    for name in headers:
        if name.lower() in seen:
            yield ("headers", name), "this header is there twice", "remove one of them"
        seen.add(name.lower())
