"""Make the pictures of these pages: `python docs/pictures.py [FOLDER]`, with the extra `demo` installed.

They show the output of real commands with the servers of config/mcp-servers.json. Only the times differ between runs.
"""

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURES = {
    "check": ["check"],
    "search": ["search", "what changed since yesterday?", "--limit", "5"],
    "tokens": ["tokens"],
}
COLUMNS = 96


def take(folder: Path) -> None:
    """Write all pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        for name, words in PICTURES.items():
            console = Console(record=True, width=COLUMNS, file=io.StringIO())
            console.print(Text.from_ansi(_output(words, home).rstrip()))
            title = f"search-mcp {' '.join(words)}"
            console.save_svg(str(folder / f"{name}.svg"), title=title, unique_id=name)


def _output(words: list[str], home: str) -> str:
    """Run a command and return its output with a terminal's colours, without its progress display."""
    folders = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"), home)
    look = {"COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    done = subprocess.run(
        [sys.executable, "-m", "search_mcp", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
        encoding="utf-8",
        cwd=ROOT,
        env={**os.environ, **folders, **look, "PYTHONUTF8": "1"},
    )
    return done.stdout


if __name__ == "__main__":
    take(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent / "pictures")
