"""Create the environment `.venv` with search-mcp and what its tests and checks need: `python scripts/setup.py`."""

from environment import VENV, python

if __name__ == "__main__":
    if not VENV.exists():
        python("-m", "venv", ".venv")
    python("-m", "pip", "install", "--constraint", ".ci/constraints.txt", "--editable", ".[dev]")
