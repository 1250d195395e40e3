"""URIs of skills: the directory of a skill, and the directories that enclose a URI. Pure."""

from collections.abc import Iterator

SKILL_FILE = "/SKILL.md"
SKILL_SCHEME = "skill:"
"""The scheme that is meant for skills; a server may use any other."""
LONGEST_PATH = 32
"""Most slashes in a skill's URI: each directory above a URI that is read is looked up. Real skills have about five."""


def directory_of(uri: str) -> str | None:
    """Return the directory of a skill by the URI of its `SKILL.md`; `None` if it is no such URI."""
    # "The skill's root directory is `skill://<skill-path>`, that is, the `SKILL.md` URI with the `/SKILL.md` suffix
    # removed and no trailing slash"
    directory = uri.removesuffix(SKILL_FILE)
    is_named = directory != uri and ":" in directory and not directory.endswith((":", "/"))
    return directory if is_named else None


def enclosing(uri: str) -> Iterator[str]:
    """Yield the directories that enclose a URI, outer ones first, and the URI itself if it is not too deep."""
    at = uri.find("/")
    for _ in range(LONGEST_PATH):
        if at < 0:
            yield uri
            return
        yield uri[:at]
        at = uri.find("/", at + 1)


def is_of_skill_scheme(uri: str) -> bool:
    return uri[: len(SKILL_SCHEME)].lower() == SKILL_SCHEME
