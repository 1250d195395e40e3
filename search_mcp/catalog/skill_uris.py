"""URIs of skills, and the directories that they name. Pure."""

SKILL_FILE = "/SKILL.md"
SKILL_SCHEME = "skill:"
"""The scheme that is meant for skills; a server may use any other."""


def directory_of(uri: str) -> str | None:
    """Return the directory of the skill with this URI of its `SKILL.md`; `None` for any other URI."""
    # "The skill's root directory is `skill://<skill-path>`, that is, the `SKILL.md` URI with the `/SKILL.md` suffix
    # removed and no trailing slash"
    directory = uri.removesuffix(SKILL_FILE)
    is_named = directory != uri and ":" in directory and not directory.endswith((":", "/"))
    return directory if is_named else None


def is_within(uri: str, directory: str) -> bool:
    """Return whether a URI is a directory or is within it."""
    return uri.startswith(directory) and uri[len(directory) : len(directory) + 1] in ("", "/")


def is_of_skill_scheme(uri: str) -> bool:
    return uri[: len(SKILL_SCHEME)].lower() == SKILL_SCHEME
