"""The pages of the documentation, their commands and their snippets."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from checkout import ROOT
from fork_server import ForkServer

DOCS = ROOT / "docs"
PAGES = sorted(page.name for page in DOCS.glob("*.md"))
SECONDS = 300

_ONE_COMMAND = re.compile(r"search-mcp(?: +(?:[\w@%+=:,./-]+|'[^']*'))*")
"""A command of search-mcp without shell expansions."""


def text(page: str) -> str:
    return (DOCS / page).read_text("utf-8")


def blocks(page: str, language: str) -> list[str]:
    """Return the fenced blocks in one language."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", text(page), re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block) for _, block in found]


def commands(page: str) -> list[str]:
    """Return the lines of all shell blocks, in order."""
    return [line for block in blocks(page, "sh") for line in block.splitlines()]


@dataclass(frozen=True)
class Reader:
    """A user with a home folder of their own, and search-mcp on the PATH."""

    home: Path
    fork_server: ForkServer | None = None

    @property
    def environment(self) -> dict[str, str]:
        dropped = ("XDG_C", "XDG_D", "XDG_S", "SEARCH_MCP_")  # all per-user folders but the one of engines
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        path = os.pathsep.join([str(Path(sys.executable).parent), inherited["PATH"]])
        return {**inherited, "HOME": str(self.home), "USERPROFILE": str(self.home), "PATH": path, "PYTHONUTF8": "1"}

    def types(self, line: str) -> "subprocess.CompletedProcess[str]":
        """Run a line in a shell, or in a fork if it is a single command of search-mcp without shell syntax."""
        if self.fork_server is None or _ONE_COMMAND.fullmatch(line) is None:
            return self._run(line, shell=True)
        name, *words = shlex.split(line)
        script = shutil.which(name, path=self.environment["PATH"])
        assert script is not None
        done = self.fork_server.run(
            [script, *words], stdin=b"", folder=self.home, environment=self.environment, seconds=SECONDS
        )
        return subprocess.CompletedProcess(line, done.returncode, done.stdout.decode(), done.stderr.decode())

    def runs(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a program."""
        return self._run(words, shell=False)

    def _run(self, command: str | Sequence[str], *, shell: bool) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            shell=shell,
            cwd=self.home,
            env=self.environment,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
        )
