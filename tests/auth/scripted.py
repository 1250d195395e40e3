"""Plays the servers of a login: responses by address, without a network."""

import json
from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import parse_qs

from search_mcp.auth.steps import Request, Response, Steps

T = TypeVar("T")

SERVER = "https://mcp.example.com/public/mcp"
ISSUER = "https://auth.example.com"


def document(**members: object) -> Response:
    """Make a response with a JSON document."""
    return Response(200, body=json.dumps(members).encode())


def resource(**members: object) -> Response:
    return document(**{"resource": SERVER, "authorization_servers": [ISSUER], **members})


def metadata(**members: object) -> Response:
    """Make the metadata of an authorization server with PKCE and registration."""
    issuer = str(members.get("issuer", ISSUER))
    return document(
        **{
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "registration_endpoint": f"{issuer}/register",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
            **members,
        }
    )


WELL_KNOWN: Mapping[str, Response] = {
    "https://mcp.example.com/.well-known/oauth-protected-resource/public/mcp": resource(),
    f"{ISSUER}/.well-known/oauth-authorization-server": metadata(),
    f"{ISSUER}/register": document(client_id="registered"),
    f"{ISSUER}/token": document(access_token="access", token_type="Bearer", expires_in=3600, refresh_token="refresh"),
}
"""A server and an authorization server without anything unusual."""


class Script:
    """Answers requests from a table, and records them; every other address answers 404."""

    def __init__(self, responses: Mapping[str, Response]) -> None:
        self.responses = responses
        self.requests: list[Request] = []

    @property
    def urls(self) -> list[str]:
        return [each.url for each in self.requests]

    def form(self, place: int = -1) -> dict[str, str]:
        """Read the form of a request."""
        return {name: value for name, (value,) in parse_qs(self.requests[place].body.decode()).items()}

    def run(self, steps: Steps[T]) -> T:
        try:
            request = next(steps)
            while True:
                self.requests.append(request)
                request = steps.send(self.responses.get(request.url, Response(404)))
        except StopIteration as end:
            result: T = end.value
            return result
