"""server.json matches the official MCP registry's schema, and the package that the registry compares it with."""

import json
import re

import jsonschema_rs
import pytest
from checkout import ROOT
from real import packages

SERVER = json.loads((ROOT / "server.json").read_text("utf-8"))
RELEASE = re.search(r"/schemas/(.*)/server\.schema\.json", SERVER["$schema"])


def test_it_follows_the_schema_it_names() -> None:
    assert RELEASE is not None
    schema = packages.schema("mcp_registry", RELEASE[1], "server")
    assert schema["$id"] == SERVER["$schema"]
    jsonschema_rs.validate(schema, SERVER)
    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.validate(schema, {**SERVER, "description": "x" * 101})


def test_the_readme_has_the_name_of_the_server() -> None:
    """ "The MCP Registry verifies ownership of PyPI packages by checking for [...] `mcp-name: $SERVER_NAME`"."""
    assert f"<!-- mcp-name: {SERVER['name']} -->" in (ROOT / "README.md").read_text("utf-8").splitlines()
