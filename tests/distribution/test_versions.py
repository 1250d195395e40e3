"""The version is the same in every file that `scripts/version.py` writes it into."""

import json
import runpy

from checkout import ROOT

from search_mcp import __version__

SCRIPT = runpy.run_path(str(ROOT / "scripts" / "version.py"))


def test_every_file_has_the_version_of_the_package() -> None:
    texts = {name: (ROOT / name).read_text("utf-8") for name in SCRIPT["PLACES"]}
    assert {name: SCRIPT["written"](name, __version__) for name in texts} == texts


def test_a_release_changes_every_version() -> None:
    server = json.loads(SCRIPT["written"]("server.json", "9.9.9"))
    assert [server["version"], *(package["version"] for package in server["packages"])] == ["9.9.9"] * 2
    plugin = json.loads(SCRIPT["written"]("packaging/plugin/mcp.json", "9.9.9"))["mcpServers"]["search-mcp"]
    assert plugin["args"] == ["search-mcp@9.9.9"]
