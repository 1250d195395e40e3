"""The program, environment and command line of a child process, with all platform differences in spawning.

Decides from its arguments alone: it does not read `os.environ`, and reaches the file system through callbacks only.
"""

import ntpath
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence

from search_mcp.config.entries import in_words
from search_mcp.model.similar import closest

# Variables that a shell command needs to run; none that belong to a single program, such as a token, or to a terminal,
# which a server does not have.
_POSIX = ("HOME", "LOGNAME", "PATH", "SHELL", "USER", "TMPDIR", "LANG", "LANGUAGE", "TZ", "XDG_RUNTIME_DIR")
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
# Common places of tools: graphical clients start us with `PATH=/usr/bin:/bin:/usr/sbin:/sbin`.
_USUAL_PLACES = ("{home}/.local/bin", "/opt/homebrew/bin", "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")
_BATCH_FILES = (".bat", ".cmd")
# Arguments that cmd.exe takes literally without quotes; a backslash at the end would escape the quote of a `"%~1"`.
_PLAIN = r"[\w#$*+./:?@\\-]*[\w#$*+./:?@-]"
_BEFORE_QUOTES = r'(?<!\\)(\\*+)("|\Z)'


def child_environment(
    platform: str,
    variables: Mapping[str, str],
    own: Mapping[str, str],
    inherit: bool | tuple[str, ...],
    home: str,
) -> dict[str, str]:
    """Build a child's whole environment: essential and inherited variables, and the `env` of its entry.

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
    return name.upper() if platform == "win32" else name  # Windows ignores the case


def _is_windows_essential(name: str) -> bool:
    return name.upper() in _WINDOWS


def _is_posix_essential(name: str) -> bool:
    return name in _POSIX or name.startswith(_POSIX_PREFIXES)


def completed_path(path: str, home: str) -> str:
    """Append the common places that a `PATH` lacks; its own keep their order and precedence."""
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
    places = [cwd or ""] if paths.dirname(command) else _places(platform, spelled.get("PATH", ""))
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


_NODE, _UV, _BUN = (
    "it comes with Node.js: https://nodejs.org",
    "it comes with uv: https://docs.astral.sh/uv",
    "https://bun.sh",
)
_LAUNCHERS: Mapping[str, str] = {
    "npx": _NODE,
    "npm": _NODE,
    "node": _NODE,
    "uvx": _UV,
    "uv": _UV,
    "bun": f"install it from {_BUN}",
    "bunx": f"it comes with Bun: {_BUN}",
    "deno": "install it from https://deno.com",
    "docker": "install it from https://docs.docker.com/get-docker",
    "pipx": "install it from https://pipx.pypa.io",
    "python": "install it from https://www.python.org",
    "python3": "install it from https://www.python.org",
}
"""The programs that most servers are started with, and where to get them."""


def missing_program(command: str, is_there: Callable[[str], bool]) -> str:
    """Explain that a program was not found and how to get it; `is_there` returns whether another program exists."""
    if (remedy := in_words(command, is_there)) is not None:
        return f'its "command" contains its arguments; {remedy}'
    if posixpath.dirname(command) or ntpath.dirname(command):
        return f"program {command!r} was not found; correct its path in the configuration"
    problem = f"program {command!r} was not found on PATH"
    if command in _LAUNCHERS:
        return f"{problem}; {_LAUNCHERS[command]}. If it is installed, write its full path into the configuration"
    name = command.lower()
    in_other_order = (each for each in _LAUNCHERS if sorted(each) == sorted(name))  # "nxp" is little like "npx"
    if (meant := closest(name, _LAUNCHERS) or next(in_other_order, None)) is not None:
        return f"{problem}; did you mean {meant!r}{'' if is_there(meant) else f' ({_LAUNCHERS[meant]})'}?"
    return f"{problem}; install it, or write its full path into the configuration"


def _places(platform: str, path: str) -> list[str]:
    """Return the folders of a `PATH`, without empty ones, which would mean the current folder."""
    places = [place.strip('"') for place in path.split(";")] if platform == "win32" else path.split(":")
    return [place for place in places if place]


def batch_line(platform: str, program: str, args: Sequence[str]) -> str | None:
    """Write the command line for cmd.exe to run a batch file; `None` for a program that runs without cmd.exe.

    Windows passes a batch file to cmd.exe itself, but then `&` in an argument begins another command and
    `%PATH%` is expanded. The escapes are those of Rust's standard library (CVE-2024-24576).

    Raises:
        ValueError: an argument has a line break; cmd.exe ignores the rest of the line.
    """
    program = program.rstrip(" .")  # as Windows does
    if platform != "win32" or not program.lower().endswith(_BATCH_FILES):
        return None
    if any("\n" in arg or "\r" in arg for arg in args):
        raise ValueError(f"{program} is a batch file, and an argument of it has a line break; pass that on in env")
    script = f'"{ntpath.normpath(program)}"'  # an option to cmd.exe begins with a slash
    line = " ".join([script, *map(_quoted, args)])
    # `%cd:~,%` expands to nothing; it keeps a percent sign from beginning the name of another variable.
    return line.replace("%", "%%cd:~,%")


def _quoted(arg: str) -> str:
    if re.fullmatch(_PLAIN, arg):
        return arg
    # cmd.exe has no escape for a quote, but the program reads `""` as one; backslashes are special only before quotes.
    doubled = re.sub(_BEFORE_QUOTES, lambda found: found[1] * 2 + found[2] * 2, arg)
    return f'"{doubled}"'
