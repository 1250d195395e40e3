"""A server with FastMCP's own authorization server: `python fastmcp_server.py PORT`."""

import sys

from fastmcp import FastMCP  # type: ignore[import-not-found]  # installed on its own
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider  # type: ignore[import-not-found]
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions

PORT = int(sys.argv[1])
provider = InMemoryOAuthProvider(
    base_url=f"http://127.0.0.1:{PORT}",
    client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["read", "write"]),
    revocation_options=RevocationOptions(enabled=True),
    required_scopes=["read"],
)
server = FastMCP("protected", auth=provider)


@server.tool  # type: ignore[untyped-decorator]  # installed on its own
def say(text: str) -> str:
    """Say it."""
    return text


if __name__ == "__main__":
    server.run(transport="http", host="127.0.0.1", port=PORT, show_banner=False)
