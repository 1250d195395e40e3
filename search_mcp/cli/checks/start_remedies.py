"""Remedies for servers that failed to start, where the reason does not name one."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from search_mcp.backends.process.launching import is_program
from search_mcp.backends.process.variables import child_environment, find_program
from search_mcp.cli.command_lines import redacted_words
from search_mcp.config.schema import ServerConfig
from search_mcp.model.reasons import no_package

RUN_IT = "to see all its output, run: "
"""Begins the remedy of a server whose program exists."""


def of_failed(config: ServerConfig, reason: str) -> str | None:
    """Return the remedy for a server that failed to start for a reason; None if that names one."""
    if config.problem is not None or config.remote is not None:
        return None
    if sentence := no_package(reason):
        return sentence
    environment = child_environment(sys.platform, os.environ, config.env, config.inherit_env, str(Path.home()))
    if find_program(sys.platform, config.command, environment, config.cwd, is_program) is None:
        return None
    if config.unfilled is not None:
        return None  # it needs its secrets, or was not started for lack of them
    words = redacted_words(config)
    return f"{RUN_IT}{subprocess.list2cmdline(words) if sys.platform == 'win32' else shlex.join(words)}"
