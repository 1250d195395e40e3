"""A small table in place of the encoding that tiktoken downloads, for the real tiktoken.

The plugin has the encoding under its usual name: a process uses it if this folder is in `PYTHONPATH`. `word` is one
token, and so is each byte of any other text.
"""

from pathlib import Path

FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""The name of the encoding in tiktoken's cache: the SHA-1 digest of the address that it is downloaded from."""
PLUGIN = str(Path(__file__).with_name("tiktoken_plugin"))
TABLE = Path(PLUGIN, "table.tiktoken").read_bytes()
DOWNLOADS = "TINY_ENCODING_DOWNLOADS"
"""Variable with which the download of the table succeeds without a network."""
