"""A small table in place of the encoding that tiktoken downloads, for the real tiktoken.

The plugin has the encoding under its usual name: a process uses it if this folder is in `PYTHONPATH`. `word` is one
token, and so is each byte of any other text.
"""

from pathlib import Path

from search_mcp.gateway.token_counting import ENCODING_FILE

PLUGIN = str(Path(__file__).with_name("tiktoken_plugin"))
TABLE = Path(PLUGIN, "table.tiktoken").read_bytes()
DOWNLOADS = "TINY_ENCODING_DOWNLOADS"
"""Variable with which the download of the table succeeds without a network."""


def store(folder: Path) -> Path:
    """Store the table as tiktoken does; return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / ENCODING_FILE
    file.write_bytes(TABLE)
    return file
