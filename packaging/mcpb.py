"""Build the bundle that Claude Desktop and other hosts install by a click: `python packaging/mcpb.py WHEEL`.

A bundle of the type "uv" holds no dependencies: the host has uv install what its pyproject.toml names, which is
the wheel beside it. The manifest copies the metadata of the wheel. The bundle is written beside the wheel.
The same wheel gives the same bytes, so the digest of a bundle can be checked.
"""

import json
import sys
import zipfile
from importlib.metadata import PackageMetadata, PathDistribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = Path(__file__).parent / "bundle"

PYPROJECT = """\
[project]
name = "search-mcp-bundle"
version = "{version}"
requires-python = "{python}"
dependencies = ["search-mcp"]

[tool.uv]
package = false

[tool.uv.sources]
search-mcp = {{ path = "{wheel}" }}
"""


def pack(wheel: Path) -> Path:
    """Write the bundle beside its wheel; return its path."""
    about = _metadata(wheel)
    manifest = json.loads((PARTS / "manifest.json").read_text("utf-8"))
    manifest["version"] = about["Version"]
    manifest["description"] = about["Summary"]
    manifest["license"] = about["License-Expression"]
    manifest["keywords"] = about["Keywords"].split(",")
    manifest["compatibility"]["runtimes"] = {"python": about["Requires-Python"]}
    pyproject = PYPROJECT.format(version=about["Version"], python=about["Requires-Python"], wheel=wheel.name)
    files = {
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
        "manifest.json": json.dumps(manifest, indent=2).encode(),
        "pyproject.toml": pyproject.encode(),
        "server.py": (PARTS / "server.py").read_bytes(),
        wheel.name: wheel.read_bytes(),
    }
    bundle = wheel.parent / f"{manifest['name']}-{about['Version']}.mcpb"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            # With a date of its own, which is always the same.
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return bundle


def _metadata(wheel: Path) -> PackageMetadata:
    with zipfile.ZipFile(wheel) as archive:
        (folder,) = (path for path in zipfile.Path(archive).iterdir() if path.name.endswith(".dist-info"))
        return PathDistribution(folder).metadata


if __name__ == "__main__":
    print(pack(Path(sys.argv[1])))  # noqa: T201  # the answer
