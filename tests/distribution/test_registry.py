"""server.json matches the official MCP registry's schema, and the package that the registry compares it with."""

import json
import re

import jsonschema_rs
import pytest
from checkout import ROOT
from real import packages

from search_mcp import __version__

SERVER = json.loads((ROOT / "server.json").read_text("utf-8"))
RELEASE = re.search(r"/schemas/(.*)/server\.schema\.json", SERVER["$schema"])


def test_it_follows_the_schema_it_names() -> None:
    assert RELEASE is not None
    schema = json.loads(packages.registry_schema(RELEASE[1]).read_text("utf-8"))
    assert schema["$id"] == SERVER["$schema"]
    jsonschema_rs.validate(schema, SERVER)
    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.validate(schema, {**SERVER, "description": "x" * 101})


def test_its_versions_are_ours() -> None:
    assert [SERVER["version"], *(package["version"] for package in SERVER["packages"])] == [__version__] * 2


def test_the_readme_has_the_name_of_the_server() -> None:
    """ "The MCP Registry verifies ownership of PyPI packages by checking for [...] `mcp-name: $SERVER_NAME`"."""
    assert f"<!-- mcp-name: {SERVER['name']} -->" in (ROOT / "README.md").read_text("utf-8").splitlines()
