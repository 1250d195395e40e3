"""The reason why a server does not run: what happened, and the end of its stderr, in one text.

Decides which line of the stderr tells the cause, and which causes only the user can remove. Pure.
"""

import re
from functools import cache

STDERR_TAIL_MARK = "; end of its stderr: "
"""Separates what happened from the end of the server's stderr."""

_NOISE = (
    r"(npm (error|ERR!) A complete log of this run|npm notice\b|(Run|See) 'docker\b|Node\.js v\d"
    r"|at .*[:(]|File \".*line \d|[\^~]+$|[})\]]+,?$)"
)
"""Beginnings of lines that tell no cause: what programs write after it, and the frames of a stack."""
_CAUSE = r"\b\w*(error|exception):|\bE404\b|\bnot found\b|ENOTFOUND|cannot connect|no module named|cannot find"
_PROBABLE_CAUSE = r"error|exception|cannot|can't|fail|denied|refused|invalid|missing|be found|unable|no such"
"""The last line with a match of the first tells the cause; if there is none, the last with a match of the second."""
_BEFORE_CAUSE = r"(npm (error|ERR!) |\[cause\]: )+"
_LASTING = (
    r"^program .* was not found|^its \"command\" contains|exited with code 127\b|cannot be resolved|ENOTFOUND"
    r"|Cannot connect to the Docker daemon|\bE404\b|^[^;]*package '\S+' was not found;"
)
_NO_PACKAGE = (
    r"404 Not Found - GET \S+/(\S+)|No matching (?:distribution|version) found for (\S+)"
    r"|Because (\S+) was not found in the package registry"
)
"""What npm, pip and uv write of a package that does not exist, or that the user may not read."""

_compiled = cache(re.compile)  # most processes need none of them


def parted(reason: str) -> tuple[str, str]:
    """Return what happened, and the line of the server's stderr that tells the cause; empty if there is none.

    For a package that does not exist, the line is the sentence of `no_package`.
    """
    what, _, written = reason.partition(STDERR_TAIL_MARK)
    if sentence := no_package(written):
        return what, sentence
    lines = [" ".join(line.split()) for line in written.splitlines() if line.strip()]
    lines = [line for line in lines if not _compiled(_NOISE).match(line)]
    for telling in (_compiled(_CAUSE, re.IGNORECASE), _compiled(_PROBABLE_CAUSE, re.IGNORECASE)):
        if found := [line for line in lines if telling.search(line)]:
            lines = found
            break
    line = lines[-1].rstrip(" {") if lines else ""
    return what, _compiled(_BEFORE_CAUSE).sub("", line, count=1)


def no_package(written: str) -> str:
    """Return a sentence about the package that a server's stderr says does not exist; empty if there is none."""
    if not (missing := _compiled(_NO_PACKAGE).search(" ".join(written.split()))):
        return ""
    package = next(filter(None, missing.groups())).replace("%2f", "/").rstrip(".")
    return f"package '{package}' was not found; check its name, its version, and your access to it"


def is_lasting(reason: str) -> bool:
    """Return whether another start ends in the same way until the user has changed something."""
    return _compiled(_LASTING).search(": ".join(parted(reason))) is not None
