"""The quick look at a configuration file for `"engine": "shared"`, before anything else is loaded.

Most files do not have the word, and cost one read. A file that has it is parsed with the standard library. If the look
cannot be sure, the engine is this process, as without the setting.
"""

import os
import stat
from collections.abc import Mapping, Sequence

MOST_BYTES = 16 << 20
"""The largest configuration that is looked at; `config.location` reads no larger one."""
OPTIONS = ("--config", "--client", "--log-level", "--servers")
WORD = b'"engine"'
FILE_VARIABLE = "SEARCH_MCP_CONFIG"
FILE_NAME = "mcp-servers.json"


def shared_file(options: Mapping[str, str], variables: Mapping[str, str]) -> str | None:
    """Return the configuration file of `serve` with these options if it asks for a shared engine."""
    explicit = options.get("--config") or variables.get(FILE_VARIABLE)
    if explicit:
        path = _at_home(explicit, variables)
        return path if is_shared(_read(path)) else None
    here = os.path.join("config", FILE_NAME)  # noqa: PTH118  # no pathlib: a relay loads little
    from platformdirs import user_config_dir

    folder = user_config_dir("search-mcp", appauthor=False)
    own = os.path.join(folder, FILE_NAME)  # noqa: PTH118
    if WORD not in _read(here) and WORD not in _read(own):
        return None
    if os.path.lexists(here):  # it counts only if the user trusts it, which takes more than a look
        from search_mcp.config.location import places

        own = next((str(place) for place in places(None, variables) if place.is_file()), own)
    return own if is_shared(_read(own)) else None


def plain_options(arguments: Sequence[str]) -> dict[str, str] | None:
    """Return the options of `serve`; `None` if there are others, shortened ones, or ones without a value."""
    options, rest = {}, list(arguments)
    while rest:
        name, has_value, value = rest.pop(0).partition("=")
        if name not in OPTIONS or (not has_value and not rest):
            return None
        options[name] = value if has_value else rest.pop(0)
    return options


def _at_home(path: str, variables: Mapping[str, str]) -> str:
    home = variables.get("HOME")
    return home + path[1:] if home and path.startswith("~/") else path


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


def is_shared(text: bytes) -> bool:
    """Return whether the text of a configuration asks for a shared engine."""
    if WORD not in text:
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
    return isinstance(settings, dict) and settings.get("engine") == "shared"
