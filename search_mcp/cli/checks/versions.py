"""Packages that are started without an exact version, so that each start may run newer code.

Reads the command lines of `npx`, `uvx` and similar programs. A package is named by the first word that is neither an
option nor an option's value, or by an option such as `--package`. Paths are never reported, because only the user
changes them.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from search_mcp.config.schema import ServerConfig

_Judge = Callable[[str], str | None]
"""Returns the pinned form of a package without an exact version; None for any other."""

VERSION = "VERSION"
COMMIT = "COMMIT"
_NPM_VALUES = {"-c", "--call", "-w", "--workspace", "--registry", "--prefix", "--cache", "--userconfig", "--loglevel"}
_UV_VALUES = {
    *("-p", "--python", "-w", "--with", "--with-editable", "--with-requirements", "-i", "--index-url", "--index"),
    *("--extra-index-url", "--default-index", "-f", "--find-links", "-c", "--constraints", "--constraint", "-b"),
    *("--build-constraints", "--overrides", "--env-file", "--directory", "--project", "--config-file", "--cache-dir"),
    *("--index-strategy", "--keyring-provider", "--resolution", "--prerelease", "--link-mode", "--color"),
    *("-C", "--config-setting", "-P", "--upgrade-package", "--reinstall-package", "--refresh-package"),
    *("--allow-insecure-host", "--no-binary-package", "--no-build-package", "--python-preference"),
}
_PIPX_VALUES = {"--python", "-i", "--index-url", "--pip-args", "--with"}
_DOCKER_SWITCHES = "itdPq"
_DOCKER_LONG_SWITCHES = {
    *("--rm", "--init", "--interactive", "--tty", "--detach", "--privileged", "--read-only", "--publish-all"),
    *("--no-healthcheck", "--oom-kill-disable", "--sig-proxy", "--disable-content-trust", "--quiet"),
}


@dataclass(frozen=True)
class _Runner:
    """A command that runs packages, and the meaning of its options."""

    words: tuple[str, ...]
    judge: _Judge
    values: Collection[str]
    """Options whose value is the next word."""
    packages: Collection[str]
    """Options whose value is a package."""
    shown: str
    """Words before the pinned package in an example."""
    pinning: Collection[str] = ()
    """Options that pin every package."""
    joined: str = "=="
    """Text between package and version, if no option names the package."""


def unpinned(server: ServerConfig) -> str | None:
    """Return the command with its package pinned, as an example; None if it has an exact version."""
    words = _words(server)
    for runner in _RUNNERS:
        if words[: len(runner.words)] == [*runner.words]:
            pinned = _pinned(runner, words[len(runner.words) :])
            return server.redactor(f"{runner.shown} {pinned}") if pinned is not None else None
    return None


def _words(server: ServerConfig) -> list[str]:
    """Return the command line from the program that runs packages on, without its folder, extension and `cmd /c`."""
    words = [server.command, *server.args]
    if _stem(words[0]) == "cmd" and len(words) > 2 and words[1].lower() == "/c":
        words = words[2:]
    words = [_stem(words[0]), *words[1:]]
    if words[0] in ("pnpm", "yarn", "npm", "uv", "docker", "podman", "bun"):  # there may be options before the command
        words[1:] = words[next((n for n, word in enumerate(words) if n and not word.startswith("-")), len(words)) :]
    return words


def _stem(program: str) -> str:
    name = re.split(r"[/\\]", program)[-1].lower()
    return PurePath(name).stem if name.endswith((".exe", ".cmd", ".bat")) else name


def _pinned(runner: _Runner, words: Sequence[str]) -> str | None:
    """Return the first package without an exact version, pinned, behind the option that names it."""
    found = _docker_image(words) if runner.judge is _image else _packages(runner, words)
    for option, package in found:
        if (pinned := runner.judge(package)) is not None:
            return f"{option} {pinned}" if option else pinned.replace("==", runner.joined, 1)
    return None


def _packages(runner: _Runner, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield option and package for each package: those that options name, else the first word that is not an option."""
    rest = iter(words)
    named = False
    for word in rest:
        option, equals, value = word.partition("=")
        if option in runner.pinning:
            return
        if option in runner.packages:
            named = True
            yield option, value if equals else next(rest, "")
        elif option in runner.values:
            if not equals:
                next(rest, "")
        elif word == "--" or not word.startswith("-"):
            first = next(rest, "") if word == "--" else word
            if not named:
                yield "", first
            return


def _docker_image(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the image: the first word after the options, most of which have a value."""
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            yield "", word
            return
        if word == "--pull=never" or (word == "--pull" and next(rest, "") == "never"):
            return
        if word.startswith("--"):
            if "=" not in word and word not in _DOCKER_LONG_SWITCHES and word != "--pull":
                next(rest, "")
        elif word[1:].lstrip(_DOCKER_SWITCHES) and len(word[1:].lstrip(_DOCKER_SWITCHES)) == 1:
            next(rest, "")  # as in -e NAME; -eNAME includes its value


def _npm(package: str) -> str | None:
    if re.match(r"[.~/\\]|[A-Za-z]:|file:|link:|workspace:", package) and not re.match(r"https?:|git", package):
        return None
    if "://" in package or re.match(r"git(hub|lab)?:|[^@/]+/", package):
        return None if "#" in package or re.search(r"\.t(ar\.)?gz$", package) else f"{_place(package)}#{COMMIT}"
    name, _, version = package[1:].partition("@")
    name = package[:1] + name
    return None if not name or re.fullmatch(r"v?\d+\.\d+\.\d+([-+].*)?", version) else f"{name}@{VERSION}"


def _pypi(package: str) -> str | None:
    if re.match(r"[.~/\\]|[A-Za-z]:[/\\]", package) or package.endswith((".whl", ".tar.gz", ".zip")):
        return None
    _, is_direct, source = package.rpartition(" @ ") if " @ " in package else ("", "", package)
    if is_direct or "://" in source:
        return _git(source)
    name = re.match(r"[\w.-]*(\[[^\]]*\])?", package)
    wanted = package[name.end() :].strip() if name is not None else ""
    if name is None or not name[0] or re.fullmatch(r"(===?\s*v?|@)\d[^*,<>~!]*", wanted):
        return None
    return f"{name[0]}=={VERSION}"


def _git(address: str) -> str | None:
    path = address.partition("://")[2].partition("/")[2]
    if not address.startswith("git+") or "@" in path:
        return None
    return f"{_place(address)}@{COMMIT}"


def _place(address: str) -> str:
    """Return an address without its user and password."""
    return re.sub(r"(?<=://)[^/@]*@", "", address)


def _image(image: str) -> str | None:
    repository, _, tag = image.rpartition(":")
    if "@sha256:" in image or re.fullmatch(r"[0-9a-f]{12,64}", image):
        return None
    if not repository or "/" in tag:
        return f"{image}:{VERSION}"
    return f"{repository}:{VERSION}" if tag == "latest" else None


_PACKAGE = ("-p", "--package")
_RUNNERS = (
    _Runner(("npx",), _npm, _NPM_VALUES, _PACKAGE, "npx -y"),
    _Runner(("npm", "exec"), _npm, _NPM_VALUES, ("--package",), "npm exec -y --"),
    _Runner(("npm", "x"), _npm, _NPM_VALUES, ("--package",), "npm exec -y --"),
    _Runner(("pnpx",), _npm, _NPM_VALUES, _PACKAGE, "pnpx"),
    _Runner(("pnpm", "dlx"), _npm, _NPM_VALUES, _PACKAGE, "pnpm dlx"),
    _Runner(("yarn", "dlx"), _npm, _NPM_VALUES, _PACKAGE, "yarn dlx"),
    _Runner(("bunx",), _npm, _NPM_VALUES, _PACKAGE, "bunx"),
    _Runner(("bun", "x"), _npm, _NPM_VALUES, _PACKAGE, "bunx"),
    _Runner(("uvx",), _pypi, _UV_VALUES, ("--from",), "uvx", ("--exclude-newer",), "@"),
    _Runner(("uv", "tool", "run"), _pypi, _UV_VALUES, ("--from",), "uv tool run", ("--exclude-newer",), "@"),
    _Runner(("pipx", "run"), _pypi, _PIPX_VALUES, ("--spec",), "pipx run"),
    _Runner(("docker", "run"), _image, (), (), "docker run ..."),
    _Runner(("docker", "container", "run"), _image, (), (), "docker run ..."),
    _Runner(("podman", "run"), _image, (), (), "podman run ..."),
)
