"""The files that run the front over HTTP as a service: their commands are run, and their forms checked."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import kubernetes_validate
import pytest
from checkout import ROOT
from docs.pages import blocks
from fronts.http.serving import HttpServer, get
from processes.run import server
from real import packages
from ruamel.yaml import YAML

from distribution.conftest import Shell
from search_mcp.config.parsing import parse
from search_mcp.fronts.http import access
from search_mcp.fronts.http.front import ENDPOINT

FOLDER = ROOT / "packaging" / "service"
UNIT, DOCKERFILE = (FOLDER / name for name in ("search-mcp.service", "Dockerfile"))
COMPOSE: Any = YAML(typ="safe").load((FOLDER / "compose.yaml").read_text("utf-8"))
MANIFESTS: list[Any] = list(YAML(typ="safe").load_all((FOLDER / "kubernetes.yaml").read_text("utf-8")))


def manifest(kind: str) -> Any:
    (found,) = (each for each in MANIFESTS if each["kind"] == kind)
    return found


def of_unit() -> list[str]:
    (line,) = re.findall(r"^ExecStart=\S+ (.*)", UNIT.read_text("utf-8"), re.MULTILINE)
    return shlex.split(line)


def of_dockerfile() -> list[str]:
    (line,) = re.findall(r"^CMD (.*)", DOCKERFILE.read_text("utf-8"), re.MULTILINE)
    words: list[str] = json.loads(line)
    return words


def of_kubernetes() -> list[str]:
    (container,) = manifest("Deployment")["spec"]["template"]["spec"]["containers"]
    words: list[str] = container["args"]
    return words


def of_compose() -> list[str]:
    words: list[str] = COMPOSE["services"]["search-mcp"]["command"]
    return words


@pytest.mark.parametrize(
    "words",
    [of_unit(), of_dockerfile(), of_compose(), of_kubernetes()],
    ids=["systemd", "docker", "compose", "kubernetes"],
)
def test_its_command_starts_without_a_token_and_ends_by_a_signal(words: list[str], tmp_path: Path) -> None:
    options = dict(zip(words[1::2], words[2::2], strict=True))
    assert words[0] == "serve"
    assert options.pop("--config") == "/etc/search-mcp/mcp-servers.json"
    assert (options.pop("--http")[-5:], options.pop("--health")[-5:]) == (":8808", ":8809")
    rest = [word for pair in options.items() for word in pair]
    with HttpServer(tmp_path, {"one": server("well_behaved")}, "--health", "127.0.0.1:0", *rest) as running:
        assert get(running.health + "/readyz").status_code == 200
        assert "no client has a token yet" in "".join(running.stderr)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    unit.write_text(
        UNIT.read_text("utf-8")
        .replace("/opt/search-mcp/bin/search-mcp", "/bin/true")
        .replace("User=search-mcp", "User=root")
    )
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60)
    assert UNIT.name not in done.stderr
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="the registry has no hadolint for Windows")
def test_hadolint_takes_the_dockerfile(shell: Shell) -> None:
    newest = [f"--ignore={rule}" for rule in ("DL3008", "DL3013")]  # an image gets the packages of its day
    assert shell.run("uvx", "--quiet", "--from", packages.HADOLINT, "hadolint", *newest, DOCKERFILE) == ""


@pytest.mark.parametrize("each", MANIFESTS, ids=lambda each: each["kind"])
def test_kubernetes_takes_the_manifests(each: Any) -> None:
    kubernetes_validate.validate(each, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize(
    "text",
    [manifest("ConfigMap")["data"]["mcp-servers.json"], COMPOSE["configs"]["mcp-servers"]["content"]],
    ids=["kubernetes", "compose"],
)
def test_the_configuration_in_the_file_is_valid(text: str) -> None:
    config = parse(text, source="f", variables={}, home="/h", config_dir="/c", python="p")
    assert [(each.name, each.problem) for each in config.servers] == [("time", None)]


def test_the_time_to_end_is_longer_than_open_requests_have() -> None:
    pod = manifest("Deployment")["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] == 30
    assert "TimeoutStopSec=30" in UNIT.read_text("utf-8")
    assert COMPOSE["services"]["search-mcp"]["stop_grace_period"] == "30s"


def test_what_the_compose_file_names_is_there() -> None:
    """It was checked against the schema of Compose, which is not here."""
    service = COMPOSE["services"]["search-mcp"]
    folder = (FOLDER / service["build"]["context"]).resolve()
    assert (folder / service["build"]["dockerfile"]) == DOCKERFILE
    named = {volume.partition(":")[0] for each in COMPOSE["services"].values() for volume in each["volumes"]}
    assert named == {*COMPOSE["volumes"]}
    assert [each["source"] for each in service["configs"]] == [*COMPOSE["configs"]]
    assert service["configs"][0]["target"] in of_compose()


def test_librechat_calls_by_a_name_that_is_allowed() -> None:
    (block,) = blocks("http-clients.md", "yaml")
    written: Any = YAML(typ="safe").load(block)
    entry = written["mcpServers"]["search-mcp"]
    address = urlsplit(entry["url"])
    allowed = of_compose()[of_compose().index("--allow-host") + 1]
    assert (entry["type"], address.hostname, address.path) == ("streamable-http", allowed, ENDPOINT)
    assert written["mcpSettings"]["allowedAddresses"] == [address.netloc]
    (variable,) = entry["customUserVars"]
    assert access.bearer(entry["headers"]["Authorization"]) == f"{{{{{variable}}}}}"
