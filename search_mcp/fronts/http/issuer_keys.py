"""The public keys of an authorization server: its JWK Set (RFC 7517), kept for a while.

Decides when the set is read: when a token needs it, in one task, and at most once in `REST_SECONDS`. No token can make
the front read any other address. Loaded only if there is an issuer, as is the library for keys.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import anyio
import jwt

from search_mcp.auth.addresses import Reach, check_url
from search_mcp.auth.errors import AuthError, Unavailable
from search_mcp.auth.fetching import Fetcher
from search_mcp.auth.metadata import of_issuer
from search_mcp.auth.steps import Steps, get
from search_mcp.background import run_in_thread
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct

log = logging.getLogger(__name__)

FRESH_SECONDS = 600.0
"""Age from which keys are read again when one is used: a key that the issuer has withdrawn is used no longer."""
KEPT_SECONDS = 3600.0
"""Longest use of keys while the issuer does not answer."""
FETCH_SECONDS = 10.0
"""Time in which the issuer has to answer; requests may wait for it."""
REST_SECONDS = 15.0
"""Shortest time between two requests to the issuer, however many unknown keys are named."""
ALGORITHMS: Mapping[str, tuple[str, str | None]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", None)),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""The algorithms of signatures, each with the type and curve of its keys; none with a shared secret."""
_PURPOSE = "JWK Set"


class JwkSet(Struct, frozen=True):
    """A JWK Set; its members are checked when they are used."""

    keys: tuple[dict[str, Any], ...]


class IssuerUnreachableError(Exception):
    """The keys are not known, because the issuer does not answer or not as it should."""


class IssuerKeys:
    """The keys of one issuer."""

    def __init__(
        self,
        issuer: str,
        fetch: Callable[[str], JwkSet] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`fetch` reads the keys of an issuer; it may block."""
        self._fetch, self._clock = partial(fetch or fetched, issuer), clock
        self._keys: dict[tuple[str | None, ...], dict[str, Any]] = {}
        self._made: dict[tuple[str | None, str], jwt.PyJWK] = {}
        self._read_at = -math.inf
        self._failure: str | None = None
        self._wanted, self._tried = asyncio.Event(), asyncio.Event()
        self._wanted.set()
        self._rests = False

    async def run(self) -> None:
        """Read the keys now, and whenever others are needed."""
        while True:
            await self._wanted.wait()
            await self._read()
            self._wanted.clear()
            tried, self._tried = self._tried, asyncio.Event()
            tried.set()
            self._rests = True
            await anyio.sleep(REST_SECONDS)
            self._rests = False

    async def find(self, kid: str | None, algorithm: str) -> jwt.PyJWK | None:
        """Return a key; `None` if the issuer has no such key.

        Raises:
            IssuerUnreachableError: it is not known whether it has.
        """
        key = self._key(kid, algorithm)
        if key is None or self._age > FRESH_SECONDS:
            self._wanted.set()
            if (key is None or self._age > KEPT_SECONDS) and not self._rests:
                await self._tried.wait()
                key = self._key(kid, algorithm)
        if self._age > KEPT_SECONDS:
            raise IssuerUnreachableError
        return key

    @property
    def _age(self) -> float:
        return self._clock() - self._read_at

    def _key(self, kid: str | None, algorithm: str) -> jwt.PyJWK | None:
        found = self._keys.get((kid, *ALGORITHMS[algorithm]))
        if found is None or found.get("alg") not in (None, algorithm):
            return None
        if (kid, algorithm) not in self._made:
            try:
                self._made[kid, algorithm] = jwt.PyJWK(found, algorithm)
            except jwt.PyJWTError:  # the issuer's mistake: to a client, there is no such key
                return None
        return self._made[kid, algorithm]

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                found = await run_in_thread(self._fetch)
        except TimeoutError:
            failure: str | None = f"it did not answer within {FETCH_SECONDS:g} s"
        except (AuthError, ValueError) as exc:
            failure = str(exc)
        else:
            self._keys, self._made, self._read_at, failure = _indexed(found.keys), {}, self._clock(), None
        if failure != self._failure:
            if failure is not None:
                log.warning("! no keys from the issuer of access tokens: %s", failure)
            else:
                log.info("= the issuer of access tokens answers again")
        self._failure = failure


def fetched(issuer: str) -> JwkSet:
    """Read the keys of an issuer.

    Raises:
        AuthError: they cannot be read.
    """
    fetcher = Fetcher(issuer)
    return fetcher.run(_steps(issuer, fetcher.reach))


def _steps(issuer: str, reach: Reach) -> Steps[JwkSet]:
    server = yield from of_issuer(issuer, reach)
    url = server.jwks_uri or ""
    check_url(_PURPOSE, url, reach)
    response = yield get(_PURPOSE, url)  # redirects are not followed: the keys are those of this address
    if response.status != 200:
        raise Unavailable(f"its {_PURPOSE} cannot be read: {response.failure or f'HTTP status {response.status}'}")
    try:
        return payload.typed(response.body, JwkSet)
    except ValueError as exc:
        raise AuthError(f"its {_PURPOSE} cannot be read: {exc}") from exc


def _indexed(keys: Iterable[Mapping[str, Any]]) -> dict[tuple[str | None, ...], dict[str, Any]]:
    """Return keys for signatures by their ids, types and curves."""
    found: dict[tuple[str | None, ...], dict[str, Any]] = {}
    for each in keys:
        name = each.get("kid"), each.get("kty"), each.get("crv")
        if each.get("use") in (None, "sig") and all(part is None or isinstance(part, str) for part in name):
            found.setdefault(name, dict(each))
    return found
