"""A name for a server, from its command or its address. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from search_mcp.clients import native

_RUNNERS = {"npx", "bunx", "pnpx", "pnpm", "yarn", "bun", "npm", "uvx", "uv", "pipx", "docker", "podman", "deno"}
_INTERPRETERS = re.compile(r"python[\d.]*|pythonw|py|node|ruby|bash|sh|cmd")
_STEPS = {"run", "exec", "dlx", "x", "tool", "/c"}
"""Words between a runner and what it runs."""
_WITH_VALUE = re.compile(r"-(e|v|p|w|u|-env|-env-file|-volume|-mount|-network|-name|-package|-python|-directory|-with)")
"""Options of runners whose value is the next word."""
_GENERIC = {"mcp", "server", "servers", "api", "www", "app", "remote", "sse", "com", "co", "index", "main", "cli"}
_GENERIC |= {"src", "dist", "build", "bin", "latest", "modelcontextprotocol", "http", "https"}
FALLBACK = "server"


def suggested_name(words: Sequence[str]) -> str:
    """Suggest a name for the server of a command line, or of an address as its only word."""
    if native.is_address(words[0]):
        return _of_address(words[0])
    program, *rest = words
    first = PurePosixPath(program.replace("\\", "/")).name.lower().removesuffix(".exe").removesuffix(".cmd")
    is_known = first in _RUNNERS or _INTERPRETERS.fullmatch(first) is not None
    return _of_package(next(_packages(rest), first) if is_known else first)


def _packages(words: Iterable[str]) -> Iterator[str]:
    """Yield the words that may name what a runner runs."""
    is_value = False
    for word in words:
        if not is_value and not word.startswith("-") and word not in _STEPS | _RUNNERS:
            yield word
        is_value = _WITH_VALUE.fullmatch(word) is not None


def _of_package(package: str) -> str:
    """Shorten the name of a package, an image, a module or a script; the last part that says something counts."""
    path = re.sub(r"(?<=[^/])(@|:|==|>=|\[)[^/]*$|\.(py|js|mjs|cjs|ts)$|\.git$", "", package.replace("\\", "/"))
    parts = (_telling(part) for part in reversed(path.split("/")))
    return next(filter(None, parts), FALLBACK)


def _telling(part: str) -> str:
    """Return the words of a part without those that every server has."""
    words = [word for word in re.findall(r"[^\W_]+", part) if word.lower() not in _GENERIC]
    return "-".join(words)


def _of_address(address: str) -> str:
    host = urlsplit(address).hostname or ""
    if re.fullmatch(r"[\d.]+|.*:.*", host):  # a number
        return FALLBACK
    labels = host.split(".")
    return next(filter(None, (_telling(label) for label in reversed(labels[:-1] or labels))), FALLBACK)
