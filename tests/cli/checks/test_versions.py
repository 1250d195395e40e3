"""Entries that run a package without an exact version, and the example with one."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.cli.checks.versions import unpinned
from search_mcp.config.schema import ServerConfig


def of(line: str, secrets: frozenset[str] = frozenset()) -> str | None:
    command, *args = shlex.split(line)
    return unpinned(ServerConfig(name="s", command=command, args=tuple(args), secrets=secrets))


@pytest.mark.parametrize(
    ("line", "pinned"),
    [
        # npm
        ("npx -y pkg", "npx -y pkg@VERSION"),
        ("npx --yes --quiet @scope/pkg /folder", "npx -y @scope/pkg@VERSION"),
        ("npx pkg@latest", "npx -y pkg@VERSION"),
        ("npx pkg@^1.2.3", "npx -y pkg@VERSION"),
        ("npx -y -p pkg cmd@1.0.0", "npx -y -p pkg@VERSION"),
        ("npx -y --package pkg@1.0.0 -p other cmd", "npx -y -p other@VERSION"),
        ("npx --registry https://r.example -y pkg", "npx -y pkg@VERSION"),
        ("npx --registry=https://r.example -y pkg", "npx -y pkg@VERSION"),
        ("npx -y -- pkg", "npx -y pkg@VERSION"),
        ("npx github:ann/pkg", "npx -y github:ann/pkg#COMMIT"),
        ("npx ann/pkg", "npx -y ann/pkg#COMMIT"),
        ("npx git+https://me:pw@example.com/x.git", "npx -y git+https://example.com/x.git#COMMIT"),
        ("/usr/local/bin/npx -y pkg", "npx -y pkg@VERSION"),
        (r"'C:\Program Files\nodejs\npx.cmd' -y pkg", "npx -y pkg@VERSION"),
        ("cmd /c npx -y pkg", "npx -y pkg@VERSION"),
        ("npm exec -y pkg", "npm exec -y -- pkg@VERSION"),
        ("pnpm --silent dlx pkg", "pnpm dlx pkg@VERSION"),
        ("yarn dlx -q pkg", "yarn dlx pkg@VERSION"),
        ("bunx --bun pkg", "bunx pkg@VERSION"),
        ("bun x pkg", "bunx pkg@VERSION"),
        # PyPI
        ("uvx pkg", "uvx pkg@VERSION"),
        ("uvx --from 'pkg>=1' cmd", "uvx --from pkg==VERSION"),
        ("uvx --from 'pkg[a,b]==1.*' cmd", "uvx --from pkg[a,b]==VERSION"),
        ("uvx --python 3.12 --with other==1 pkg", "uvx pkg@VERSION"),
        ("uvx --from git+https://github.com/ann/x cmd", "uvx --from git+https://github.com/ann/x@COMMIT"),
        ("uvx --from git+ssh://git@github.com/ann/x cmd", "uvx --from git+ssh://github.com/ann/x@COMMIT"),
        ("uv tool run pkg", "uv tool run pkg@VERSION"),
        ("uv --quiet tool run --from=pkg cmd", "uv tool run --from pkg==VERSION"),
        ("pipx run pkg", "pipx run pkg==VERSION"),
        ("pipx run --spec pkg cmd", "pipx run --spec pkg==VERSION"),
        # images
        ("docker run -i --rm -e TOKEN ghcr.io/a/b:latest stdio", "docker run ... ghcr.io/a/b:VERSION"),
        ("docker run -it --env TOKEN=x --mount type=bind,src=/a,dst=/b image", "docker run ... image:VERSION"),
        ("docker run -eTOKEN=x -v/a:/b image", "docker run ... image:VERSION"),
        ("docker run --rm localhost:5000/image", "docker run ... localhost:5000/image:VERSION"),
        ("docker run -itv /a:/b image", "docker run ... image:VERSION"),
        ("docker container run --pull always image", "docker run ... image:VERSION"),
        ("podman run -i image:latest", "podman run ... image:VERSION"),
    ],
)
def test_packages_without_an_exact_version(line: str, pinned: str) -> None:
    assert of(line) == pinned


@pytest.mark.parametrize(
    "line",
    [
        "npx -y pkg@1.2.3 --flag value",
        "npx -y -p pkg@1.2.3 cmd",
        "npx ./server",
        "npx file:server.tgz",
        "npx github:ann/pkg#0a1b2c3",
        "npx -y https://example.com/pkg-1.2.3.tgz",
        "npx",
        "uvx pkg@1.2.3",
        "uvx ruff@0.6",
        "uvx --from 'pkg[cli]==2026.8' cmd",
        "uvx --from git+https://github.com/ann/x@v1.0 cmd",
        "uvx --from git+ssh://git@github.com/ann/x@0a1b2c3 cmd",
        "uvx --from ./server cmd",
        "uvx --from https://example.com/pkg-1.0-py3-none-any.whl cmd",
        "uvx --exclude-newer 2026-01-01 pkg",
        "uv run server.py",
        "uv",
        "pipx run pkg==1.2.3",
        "docker run -i mcp/github:1.2.3",
        "docker run -i mcp/github@sha256:0123456789abcdef",
        "docker run --pull=never local",
        "docker run --pull never local",
        "docker run -i",
        "docker exec -i container server",
        "python -m server",
        "/opt/server npx -y pkg",
        "cmd /c",
    ],
)
def test_packages_with_an_exact_version_and_other_commands(line: str) -> None:
    assert of(line) is None


def test_a_secret_in_a_url_is_not_shown() -> None:
    assert "hunter2" not in str(of("npx -y git+https://example.com/hunter2/x", frozenset({"hunter2"})))


_WORDS = st.sampled_from(
    ["npx", "uvx", "docker", "run", "cmd", "/c", "--", "-", "-p", "--package=", "-e", "@", "@/", "git+", "#", "==", ":"]
)


@given(st.lists(_WORDS | st.text(max_size=8), min_size=1, max_size=6))
def test_any_command_line_can_be_judged(words: list[str]) -> None:
    command, *args = words
    unpinned(ServerConfig(name="s", command=command, args=tuple(args)))
