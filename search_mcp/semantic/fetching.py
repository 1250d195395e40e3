"""The files of a known model over HTTPS: continued after an interruption, and checked against their digests.

The files are public, so nothing but their names is sent: no key, no cookie, nothing about the user.
"""

import errno
import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

import httpx2

from search_mcp.config.addresses import is_loopback
from search_mcp.http.client import USER_AGENT, certificates
from search_mcp.http.failures import CONNECT_SECONDS, FAILURES, MOST_REDIRECTS, UNSENT, RefusedError, why
from search_mcp.semantic.installing import private
from search_mcp.semantic.known_models import RemoteFile
from search_mcp.semantic.models import digest_of

SILENCE_SECONDS = 60.0
"""Time without a byte after which a connection counts as broken."""
_PARTIAL, _BAD_RANGE = 206, 416
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_BLOCK = 1 << 20

Tell = Callable[[str, int], None]
"""Is called with the name of a file, and the number of its bytes that are there."""


class FetchError(Exception):
    """A file was not fetched; `what` is the reason."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what, remedy)
        self.what, self.remedy = what, remedy


_AGAIN = "run the command again, which continues where this ended"
_NETWORK = f"check the connection and HTTPS_PROXY, then {_AGAIN}"
_UNREACHED = f"{_NETWORK}; or copy the model from another machine: `search-mcp semantic setup --from FOLDER`"


def fetch(address: str, files: Sequence[RemoteFile], folder: Path, tell: Tell) -> None:
    """Fetch files into a folder; those that are there already are not fetched again.

    Raises:
        FetchError: a file was not fetched; the next attempt continues with it.
    """
    try:
        with _client(address) as client:
            for each in files:
                _fetch_one(client, address + each.path, each, folder, tell)
    except FAILURES as exc:
        reason = f"the model cannot be fetched: {why(exc, address)}"
        raise FetchError(reason, _UNREACHED if isinstance(exc, UNSENT) else _NETWORK) from exc
    except OSError as exc:
        if exc.errno in _FULL:
            raise FetchError(f"the disk of {folder} is full", f"free some space, then {_AGAIN}") from exc
        raise FetchError(f"{exc.filename or folder} cannot be written ({exc.strerror})", "check its folder") from exc


def _client(address: str) -> httpx2.Client:
    parts = urlsplit(address)

    def keep_tls(request: httpx2.Request) -> None:
        if parts.scheme == "https" and request.url.scheme != "https":
            raise RefusedError("it redirects to an address without TLS")

    return httpx2.Client(
        headers={"user-agent": USER_AGENT, "accept-encoding": "identity"},
        timeout=httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS),
        verify=certificates(parts.scheme, None),
        trust_env=not is_loopback(parts.hostname or ""),  # the variables for proxies
        follow_redirects=True,
        max_redirects=MOST_REDIRECTS,
        event_hooks={"request": [keep_tls]},
    )


def _fetch_one(client: httpx2.Client, url: str, wanted: RemoteFile, folder: Path, tell: Tell) -> None:
    path, part = folder / wanted.name, folder / f"{wanted.name}.part"
    if path.is_file() and digest_of(path) == wanted.digest:
        tell(wanted.name, wanted.size)
        return
    with open(part, "ab+", opener=private) as file:  # a path's own `open` has no opener
        attempts = 2 if file.tell() else 1  # the part of an earlier attempt may be damaged
        while not _complete(client, url, wanted, file, tell):
            file.truncate(0)
            attempts -= 1
            if not attempts:
                raise _wrong_file(wanted, url)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def _wrong_file(wanted: RemoteFile, url: str) -> FetchError:
    host = urlsplit(url).hostname or url
    return FetchError(
        f"{host} gave another {wanted.name} than the known one (its SHA-256 differs); it was deleted",
        "a proxy may have changed it: try another network, or `search-mcp semantic setup --from FOLDER`",
    )


def _complete(client: httpx2.Client, url: str, wanted: RemoteFile, file: BinaryIO, tell: Tell) -> bool:
    """Fetch what is missing of a file; return whether it is the one that is wanted."""
    file.seek(0)
    digest, there = hashlib.sha256(), 0
    while there <= wanted.size and (block := file.read(_BLOCK)):
        digest.update(block)
        there += len(block)
    if there < wanted.size:
        headers = {"range": f"bytes={there}-"} if there else {}
        with client.stream("GET", url, headers=headers) as response:
            status = response.status_code
            if status == _BAD_RANGE and there:
                return False
            if status == _PARTIAL and not _starts_at(response, there):
                raise FetchError(f"{response.url.host} gave another part of the file than asked for", _NETWORK)
            if status not in (200, _PARTIAL):
                raise FetchError(
                    f"{response.url.host} answered with HTTP status {status} instead of the file", _NETWORK
                )
            if status != _PARTIAL and there:
                file.truncate(0)
                digest, there = hashlib.sha256(), 0
            tell(wanted.name, there)
            for block in response.iter_bytes():
                there += len(block)
                if there > wanted.size:
                    break
                file.write(block)
                digest.update(block)
                tell(wanted.name, there)
        if there < wanted.size:
            raise FetchError(f"the connection ended after {there:,} of {wanted.size:,} bytes of {wanted.name}", _AGAIN)
    return there == wanted.size and digest.hexdigest() == wanted.digest


def _starts_at(response: httpx2.Response, start: int) -> bool:
    return str(response.headers.get("content-range", "")).startswith(f"bytes {start}-")
