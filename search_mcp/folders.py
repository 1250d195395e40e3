"""The per-user folders: configuration, cache, state and logs."""

from pathlib import Path

import platformdirs

APP = "search-mcp"
"""What the per-user folders are called."""


def cache_folder() -> Path:
    """Where it is remembered what each server offers."""
    return Path(platformdirs.user_cache_dir(APP, appauthor=False)) / "catalogue"


def log_folder() -> Path:
    """Where each server's stderr is written to."""
    return Path(platformdirs.user_log_dir(APP, appauthor=False))


def state_folder() -> Path:
    """Where is kept what cannot be had again."""
    return Path(platformdirs.user_state_dir(APP, appauthor=False))


def trust_folder() -> Path:
    """Where it is remembered what each server's tools were when first seen."""
    return state_folder() / "tools"


def approvals_folder() -> Path:
    """Where it is remembered which programs of which configuration files the user has accepted."""
    return state_folder() / "programs"
