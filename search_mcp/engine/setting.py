"""The quick look at a configuration file for `"engine": "own"`, before anything else is loaded.

Most files do not have the word, and cost one read. A file that has it is parsed with the standard library. This decides
only which process serves: that process reads the file itself, and reports what is wrong with it.
"""

import os
import stat
from collections.abc import Mapping, Sequence

MOST_BYTES = 16 << 20
"""The largest configuration that is looked at; `config.location` reads no larger one."""
OPTIONS = ("--config", "--client", "--log-level", "--servers")
WORDS = (b'"own"', b"\\u")
"""A file that says own has one of these: the word, or an escape in its place."""
FILE_VARIABLE = "SEARCH_MCP_CONFIG"
FILE_NAME = "mcp-servers.json"


def shared_file(options: Mapping[str, str], variables: Mapping[str, str]) -> str | None:
    """Return the configuration file of `serve` with these options; `None` if it has to serve without an engine.

    That is so if the file says own, or there is none to read, which a process that serves alone reports.
    """
    path = _path(options.get("--config") or variables.get(FILE_VARIABLE), variables)
    text = _read(path) if path is not None else b""
    return path if text and not is_own(text) else None


def says_own(path: str) -> bool:
    """Return whether a configuration file asks for a process of each client's own."""
    return is_own(_read(path))


def plain_options(arguments: Sequence[str]) -> dict[str, str] | None:
    """Return the options of `serve`; `None` if there are others, shortened ones, or ones without a value."""
    options, rest = {}, list(arguments)
    while rest:
        name, has_value, value = rest.pop(0).partition("=")
        if name not in OPTIONS or (not has_value and not rest):
            return None
        options[name] = value if has_value else rest.pop(0)
    return options


def _path(explicit: str | None, variables: Mapping[str, str]) -> str | None:
    if explicit:
        home = variables.get("HOME")
        return home + explicit[1:] if home and explicit.startswith("~/") else explicit
    # A file in the current folder counts only if the user trusts it, which takes more than a look.
    if os.path.lexists(os.path.join("config", FILE_NAME)):  # noqa: PTH118  # no pathlib: a relay loads little
        from search_mcp.config.location import locate
        from search_mcp.model.errors import ConfigError

        try:
            return str(locate(None, variables))
        except ConfigError:
            return None
    from platformdirs import user_config_dir

    return os.path.join(user_config_dir("search-mcp", appauthor=False), FILE_NAME)  # noqa: PTH118


def _read(path: str) -> bytes:
    """Return the text of a regular file; empty for everything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return b""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(MOST_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def is_own(text: bytes) -> bool:
    """Return whether the text of a configuration asks for a process of each client's own."""
    if not any(word in text for word in WORDS):
        return False
    import json

    try:
        plain = text.decode("utf-8-sig")
        try:
            value = json.loads(plain)
        except ValueError:
            from search_mcp.config.json_comments import blank

            value = json.loads(blank(plain))
    except (ValueError, RecursionError):
        return False
    settings = value.get("settings") if isinstance(value, dict) else None
    return isinstance(settings, dict) and settings.get("engine") == "own"
