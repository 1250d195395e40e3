"""Build what a release consists of into an empty dist/: sdist, wheel and bundle. `python scripts/build.py`."""

import shutil

from environment import ROOT, python

DIST = ROOT / "dist"

if __name__ == "__main__":
    shutil.rmtree(DIST, ignore_errors=True)
    python("-m", "build", "--outdir", str(DIST))
    (wheel,) = DIST.glob("*.whl")
    python("packaging/mcpb.py", str(wheel))
