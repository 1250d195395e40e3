"""File paths, shortened for people."""

from pathlib import Path

from search_mcp.config import location


def default_config() -> str:
    """Return the path of the config file in the user's own folder."""
    return tilde(location.places(None, {})[-1])


def tilde(path: Path) -> str:
    """Write a path in the home folder with `~`."""
    home = Path.home()
    return str(Path("~") / path.relative_to(home)) if path.is_relative_to(home) else str(path)
