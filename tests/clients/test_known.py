"""The files of each client on every platform."""

from collections.abc import Mapping

import pytest

from search_mcp.catalog.profiles import BY_NAME as PROFILES
from search_mcp.clients.known import BY_NAME, CLIENTS, Machine


def files(client: str, platform: str, home: str, variables: Mapping[str, str]) -> list[str]:
    separator = "\\" if platform == "win32" else "/"
    places = Machine(platform, home, variables).places(BY_NAME[client])
    return [
        separator.join(filter(None, (place.base, place.pattern.replace("/", separator), place.name)))
        for place in places
    ]


LINUX = {
    "claude-desktop": ["/h/.config/Claude/claude_desktop_config.json"],
    "claude-code": ["/h/.claude.json"],
    "cursor": ["/h/.cursor/mcp.json"],
    "vscode": ["/h/.config/Code/User/mcp.json", "/h/.config/Code - Insiders/User/mcp.json"],
    "windsurf": ["/h/.codeium/windsurf/mcp_config.json"],
    "codex": ["/h/.codex/config.toml"],
    "gemini-cli": ["/h/.gemini/settings.json"],
    "copilot-cli": ["/h/.copilot/mcp-config.json"],
    "cline": [
        "/h/.cline/data/settings/cline_mcp_settings.json",
        "/h/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    ],
    "opencode": [f"/h/.config/opencode/{name}" for name in ("opencode.json", "opencode.jsonc", "config.json")],
    "zed": ["/h/.config/zed/settings.json"],
    "goose": ["/h/.config/goose/config.yaml"],
    "lm-studio": ["/h/.lmstudio/mcp.json", "/h/.cache/lm-studio/mcp.json"],
}
DARWIN = {
    client: [path.replace("/h/.config/C", "/h/Library/Application Support/C") for path in paths]
    for client, paths in LINUX.items()
}
ROAMING, PACKAGES = r"C:\U\AppData\Roaming", r"C:\U\AppData\Local\Packages"
WINDOWS = {
    **{client: [path.replace("/h", r"C:\U").replace("/", "\\") for path in paths] for client, paths in LINUX.items()},
    "claude-desktop": [
        rf"{ROAMING}\Claude\claude_desktop_config.json",
        rf"{PACKAGES}\Claude_*\LocalCache\Roaming\Claude\claude_desktop_config.json",
    ],
    "vscode": [rf"{ROAMING}\Code\User\mcp.json", rf"{ROAMING}\Code - Insiders\User\mcp.json"],
    "cline": [
        r"C:\U\.cline\data\settings\cline_mcp_settings.json",
        rf"{ROAMING}\Code\User\globalStorage\saoudrizwan.claude-dev\settings\cline_mcp_settings.json",
    ],
    "zed": [rf"{ROAMING}\Zed\settings.json"],
    "goose": [rf"{ROAMING}\Block\goose\config\config.yaml"],
}


@pytest.mark.parametrize("client", BY_NAME)
def test_the_usual_places_of_files(client: str) -> None:
    assert files(client, "linux", "/h", {}) == LINUX[client]
    assert files(client, "darwin", "/h", {}) == DARWIN[client]
    assert files(client, "win32", r"C:\U", {}) == WINDOWS[client]


MOVED = [
    ("claude-desktop", "linux", {"XDG_CONFIG_HOME": "/c"}, "/c/Claude/claude_desktop_config.json"),
    ("goose", "linux", {"XDG_CONFIG_HOME": "relative"}, "/h/.config/goose/config.yaml"),
    ("claude-code", "linux", {"CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json"),
    ("codex", "darwin", {"CODEX_HOME": "/c"}, "/c/config.toml"),
    ("cline", "darwin", {"CLINE_DIR": "/c"}, "/c/data/settings/cline_mcp_settings.json"),
    ("vscode", "win32", {"APPDATA": r"D:\R"}, r"D:\R\Code\User\mcp.json"),
]


@pytest.mark.parametrize(("client", "platform", "variables", "path"), MOVED)
def test_places_of_files_that_variables_change(
    client: str, platform: str, variables: dict[str, str], path: str
) -> None:
    assert files(client, platform, "/h", variables)[0] == path


def test_every_profile_of_a_client_with_a_file_is_known() -> None:
    without_one = {"canonical", "antigravity", "augment", "librechat", "n8n", "open-webui"}
    assert {*PROFILES} - without_one == {client.name for client in CLIENTS}
