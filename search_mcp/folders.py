"""The per-user folders: configuration, cache, data, state and logs."""

from pathlib import Path

import platformdirs

APP = "search-mcp"
"""The name of the per-user folders."""


def config_folder() -> Path:
    """Return the folder of the user's own configuration file."""
    return Path(platformdirs.user_config_dir(APP, appauthor=False))


def cache_folder() -> Path:
    """Return the folder of cached capabilities and lists."""
    return Path(platformdirs.user_cache_dir(APP, appauthor=False)) / "catalogue"


def results_folder() -> Path:
    """Return the folder of results that were shortened."""
    return Path(platformdirs.user_cache_dir(APP, appauthor=False)) / "results"


def model_folder() -> Path:
    """Return the folder of the installed sentence model, which search by meaning uses."""
    return Path(platformdirs.user_data_dir(APP, appauthor=False)) / "semantic"


def vectors_file() -> Path:
    """Return the file of the vectors of texts; its folder has nothing else but its lock."""
    return Path(platformdirs.user_cache_dir(APP, appauthor=False)) / "vectors" / "vectors.sqlite3"


def log_folder() -> Path:
    """Return the folder of the servers' stderr logs."""
    return Path(platformdirs.user_log_dir(APP, appauthor=False))


def state_folder() -> Path:
    """Return the folder of state that cannot be rebuilt."""
    return Path(platformdirs.user_state_dir(APP, appauthor=False))


def trust_folder() -> Path:
    """Return the folder of accepted definitions."""
    return state_folder() / "tools"


def approvals_folder() -> Path:
    """Return the folder of accepted programs."""
    return state_folder() / "programs"


def logins_folder(principal: str = "") -> Path:
    """Return the folder of logins of remote servers: the user's own, or those of a principal over HTTP."""
    return state_folder() / ("logins-of" if principal else "logins") / principal


def secrets_folder(principal: str) -> Path:
    """Return the folder of the secrets of a principal over HTTP."""
    return state_folder() / "secrets-of" / principal


def tokens_folder() -> Path:
    """Return the folder of the tokens of clients over HTTP."""
    return state_folder() / "front-tokens"


def usage_file() -> Path:
    """Return the file of recorded tool calls; its folder has nothing else."""
    return state_folder() / "usage" / "calls.sqlite3"


def all_folders() -> list[Path]:
    """Return the folders that hold everything of search-mcp; none is in another one."""
    kinds = ("config", "cache", "data", "state", "log")
    folders = {Path(getattr(platformdirs, f"user_{kind}_dir")(APP, appauthor=False)) for kind in kinds}
    return sorted(each for each in folders if not folders & {*each.parents})
