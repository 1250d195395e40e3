"""What a child process is given: its program, its environment. All platform differences in spawning.

Decides from values; it reads neither `os.environ` nor the file system but through what is passed in.
"""

import ntpath
import posixpath
from collections.abc import Callable, Mapping

# What a shell command needs to run at all; nothing that belongs to one program, such as a token.
_POSIX = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "TMPDIR", "LANG", "LANGUAGE", "TZ", "XDG_RUNTIME_DIR")
_POSIX_PREFIXES = ("LC_",)
_WINDOWS = (
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMPUTERNAME",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "PUBLIC",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERDOMAIN",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
)
# Where people's tools are when a graphical client started us with `PATH=/usr/bin:/bin:/usr/sbin:/sbin`.
_USUAL_PLACES = ("{home}/.local/bin", "/opt/homebrew/bin", "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")


def child_environment(
    platform: str,
    variables: Mapping[str, str],
    own: Mapping[str, str],
    inherit: bool | tuple[str, ...],
    home: str,
) -> dict[str, str]:
    """Build a child's whole environment: the essentials, what its entry lets in, and its own `env`.

    `platform` is `sys.platform`. Exported shell functions are never passed on: they are code.
    """
    essential = _is_windows_essential if platform == "win32" else _is_posix_essential
    named = {_spelled(platform, name) for name in inherit} if isinstance(inherit, tuple) else set()
    environment = {
        name: value
        for name, value in variables.items()
        if (inherit is True or _spelled(platform, name) in named or essential(name)) and not value.startswith("()")
    }
    replaced = {_spelled(platform, name) for name in own}
    environment = {name: value for name, value in environment.items() if _spelled(platform, name) not in replaced}
    environment.update(own)
    if platform != "win32":
        environment["PATH"] = completed_path(environment.get("PATH", ""), home)
    return environment


def _spelled(platform: str, name: str) -> str:
    return name.upper() if platform == "win32" else name  # Windows does not tell them apart


def _is_windows_essential(name: str) -> bool:
    return name.upper() in _WINDOWS


def _is_posix_essential(name: str) -> bool:
    return name in _POSIX or name.startswith(_POSIX_PREFIXES)


def completed_path(path: str, home: str) -> str:
    """Append the usual places that a `PATH` lacks; what is there keeps its order and precedence."""
    present = [place for place in path.split(":") if place]
    usual = [place.format(home=home) for place in _USUAL_PLACES]
    return ":".join([*present, *(place for place in usual if place not in present)])


def find_program(
    platform: str,
    command: str,
    environment: Mapping[str, str],
    cwd: str | None,
    is_program: Callable[[str], bool],
) -> str | None:
    """Resolve a command to the file to run; `None` if there is none.

    On Windows `npx` is `npx.cmd`: a name is tried with every ending of `PATHEXT`, as the shell does.
    """
    paths = ntpath if platform == "win32" else posixpath
    spelled = {_spelled(platform, name): value for name, value in environment.items()}
    if paths.dirname(command):
        places = [cwd or ""]
    else:
        places = spelled.get("PATH", "").split(";" if platform == "win32" else ":")
    endings = [""]
    if platform == "win32":
        known = [ending.lower() for ending in spelled.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").split(";") if ending]
        endings = known if paths.splitext(command)[1].lower() not in known else [""]
    for place in places:
        for ending in endings:
            candidate: str = paths.join(place, command + ending)
            if is_program(candidate):
                return candidate
    return None
