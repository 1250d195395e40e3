"""The man page and the completion scripts that the wheel installs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

SHARE = ROOT / "packaging" / "share"
MAN_PAGE = SHARE / "man" / "man1" / "search-mcp.1"


def texts(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()
    }


def needs(program: str) -> pytest.MarkDecorator:
    missing = sys.platform == "win32" or shutil.which(program) is None
    return pytest.mark.skipif(missing, reason=f"there is no {program}")


def run(*words: str, **variables: str) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, **variables}
    done = subprocess.run(words, capture_output=True, encoding="utf-8", timeout=60, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_they_are_those_of_the_code(tmp_path: Path) -> None:
    run(sys.executable, str(ROOT / "packaging" / "share.py"), str(tmp_path))
    assert texts(SHARE) == texts(tmp_path)


@needs("groff")
def test_groff_formats_the_man_page_without_a_warning() -> None:
    shown = run("groff", "-man", "-Tascii", "-ww", "-P-c", str(MAN_PAGE))
    assert "search-mcp check --client cursor" in shown


@needs("zsh")
def test_zsh_completes_with_the_first_tab() -> None:
    """`_arguments` of zsh would show the words that it gets."""
    folder = SHARE / "zsh" / "site-functions"
    found = f"fpath=('{folder}' $fpath); autoload -U compinit; compinit -u -D; print $_comps[search-mcp]"
    shown = "_arguments() { print -r -- $@ }; words=(search-mcp de) CURRENT=2; $_comps[search-mcp]"
    registered, given = run("zsh", "-f", "-c", f"{found}; {shown}").split("\n", 1)
    assert registered == "_search-mcp"
    assert "describe" in given


@needs("fish")
def test_fish_completes(tmp_path: Path) -> None:
    shown = run("fish", "-c", "complete -C 'search-mcp de'", XDG_DATA_DIRS=str(SHARE), HOME=str(tmp_path))
    assert [line.partition("\t")[0] for line in shown.splitlines()] == ["demo", "describe"]
