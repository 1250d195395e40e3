"""Renew the exact versions that development and CI use: `python scripts/lock.py`.

They hold for every system and supported Python. Users get whatever fits the ranges in pyproject.toml.
"""

from environment import ROOT, python

if __name__ == "__main__":
    python("-m", "pip", "install", "--quiet", "uv")
    ranges = ("pyproject.toml", "--extra", "dev", "--universal", "--python-version", "3.11")
    form = ("--no-emit-package", "search-mcp", "--no-annotate", "--no-header", "--no-emit-index-url", "--upgrade")
    python("-m", "uv", "pip", "compile", *ranges, *form, "--quiet", output=ROOT / ".ci" / "constraints.txt")
