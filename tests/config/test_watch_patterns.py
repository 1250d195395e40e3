"""Patterns of watched files: which paths they match, and which patterns are refused."""

import pytest

from search_mcp.config.watch_patterns import LONGEST_PATTERN, MOST_PATTERNS, complaints, rest, segments, usable

ROWS = [
    # patterns, paths that they match, paths that they do not match
    ("*.py", ["a.py", "server.py"], ["a.pyc", "src/a.py", ".a.py", "py"]),
    ("src/*.py", ["src/a.py"], ["a.py", "src/b/a.py", "src2/a.py"]),
    ("src/**/*.py", ["src/a.py", "src/b/a.py", "src/b/c/a.py"], ["a.py", "src/a.js", "x/src/a.py"]),
    ("**/*.py", ["a.py", "b/a.py"], ["a.js", ".git/a.py", ".venv/lib/a.py", "x/node_modules/a.py", "venv/a.py"]),
    ("**", ["a", "b/c"], [".hidden", "b/.hidden", "__pycache__/a"]),
    ("src/**", ["src/a", "src/b/c"], ["src", "a"]),
    ("src", ["src", "src/a", "src/b/c.py"], ["a", "srcs/a"]),
    ("src/", ["src/a"], ["a"]),
    ("./src/a.py", ["src/a.py"], ["a.py"]),
    ("src\\**\\*.py", ["src/a.py", "src/b/a.py"], ["a.py"]),
    ("a/**/b/**/c.py", ["a/b/c.py", "a/x/b/y/z/c.py"], ["a/c.py", "b/c.py"]),
    ("**/**/**/a.py", ["a.py", "b/a.py"], ["a"]),
    (".github/**/*.yml", [".github/a.yml", ".github/b/a.yml"], ["a.yml"]),
    (".*", [".env"], ["env", "a/.env"]),
    ("node_modules/mine/*.js", ["node_modules/mine/a.js"], ["node_modules/a.js"]),
    ("*/a.js", ["b/a.js"], ["node_modules/a.js", ".git/a.js"]),
    ("file[12].py", ["file1.py"], ["file3.py"]),
    ("?.py", ["a.py"], ["ab.py"]),
]


def matches(pattern: str, path: str, *, matches_hidden: bool = False) -> bool:
    left = frozenset(segments(pattern))
    for name in path.split("/"):
        left = rest(left, name, matches_hidden=matches_hidden)
    return () in left


@pytest.mark.parametrize(("pattern", "matched", "others"), ROWS, ids=[row[0] for row in ROWS])
def test_a_pattern_matches_these_paths_only(pattern: str, matched: list[str], others: list[str]) -> None:
    assert usable([pattern]) == (pattern,)
    assert [path for path in matched + others if matches(pattern, path)] == matched


def test_patterns_that_leave_files_out_match_hidden_names_too() -> None:
    found = [matches("**/*.log", path, matches_hidden=True) for path in (".a.log", ".git/a.log", "a.py")]
    assert found == [True, True, False]


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("/etc/**", "is absolute"),
        ("~/x", "is absolute"),
        ("C:\\x", "is absolute"),
        ("\\\\server\\share", "is absolute"),
        ("!/x", "is absolute"),
        ("../x", "leads out of its folder"),
        ("a/../../x", "leads out of its folder"),
        ("..", "names no file"),
        ("", "names no file"),
        ("!", "names no file"),
        ("src/*.{py,js}", "contains {"),
        ("x" * (LONGEST_PATTERN + 1), "is longer than"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_ignored_with_a_remedy(pattern: str, problem: str) -> None:
    assert usable([pattern, "src"]) == ("src",)
    ((path, told, remedy),) = complaints([pattern, "src"], is_remote=False)
    assert (path, problem in told, bool(remedy)) == (("watch",), True, True)


def test_only_so_many_patterns_are_used() -> None:
    patterns = [f"{number}.py" for number in range(MOST_PATTERNS + 1)]
    assert len(usable(patterns)) == MOST_PATTERNS
    assert str(MOST_PATTERNS) in next(iter(complaints(patterns, is_remote=False)))[1]


def test_a_remote_server_has_nothing_to_watch() -> None:
    assert "remote" in next(iter(complaints(["src"], is_remote=True)))[1]
