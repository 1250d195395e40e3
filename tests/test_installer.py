"""Remedies for each kind of installation."""

import sys

import pytest

from search_mcp import installer

PACKAGES = ["mcp<3,>=2.3", "mcp-server-git"]
START = "start search-mcp like this, where PATH is the folder of its repository"
COMMANDS = [
    # sys.prefix, the command
    ("/home/ada/.local/share/pipx/venvs/search-mcp", 'pipx inject search-mcp "mcp<3,>=2.3" mcp-server-git'),
    ("/home/ada/.local/pipx/venvs/search-mcp-2/", 'pipx inject search-mcp-2 "mcp<3,>=2.3" mcp-server-git'),
    (r"C:\Users\ada\pipx\venvs\search-mcp", 'pipx inject search-mcp "mcp<3,>=2.3" mcp-server-git'),
    (
        "/home/ada/.local/share/uv/tools/search-mcp",
        'uv pip install --python /a/python "mcp<3,>=2.3" mcp-server-git',
    ),
    (
        r"C:\Users\ada\AppData\Roaming\uv\tools\search-mcp",
        'uv pip install --python /a/python "mcp<3,>=2.3" mcp-server-git',
    ),
    ("/home/ada/.cache/uv/archive-v0/x1Y2", 'uvx --from "PATH[demo]" search-mcp'),
    ("/home/ada/.local/share/pipx/0123456789abcde", 'pipx run --spec "PATH[demo]" search-mcp'),
    ("/opt/search-mcp/.venv", '/a/python -m pip install "mcp<3,>=2.3" mcp-server-git'),
    ("/usr", '/a/python -m pip install "mcp<3,>=2.3" mcp-server-git'),
]


@pytest.mark.parametrize(("prefix", "command"), COMMANDS)
def test_the_remedy_names_the_installer_in_use(prefix: str, command: str) -> None:
    found = installer.command("demo", PACKAGES, prefix, "/a/python")
    assert found.command == command
    assert found.remedy == (START if "PATH" in command else "this installs what is missing")


@pytest.mark.parametrize(
    ("interpreter", "word"),
    [
        (
            "/Users/ada/Library/Application Support/x/bin/python",
            '"/Users/ada/Library/Application Support/x/bin/python"',
        ),
        (r"C:\Users\ada\.venv\Scripts\python.exe", r"C:\Users\ada\.venv\Scripts\python.exe"),
    ],
)
def test_only_a_path_with_spaces_is_quoted(interpreter: str, word: str) -> None:
    found = installer.command("demo", PACKAGES, "/opt/x", interpreter)
    assert str(found) == f'this installs what is missing: {word} -m pip install "mcp<3,>=2.3" mcp-server-git'


def test_an_environment_without_pip_was_made_by_uv() -> None:
    found = installer.command("demo", ["x"], "/opt/x/.venv", "/a/python", has_pip=False)
    assert found.command == "uv pip install --python /a/python x"


def test_the_packages_are_those_of_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/home/ada/.local/share/pipx/venvs/search-mcp")
    words = installer.add("onnx").command.split()
    assert words[:3] == ["pipx", "inject", "search-mcp"]
    assert [word.strip('"').partition(">=")[0] for word in words[3:]] == ["numpy", "onnxruntime", "tokenizers"]
    (word,) = installer.add("onnx", ["tokenizers", "unknown"]).command.split()[3:]
    assert word.startswith('"tokenizers>=')


@pytest.mark.parametrize(
    ("prefix", "is_from_index", "update", "removal"),
    [
        ("/home/ada/.local/share/pipx/venvs/search-mcp", True, "pipx upgrade search-mcp", "pipx uninstall search-mcp"),
        (
            "/home/ada/.local/share/uv/tools/search-mcp",
            True,
            "uv tool upgrade search-mcp",
            "uv tool uninstall search-mcp",
        ),
        ("/opt/x", True, "/a/python -m pip install --upgrade search-mcp", "/a/python -m pip uninstall search-mcp"),
        ("/opt/x", False, "/a/python -m pip install .", "/a/python -m pip uninstall search-mcp"),
        ("/home/ada/.cache/uv/archive-v0/x1Y2", True, "", "/a/python -m pip uninstall search-mcp"),
    ],
)
def test_an_update_and_a_removal_use_the_installer_in_use(
    prefix: str, is_from_index: bool, update: str, removal: str
) -> None:
    assert installer.update_of(prefix, "/a/python", is_from_index=is_from_index).command == update
    assert installer.removal(prefix, "/a/python") == removal
