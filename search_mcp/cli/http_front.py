"""`serve --http`: where the front over HTTP listens, and by which names and from which pages it may be called.

Decides which addresses need tokens, and what is refused before anything starts.
"""

import errno
from collections.abc import Sequence
from dataclasses import dataclass

from search_mcp.cli.options import Options
from search_mcp.cli.problem import FINE, Misuse, Problem
from search_mcp.fronts.http import serving
from search_mcp.fronts.http.access import Places
from search_mcp.fronts.http.protected_resource import ProtectedResource
from search_mcp.fronts.http.serving import Address, Terms, read_configuration


@dataclass(frozen=True)
class Wanted:
    """The options of `serve --http`."""

    address: str
    hosts: Sequence[str]
    origins: Sequence[str]
    needs_token: bool
    health: str | None = None
    """The address for health, readiness and metrics."""
    issuer: str | None = None
    audience: str | None = None
    scopes: Sequence[str] = ()
    log_json: bool = False


def run(options: Options, log_level: str | None, wanted: Wanted) -> int:
    """Serve clients over HTTP until a signal comes; returns the exit code.

    Raises:
        Misuse: the options do not go together.
        Problem: the address cannot be used.
        ConfigError: the configuration cannot be used.
    """
    try:
        address = Address.parse(wanted.address)
        health_at = None if wanted.health is None else Address.parse(wanted.health)
        resource = ProtectedResource.of(wanted.issuer, wanted.audience, wanted.scopes)
    except ValueError as exc:
        raise Misuse(str(exc)) from exc
    if options.servers is not None:
        raise Misuse("--servers is for one client", "give each its own: `search-mcp token add NAME --servers LIST`")
    if not wanted.needs_token and not address.is_loopback:
        raise Misuse("--no-auth is for this machine only", "listen at 127.0.0.1, or leave it out")
    if resource is not None and not wanted.needs_token:
        raise Misuse("--no-auth and --issuer exclude each other")
    own = () if address.host in ("", "0.0.0.0", "::") else (address.host,)
    places = Places.of((*own, *wanted.hosts, resource.host if resource else ""), wanted.origins)
    terms = Terms(places, wanted.needs_token, resource, options.profile)
    try:
        serving.run(read_configuration(options.config, log_level, as_json=wanted.log_json), terms, address, health_at)
    except OSError as exc:
        remedy = "choose another port" if exc.errno == errno.EADDRINUSE else ""
        raise Problem(f"{exc.filename or wanted.address} cannot be used: {exc.strerror or exc}", remedy) from exc
    return FINE
