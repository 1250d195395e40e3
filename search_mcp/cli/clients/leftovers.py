"""Files of search-mcp that are not in AI clients, for `uninstall --everything`.

Decides which they are: its own folders, and the completion of shells. Configuration files that `--config` named stay.
"""

import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from search_mcp.cli.engine import engines
from search_mcp.cli.files import stored_secrets
from search_mcp.cli.files.own_file import own_file
from search_mcp.cli.options import Options
from search_mcp.cli.problem import Problem
from search_mcp.clients import storage
from search_mcp.clients.merging import ROOT
from search_mcp.engine.meeting import is_supported, own_folder
from search_mcp.folders import APP, all_folders
from search_mcp.model.errors import ConfigError

_COMPLETIONS: Final = (f".bash_completions/{APP}.sh", f".zfunc/_{APP}", f".config/fish/completions/{APP}.fish")
"""The files that `--install-completion` makes in the home folder, for bash, zsh and fish."""


def present() -> list[Path]:
    """List the folders and files that are there."""
    meeting = [Path(own_folder(os.environ))] if is_supported(sys.platform) else []
    return [each for each in (*all_folders(), *meeting, *map(Path.home().joinpath, _COMPLETIONS)) if each.exists()]


def remove(options: Options) -> None:
    """Stop the engines, then remove the secrets in the keyring, the folders and the files.

    Raises:
        Problem: something cannot be removed, or is there again.
        ConfigError: the file that bash reads at its start cannot be read or written.
    """
    left = present()
    if is_supported(sys.platform):
        engines.stop_all(options.screen)
    try:
        stored_secrets.delete_unused(own_file(options).document.members((ROOT,)), {}, options.screen)
    except ConfigError as exc:
        options.screen.warning(f"secrets in the keyring stay, because they cannot be found: {exc}")
    _forget_completion(Path.home())
    for each in left:
        try:
            if each.is_symlink():
                options.screen.warning(f"{each} was a link; what it leads to stays: {each.resolve()}")
            shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink(missing_ok=True)
        except FileNotFoundError:
            continue  # the engine removes its own
        except OSError as exc:
            why = f"{exc.filename or each} cannot be removed ({exc.strerror})"
            raise Problem(why, "run the same command again") from exc
    if again := present():
        raise Problem(f"{again[0]} was written to meanwhile", "run the same command again")
    with suppress(OSError):  # it has other files, or does not exist
        (Path.home() / _COMPLETIONS[0]).parent.rmdir()


def _forget_completion(home: Path) -> None:
    """Remove the line of the completion from the file that bash reads at its start."""
    file = home / ".bashrc"
    before = storage.read(file) or b""
    after = before.replace(f"\nsource '{home / _COMPLETIONS[0]}'\n".encode(), b"", 1)  # what typer wrote
    if after != before:
        storage.write(file, before, after)
        storage.forget_backups(file)
