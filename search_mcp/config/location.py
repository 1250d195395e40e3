"""Finding and reading the configuration file.

In this order: a named file, a trusted file in the current folder, the user's own file.
"""

import os
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from search_mcp.config import gate
from search_mcp.config.gate import Origin
from search_mcp.config.parsing import parse
from search_mcp.config.placeholders import at_home
from search_mcp.config.schema import Config
from search_mcp.config.trust import Approvals, printable, real_path
from search_mcp.files import without_waiting
from search_mcp.folders import approvals_folder, config_folder
from search_mcp.model.errors import ConfigError

FILE_NAME = "mcp-servers.json"
FILE_VARIABLE = "SEARCH_MCP_CONFIG"


def candidates(
    explicit: str | None, variables: Mapping[str, str], cwd: Path | None, user_dir: Path
) -> tuple[Path, ...]:
    """List the files to look for, best first; a file named by the user is the only one.

    `cwd` is `None` if the current folder was deleted.

    Raises:
        ConfigError: the one that was asked for cannot be told.
    """
    if asked_for := explicit or variables.get(FILE_VARIABLE):
        # A path in a client's configuration was not expanded by a shell.
        home = variables.get("HOME") or variables.get("USERPROFILE")
        path = Path(at_home(asked_for, home or "~"))
        if not home and at_home(asked_for, "/") != asked_for:
            raise ConfigError(asked_for, "~ cannot be expanded, because HOME is not set", "write an absolute path")
        if not path.root and not explicit:  # it would mean a different file in each folder, also an untrusted one
            raise ConfigError(FILE_VARIABLE, f"{asked_for} is a relative path", "write an absolute one")
        if cwd is None and not path.root:
            raise ConfigError(asked_for, "the current folder is gone", "write an absolute path")
        return (path if cwd is None else cwd / path,)
    found = () if cwd is None else (cwd / "config" / FILE_NAME,)
    return (*found, user_dir / FILE_NAME)


MAX_CONFIG_BYTES = 16 << 20

CurrentFolder: TypeAlias = Callable[[], Path | None]
"""Returns the current folder of a client, which may be another process; `None` if there is none."""


def current_folder() -> Path | None:
    """Return the current folder of this process; `None` if it was deleted or cannot be read."""
    try:
        return Path.cwd()
    except OSError:
        return None


def load(
    explicit: str | None, variables: Mapping[str, str], current: CurrentFolder = current_folder
) -> tuple[Config, Path]:
    """Find and read the configuration for a command, and mark the servers that it must not start.

    `current` returns the current folder of the command.

    Raises:
        ConfigError: there is none, it cannot be read, or it is wrong.
    """
    path = locate(explicit, variables, current)
    config = gate.for_command(read(path, variables), path, origin(path, explicit, variables, current), approvals())
    return config, path


def locate(explicit: str | None, variables: Mapping[str, str], current: CurrentFolder = current_folder) -> Path:
    """Find the configuration file to use; `current` returns the current folder of the client.

    Raises:
        ConfigError: there is none.
    """
    looked_in = places(explicit, variables, current)
    path = next(filter(_is_there, looked_in), None)
    if path is None:
        folder = next((place for place in looked_in if place.is_dir()), None)
        if folder is not None:
            raise ConfigError(printable(folder), "this is a folder", f"name the file in it, such as {FILE_NAME}")
        looked = " and ".join(map(printable, looked_in))
        problem = "there is no config file yet" if looked_in[-1] == own_place() else "there is no such file"
        remedy = "run `search-mcp import`, or `search-mcp add NAME -- COMMAND`, or `search-mcp add NAME URL`"
        if looked_in[-1] != own_place():
            remedy = "correct the path, or create the file: `search-mcp add NAME --config PATH -- COMMAND`"
        if (other := unused(explicit, variables, looked_in[-1], current)) is not None:
            trusts = "" if is_borrowed(other) else ", or you trust it (search-mcp config trust)"
            remedy = f"{printable(other)} is used only if --config names it{trusts}"
        raise ConfigError(looked, problem, remedy)
    return path


def _is_there(place: Path) -> bool:
    try:
        return place.is_file()
    except OSError:  # no permission for the folder; reading the file reports that
        return True


def places(
    explicit: str | None, variables: Mapping[str, str], current: CurrentFolder = current_folder
) -> tuple[Path, ...]:
    """Return the paths where the configuration may be, best first; the last is the user's own file.

    A file found in the current folder counts only in the checkout that search-mcp runs from, or if the user trusted
    it: any other folder may hold programs of a stranger.

    Raises:
        ConfigError: it is named in a way that leaves open which file is meant.
    """
    folder = current()
    found = candidates(explicit, variables, folder, own_place().parent)
    if len(found) == 1 or folder is None:
        return found
    path = found[0]
    is_used = not is_borrowed(path) and (_is_own_checkout(folder) or _is_trusted(path))
    return found if is_used else found[-1:]


def is_borrowed(path: Path) -> bool:
    """Return whether `config/mcp-servers.json` of a folder is reached through a link below that folder.

    With it a folder could have the trust in another one's file, whose programs would run in this folder.
    """
    folder = path.parent.parent
    whole = Path(real_path(folder), *path.relative_to(folder).parts)
    return os.path.normcase(real_path(path)) != os.path.normcase(whole)


def own_place() -> Path:
    """Return the path of the configuration in the user's own folder."""
    return config_folder() / FILE_NAME


def approvals() -> Approvals:
    """Return the records of the programs that the user accepted."""
    return Approvals(approvals_folder())


def origin(
    path: Path, explicit: str | None, variables: Mapping[str, str], current: CurrentFolder = current_folder
) -> Origin:
    """Return how the configuration file in use was found."""
    if _itself(path) == _itself(own_place()):
        return Origin.OWN
    is_named = bool(explicit or variables.get(FILE_VARIABLE))
    folder = current()
    return Origin.NAMED if is_named or (folder is not None and _is_own_checkout(folder)) else Origin.FOUND


def _itself(path: Path) -> str:
    """Resolve the links of a file's folder, but not the file itself, which may link to an untrusted file."""
    return os.path.join(real_path(path.parent), path.name)  # noqa: PTH118  # compared with other paths made here


def untrusted(
    explicit: str | None, variables: Mapping[str, str], used: Path, current: CurrentFolder = current_folder
) -> str | None:
    """Return a notice that a configuration in the current folder is not used; `None` if the user declined notices."""
    path = unused(explicit, variables, used, current)
    if path is None or (record := approvals().read(path)).folder == "refused":
        return None
    if is_borrowed(path):
        return f"{printable(path)} is not used, because it is a link to another folder's file; --config can name it"
    if record.folder != "undecided":
        return None
    why = f"the record of that cannot be used ({record.fault})" if record.fault else "you have not trusted it"
    return f"{printable(path)} is not used, because {why}: `search-mcp config trust` shows its commands and asks you"


def _is_trusted(path: Path) -> bool:
    return _is_there(path) and approvals().read(path).folder == "trusted"


def unused(
    explicit: str | None, variables: Mapping[str, str], used: Path, current: CurrentFolder = current_folder
) -> Path | None:
    """Return the configuration in the current folder, if there is one and another file is used.

    A copy of the example that search-mcp ships counts only in the checkout that search-mcp runs from.
    """
    if explicit or variables.get(FILE_VARIABLE):
        return None
    folder = current()
    if folder is None:
        return None
    path = folder / "config" / FILE_NAME
    if not _is_there(path) or real_path(path) == real_path(used):
        return None
    return path if _is_own_checkout(folder) or not _is_copy(path, shipped()) else None


def shipped() -> Path:
    """Return the path of the configuration that is shipped with search-mcp, in a package or in a checkout."""
    package = Path(__file__).parents[1]
    packaged = package / "cli" / FILE_NAME
    return packaged if packaged.is_file() else package.parent / "config" / FILE_NAME


def _is_copy(path: Path, original: Path) -> bool:
    """Return whether two regular files have the same content."""
    try:
        is_as_long = path.is_file() and path.stat().st_size == original.stat().st_size
        return is_as_long and path.read_bytes() == original.read_bytes()
    except OSError:  # a file that cannot be read is reported as any other
        return False


def _is_own_checkout(folder: Path) -> bool:
    return folder.resolve() == Path(__file__).resolve().parents[2]


def read(path: Path, variables: Mapping[str, str]) -> Config:
    """Read one configuration file.

    Raises:
        ConfigError: it cannot be read, or it is wrong.
    """
    try:
        with open(path, "rb", opener=without_waiting) as file:  # a path's own `open` has no opener
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigError(printable(path), "it is not a regular file", "put a file there, or a link to one")
            text = file.read(MAX_CONFIG_BYTES + 1)
    except OSError as exc:
        raise ConfigError(printable(path), f"it cannot be read ({exc.strerror})", "check that you may read it") from exc
    if len(text) > MAX_CONFIG_BYTES:
        raise ConfigError(printable(path), f"it is larger than {MAX_CONFIG_BYTES >> 20} MiB", "make it smaller")
    return interpret(text, path, variables)


def interpret(text: bytes, path: Path, variables: Mapping[str, str]) -> Config:
    """Read the text of the configuration file that is, or will be, at this path.

    Raises:
        ConfigError: it is wrong.
    """
    return parse(
        text,
        source=printable(path),
        variables=variables,
        home=str(Path.home()),
        config_dir=str(path.resolve().parent),
        python=sys.executable,
        named="" if real_path(path) == real_path(own_place()) else str(path.absolute()),
    )
