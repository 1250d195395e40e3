"""A server that works, and whose every start makes a file."""

import sys
from pathlib import Path

import well_behaved

Path(sys.argv[1]).touch()
well_behaved.serve()
