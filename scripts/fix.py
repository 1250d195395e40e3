"""Mend what the lint rules can mend, format the code, and show what is left: `python scripts/fix.py`."""

from environment import python

if __name__ == "__main__":
    python("-m", "ruff", "check", "--fix", "--exit-zero", "--quiet", ".")
    python("-m", "ruff", "format", ".")
    python("-m", "ruff", "check", ".")
