"""Facts about each AI client: the files that hold its servers, their format, and the form of their entries.

One row per client. Pure: paths are computed from a platform and its environment.
"""

import ntpath
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from types import ModuleType
from typing import Final, Literal, TypeAlias

from search_mcp.clients.document import Format

Shape: TypeAlias = Literal["standard", "opencode", "goose"]
"""Keys of the program in an entry: `command` and `args`; `command` as one list; `cmd` and `args`."""


@dataclass(frozen=True, kw_only=True)
class Client:
    """One client. Each of `files` begins with a folder of `Machine`; all those that exist are in use."""

    name: str
    """The name of its client profile too, if it has one."""
    title: str
    files: tuple[str, ...]
    project_file: str | None = None
    """Path of a project's own servers, relative to the project's folder."""
    format: Format = "jsonc"
    root: str = "mcpServers"
    shape: Shape = "standard"
    fixed: Mapping[str, object] = field(default_factory=dict)
    """Keys that an entry must have besides its program."""
    defaults: Mapping[str, object] = field(default_factory=dict)
    """Keys of our entry that the user may change."""
    timeout_seconds: float = 1.0
    """Unit of its `timeout`, in seconds."""
    passes_on_named_variables_only: bool = False
    variables: str = ""
    """Pattern of its placeholders besides `${...}`; the group is the name of the variable."""
    next_step: str


CLIENTS: Final = (
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        files=(
            "{support}/Claude/claude_desktop_config.json",
            # The packaged app reads only this file: anthropics/claude-code#26073
            "{packages}/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json",
        ),
        format="json",
        # It can write its own copy back while it runs: anthropics/claude-code#90101
        next_step="restart it (quit it from the tray, too). It can overwrite this file while it runs: if search-mcp is "
        "missing afterwards, quit it first, then register search-mcp again",
    ),
    Client(
        name="claude-code",
        title="Claude Code",
        files=("{claude}/.claude.json",),
        project_file=".mcp.json",
        format="json",
        fixed={"type": "stdio"},
        timeout_seconds=0.001,
        next_step="start a new session; /mcp shows it",
    ),
    Client(
        name="cursor",
        title="Cursor",
        files=("{home}/.cursor/mcp.json",),
        project_file=".cursor/mcp.json",
        fixed={"type": "stdio"},
        next_step="switch it on in Cursor's settings, under MCP",
    ),
    Client(
        name="vscode",
        title="VS Code",
        files=("{support}/Code/User/mcp.json", "{support}/Code - Insiders/User/mcp.json"),
        project_file=".vscode/mcp.json",
        root="servers",
        fixed={"type": "stdio"},
        next_step='run "MCP: List Servers" in VS Code, start search-mcp and trust it',
    ),
    Client(
        name="windsurf",
        title="Windsurf",
        files=("{home}/.codeium/windsurf/mcp_config.json",),
        next_step="refresh the list of MCP servers in Windsurf",
    ),
    Client(
        name="codex",
        title="Codex",
        files=("{codex}/config.toml",),
        project_file=".codex/config.toml",
        format="toml",
        root="mcp_servers",
        defaults={"startup_timeout_sec": 30},  # by default it gives up on a server after 5 seconds
        passes_on_named_variables_only=True,
        next_step="start a new session; /mcp shows it",
    ),
    Client(
        name="gemini-cli",
        title="Gemini CLI",
        files=("{home}/.gemini/settings.json",),
        project_file=".gemini/settings.json",
        timeout_seconds=0.001,
        variables=r"\$([A-Za-z_]\w*)",
        next_step="restart Gemini CLI; /mcp shows it",
    ),
    Client(
        name="copilot-cli",
        title="Copilot CLI",
        files=("{home}/.copilot/mcp-config.json",),
        fixed={"type": "local"},
        defaults={"tools": ["*"]},
        timeout_seconds=0.001,
        next_step="restart Copilot CLI; /mcp show shows it",
    ),
    Client(
        name="cline",
        title="Cline",
        files=(
            "{cline}/data/settings/cline_mcp_settings.json",
            "{support}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        ),
        defaults={"timeout": 60},  # by default it gives up on a server after 3 seconds
        next_step="look for it in Cline's MCP servers; in Cline CLI, start a new session",
    ),
    Client(
        name="opencode",
        title="opencode",
        files=(
            "{config}/opencode/opencode.json",
            "{config}/opencode/opencode.jsonc",
            "{config}/opencode/config.json",
        ),
        root="mcp",
        shape="opencode",
        fixed={"type": "local"},
        defaults={"enabled": True},
        timeout_seconds=0.001,
        variables=r"\{env:([A-Za-z_]\w*)\}",
        next_step="restart opencode",
    ),
    Client(
        name="zed",
        title="Zed",
        files=("{zed}/settings.json",),
        project_file=".zed/settings.json",
        root="context_servers",
        next_step="look for the green dot in the settings of Zed's agent panel",
    ),
    Client(
        name="goose",
        title="goose",
        files=("{goose}/config.yaml",),
        format="yaml",
        root="extensions",
        shape="goose",
        fixed={"name": "search-mcp", "type": "stdio"},
        defaults={"enabled": True, "envs": {}, "timeout": 300},
        next_step="start a new goose session",
    ),
    Client(
        name="lm-studio",
        title="LM Studio",
        files=("{home}/.lmstudio/mcp.json", "{home}/.cache/lm-studio/mcp.json"),
        next_step="switch it on in LM Studio, under Program",
    ),
)

BY_NAME: Final = {client.name: client for client in CLIENTS}
PASTED: Final = Client(name="", title="other clients", files=(), next_step="")
"""For entries whose client is not known."""


@dataclass(frozen=True)
class Place:
    """A file name in a folder, or in all folders below it that match a pattern."""

    base: str
    pattern: str
    name: str


@dataclass(frozen=True)
class Machine:
    """A platform, named as in `sys.platform`, and the user's environment on it."""

    platform: str
    home: str
    variables: Mapping[str, str]

    def places(self, client: Client) -> Iterator[Place]:
        """Yield the places of a client's servers, the preferred one first."""
        folders = self._folders()
        for template in client.files:
            word, _, rest = template.removeprefix("{").partition("}/")
            if word in folders:  # otherwise it is a place on another platform
                *inner, name = rest.split("/")
                fixed = [*takewhile(lambda part: "*" not in part, inner)]
                yield Place(self._paths.join(folders[word], *fixed), "/".join(inner[len(fixed) :]), name)

    @property
    def _paths(self) -> ModuleType:
        return ntpath if self.platform == "win32" else posixpath

    def _folders(self) -> dict[str, str]:
        paths, home = self._paths, self.home

        def folder(variable: str, *usual: str) -> str:
            # XDG: "All paths set in these environment variables must be absolute."
            said = self.variables.get(variable, "")
            usually: str = paths.join(home, *usual)
            return said if paths.isabs(said) else usually

        config = folder("XDG_CONFIG_HOME", ".config")
        folders = {
            "home": home,
            "config": config,
            "claude": folder("CLAUDE_CONFIG_DIR"),
            "codex": folder("CODEX_HOME", ".codex"),
            "cline": folder("CLINE_DIR", ".cline"),
        }
        if self.platform == "win32":
            support = folder("APPDATA", "AppData", "Roaming")
            packages = paths.join(folder("LOCALAPPDATA", "AppData", "Local"), "Packages")
            zed, goose = paths.join(support, "Zed"), paths.join(support, "Block", "goose", "config")
            return {**folders, "support": support, "packages": packages, "zed": zed, "goose": goose}
        support = paths.join(home, "Library", "Application Support") if self.platform == "darwin" else config
        return {**folders, "support": support, "zed": paths.join(config, "zed"), "goose": paths.join(config, "goose")}
