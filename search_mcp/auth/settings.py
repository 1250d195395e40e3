"""The settings of the login to one server, from its entry in the configuration. Pure."""

from collections.abc import Mapping
from typing import Literal

from search_mcp.auth.addresses import canonical
from search_mcp.config.schema import Remote
from search_mcp.wire.structs import Struct


class LoginSettings(Struct, frozen=True, kw_only=True):
    """The parts of a server's entry that its login needs, with placeholders filled in."""

    name: str
    url: str
    client_id: str | None = None
    client_secret: str | None = None
    scopes: tuple[str, ...] | None = None
    """The scopes to ask for; `None` asks for those that the server names."""
    resource: str | Literal[False] | None = None
    """The `resource` of token requests. False leaves it out, as some authorization servers need; `None` is the server's
    own."""
    issuer: str | None = None
    """The authorization server that the client was registered with."""
    client_metadata_url: str | None = None
    """Address of a client ID metadata document."""
    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"
    callback_host: Literal["127.0.0.1", "localhost"] = "127.0.0.1"
    callback_port: int | None = None
    callback_path: str = "/callback"
    ca_file: str | None = None
    accepted_hosts: Mapping[str, str] | None = None
    """The hosts of `SeveralHosts`, if the user has accepted them for this login."""

    def __repr__(self) -> str:  # without the secret, and the URL, which may contain one
        return f"<LoginSettings {self.name}>"

    @property
    def identity(self) -> tuple[str, ...]:
        """The settings that identify a login; if one of them changes, other tokens are needed."""
        return (self.name, canonical(self.url), self.client_id or "", self.grant, str(self.resource))

    def resource_of(self, discovered: str) -> str | None:
        """Return the `resource` of requests for tokens; `None` to leave it out."""
        if self.resource is False:
            return None
        return discovered if self.resource is None else self.resource


def login_settings(name: str, remote: Remote) -> LoginSettings:
    """Return the settings of the login to a server; only if `Remote.may_log_in`."""
    oauth = remote.oauth
    assert oauth is not None, "may_log_in comes first"
    return LoginSettings(
        name=name,
        url=remote.url,
        client_id=oauth.client_id or None,
        client_secret=oauth.client_secret or None,
        scopes=oauth.scopes or None,
        resource=None if oauth.resource is True else oauth.resource,
        issuer=oauth.issuer or None,
        client_metadata_url=oauth.client_metadata_url or None,
        grant=oauth.grant,
        callback_host=oauth.callback_host,
        callback_port=oauth.callback_port,
        callback_path=oauth.callback_path,
        ca_file=remote.ca_file,
    )
