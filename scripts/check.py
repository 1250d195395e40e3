"""Check format, lint rules and types, and change nothing: `python scripts/check.py`."""

from environment import python

if __name__ == "__main__":
    python("-m", "ruff", "format", "--check", ".")
    python("-m", "ruff", "check", ".")
    python("-m", "mypy")
