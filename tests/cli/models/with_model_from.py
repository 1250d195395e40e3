"""The command with another default model: `python with_model_from.py FOLDER [WORD ...]`.

The model is the one in the folder, in place of the one in a package.
"""

import sys
from pathlib import Path

from search_mcp.cli import main
from search_mcp.semantic import known_models, models
from search_mcp.wire.structs import replace

FOLDER, *WORDS = sys.argv[1:]
known_models.DEFAULT = replace(models.read(Path(FOLDER)), licence="Apache-2.0", source="a package")
known_models.default_files = lambda: {name: Path(FOLDER) / name for name in known_models.DEFAULT.digests}
sys.exit(main(WORDS))
