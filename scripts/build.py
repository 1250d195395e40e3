"""Build what a release consists of into dist/, the sdist, the wheel and the bundle: `python scripts/build.py`."""

from environment import python

if __name__ == "__main__":
    python("-m", "build", "--outdir", "dist")
    python("packaging/mcpb.py", "dist")
