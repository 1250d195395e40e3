"""Serves well, and creates a file at every start."""

import sys
from pathlib import Path

import well_behaved

Path(sys.argv[1]).touch()
well_behaved.serve()
