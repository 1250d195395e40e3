"""Names that are suggested for servers."""

import pytest

from search_mcp.clients.suggestion import suggested_name


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("npx -y @modelcontextprotocol/server-filesystem /tmp", "filesystem"),
        ("npx -y @upstash/context7-mcp@latest", "context7"),
        ("npx @playwright/mcp@latest", "playwright"),
        ("npx --package=tsx -y mcp-server-kubernetes", "kubernetes"),
        ("cmd /c npx -y @modelcontextprotocol/server-memory", "memory"),
        ("uvx mcp-server-git --repository /x", "git"),
        ("uvx --with pandas mcp-server-time", "time"),
        ("uv --directory /home/me/weather run weather.py", "weather"),
        ("uvx --from git+https://github.com/oraios/serena serena start", "serena"),
        ("pipx run awslabs.aws-documentation-mcp-server==1.0", "awslabs-aws-documentation"),
        ("python -m mcp_server_time", "time"),
        ("/usr/bin/python3.12 /home/me/weather/server.py", "weather"),
        ("node /home/me/github-mcp/dist/index.js", "github"),
        ("docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server:latest", "github"),
        (r"C:\Python\python.exe -m mcp_server_time", "time"),
        ("/opt/bin/whatsapp-mcp", "whatsapp"),
        ("mcp", "server"),
        ("https://mcp.linear.app/mcp", "linear"),
        ("https://api.githubcopilot.com/mcp/", "githubcopilot"),
        ("https://example.co.uk/x", "example"),
        ("http://localhost:3000/sse", "localhost"),
        ("http://127.0.0.1:3000/sse", "server"),
        ("http://[::1]:3000/sse", "server"),
    ],
)
def test_a_name_says_what_the_server_is_for(line: str, name: str) -> None:
    assert suggested_name(line.split()) == name


def test_a_name_is_never_empty() -> None:
    assert [suggested_name(words) for words in (["npx"], ["@mcp/server"], ["--"], ["https://"])] == [
        "npx",
        *["server"] * 3,
    ]
