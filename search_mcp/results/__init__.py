"""Results that are longer than the limit of the user: shortened, kept in files, and read with `read_result`."""

from typing import Final

TRUNCATED: Final = "search-mcp/truncated"
"""The key in the `_meta` of a shortened result: its whole length, and its handle."""
RESULT_URI: Final = "search-mcp://result/"
"""The beginning of the URIs of shortened results."""
