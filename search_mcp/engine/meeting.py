"""The place where relays and the engine process of a user meet: a folder, and the names of a socket and a lock in it.

Decides which engine process a relay may use: one of the same build, started by the same user in the same way, for
the same configuration file. Another version has another name, so it is left alone. Standard library only, because
relays load nothing else.
"""

import contextlib
import os
import socket
import stat
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256

from search_mcp import __version__

FOLDER = "search-mcp"
MOST_BYTES = 103
"""The longest path of a socket on macOS; Linux has four bytes more."""
NAME_LENGTH = 32
"""Characters of the digest in the names of a socket and its lock: 128 bits."""
LOG_FOLDER, LOG_FILE = "engine", "engine.log"
"""The log of the engines, in a folder beside the logs of the servers."""
FOLDER_VARIABLES = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
BUS_VARIABLE = "DBUS_SESSION_BUS_ADDRESS"
KEYRING_VARIABLES = (BUS_VARIABLE, "PYTHON_KEYRING_BACKEND")
"""Variables that decide which keyring `${keyring:}` reads."""
FIXED_VARIABLES = (
    *FOLDER_VARIABLES,
    *KEYRING_VARIABLES,
    *("PYTHONHOME", "PYTHONPATH", "PYTHONUTF8", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)
"""Environment variables that the engine process reads for itself.

They are the same for all of its clients: a client with other values gets another engine process. Each client sends its
other variables.
"""
PROXIES = "_proxy"
"""The ending of the variables that name proxies, in lower case; the HTTP client reads them."""
NAMESPACES = ("mnt", "pid", "net", "user", "ipc", "uts")
RESTRICTIONS = (b"NoNewPrivs:", b"Seccomp")
"""Lines about a process: bubblewrap, Flatpak, Landlock and every unprivileged filter of system calls set the first."""
_LINUX_PEERCRED = 17  # SO_PEERCRED, which Python has on Linux only
_SOL_LOCAL, _LOCAL_PEERCRED = 0, 1  # macOS and the BSDs, <sys/un.h>


class UnsafeFolderError(OSError):
    """A folder that other users could write to."""


class Meeting:
    """The paths of one engine process."""

    def __init__(self, folder: str, name: str) -> None:
        self.folder = folder
        self.socket = f"{folder}/{name}.sock"
        self.lock = f"{folder}/{name}.lock"
        """Locked by the process that starts the engine, then by the engine for as long as it lives."""


def is_supported(platform: str) -> bool:
    """Return whether relays and engines can meet here: where sockets have paths, and descriptors can be sent."""
    return platform != "win32" and hasattr(socket, "AF_UNIX")


def meeting(config: str, variables: Mapping[str, str]) -> Meeting:
    """Return the meeting place for a configuration file.

    Raises:
        OSError: the folder cannot be made, or is not safe, or our own files cannot be read.
    """
    folder = own_folder(variables)
    make_safe(folder)
    itself = f"{build()} {sys.getfilesystemencoding()} umask {umask():o} {confinement()}"
    return Meeting(folder, name(os.path.realpath(config), itself, of_engine(variables)))


def of_engine(variables: Mapping[str, str], exists: Callable[[str], bool] = os.path.exists) -> dict[str, str]:
    """Return the variables of the engine for a client: with the user's bus, whose variable many clients do not pass on.

    The clients of the SDKs pass on `HOME`, `LOGNAME`, `PATH`, `SHELL`, `TERM` and `USER` only.
    """
    bus = f"/run/user/{os.getuid()}/bus"  # where systemd has it, and libdbus looks for it
    return {**({BUS_VARIABLE: f"unix:path={bus}"} if exists(bus) else {}), **variables}


def sockets(variables: Mapping[str, str]) -> list[str]:
    """Return the sockets of this user; engines that were killed have left theirs behind.

    Raises:
        OSError: their folder is not safe.
    """
    folder = own_folder(variables)
    if not os.path.exists(folder):  # noqa: PTH110
        return []
    make_safe(folder)
    return sorted(f"{folder}/{each}" for each in os.listdir(folder) if each.endswith(".sock"))  # noqa: PTH208


def confinement() -> list[str]:
    """Return the namespaces, the security label and the restrictions of this process, as far as Linux tells them.

    Servers inherit them from the engine. So a client in a container or a sandbox has an engine inside it.
    """
    found = []
    for kind in NAMESPACES:
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"/proc/self/ns/{kind}"))  # noqa: PTH115  # no pathlib: a relay loads little
    with contextlib.suppress(OSError), open("/proc/self/attr/current", "rb") as file:  # noqa: PTH123
        found.append(repr(file.read()))
    with contextlib.suppress(OSError), open("/proc/self/status", "rb") as file:  # noqa: PTH123
        found += [repr(line) for line in file if line.startswith(RESTRICTIONS)]
    return found


def umask() -> int:
    """Return the permissions that new files do not get; servers inherit it from the engine."""
    current = os.umask(0o077)
    os.umask(current)
    return current


def is_own(folder: str) -> bool:
    """Return whether a folder is there and belongs to this user; after `su` and `sudo`, variables name another's."""
    try:
        return os.stat(folder).st_uid == os.getuid()  # noqa: PTH116  # no pathlib: a relay loads little
    except OSError:
        return False


def own_folder(variables: Mapping[str, str]) -> str:
    """Return the folder in which relays and engines of this user meet; it may not be there yet."""
    return folder_name(variables, os.getuid())


def folder_name(variables: Mapping[str, str], uid: int, is_own: Callable[[str], bool] = is_own) -> str:
    """Return the folder of this user's sockets, in the folder that the system makes for them if there is one.

    It is the same for clients that do not pass on the variables that name these folders.
    """
    temporary = variables.get("TMPDIR") or _temporary_folder()
    folder = f"/tmp/{FOLDER}-{uid}"  # checked by `make_safe`
    if temporary.startswith("/"):
        folder = f"{temporary.rstrip('/')}/{FOLDER}-{uid}"
    for runtime in (f"/run/user/{uid}", variables.get("XDG_RUNTIME_DIR")):
        if runtime and runtime.startswith("/") and is_own(runtime):
            folder = f"{runtime.rstrip('/')}/{FOLDER}"
    is_short = len(os.fsencode(folder)) <= MOST_BYTES - len("/.sock") - NAME_LENGTH
    return folder if is_short else f"/tmp/{FOLDER}-{uid}"


def _temporary_folder() -> str:
    """Return the user's temporary folder on macOS, to which `TMPDIR` is set there; empty elsewhere."""
    # _CS_DARWIN_USER_TEMP_DIR of <unistd.h>
    return (os.confstr(65537) or "") if sys.platform == "darwin" else ""


def make_safe(folder: str) -> None:
    """Make the folder, or check that nobody but this user can use the one that is there.

    Raises:
        OSError: it cannot be made.
        UnsafeFolderError: another user made it, or may write to it, or it is a link.
    """
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)  # noqa: PTH102  # no pathlib: a relay loads little
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode):
        raise UnsafeFolderError(f"{folder} is not a folder")
    if found.st_uid != os.getuid():
        raise UnsafeFolderError(f"{folder} belongs to another user")
    if found.st_mode & 0o077:
        raise UnsafeFolderError(f"other users may use {folder}")


def name(config: str, build: str, variables: Mapping[str, str]) -> str:
    """Return the name of the socket: a digest, because the path of a socket may have about 100 bytes."""
    fixed = sorted((key, value) for key, value in variables.items() if is_fixed(key))
    return sha256(repr((config, build, fixed)).encode("utf-8", "surrogateescape")).hexdigest()[:NAME_LENGTH]


def is_fixed(variable: str) -> bool:
    """Return whether a variable is read by the engine process itself."""
    return variable in FIXED_VARIABLES or variable.lower().endswith(PROXIES)


def build() -> str:
    """Return a text that is different for every version, installation and edit of search-mcp, and for every Python.

    Raises:
        OSError: the files of the package cannot be read, such as those in a zip file.
    """
    package = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120
    return f"{__version__} {sys.executable} {sys.version} {package} {build_of(package)}"


def build_of(package: str) -> str:
    """Return a digest of the files of the package in a folder."""
    record = f"{package}-{__version__}.dist-info/RECORD"  # of a wheel: the digests of all its files
    digest = sha256()
    try:
        with open(record, "rb") as file:  # noqa: PTH123
            digest.update(file.read())
    except FileNotFoundError:  # a checkout
        for path, size, mtime in sorted(_files(package)):
            digest.update(f"{path} {size} {mtime}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    yield from _files(entry.path)
            elif entry.name.endswith(".py"):
                found = entry.stat()
                yield entry.path, found.st_size, found.st_mtime_ns


def is_same_user(connection: socket.socket, platform: str = sys.platform) -> bool:
    """Return whether the other side of a connection is a process of this user.

    Where the system does not say it, the folder alone decides: no other user can reach a socket in it.
    """
    if platform == "linux":
        uid: int = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, _LINUX_PEERCRED, 12))[1]
    elif platform == "darwin" or "bsd" in platform:
        # struct xucred: version, uid, groups
        uid = struct.unpack_from("I", connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76), 4)[0]
    else:
        return True
    return uid == os.getuid()
